//! The lines that are not remembered.

use crate::valkey::words::Words;

/// Whether a command hands over a password, by the commands that take one. A line that is no command is taken for one.
pub(super) fn holds_secret(line: &str) -> bool {
    let mut words = Words::default();
    if words.split(line.as_bytes()).is_err() {
        return true;
    }
    let words: Vec<String> = words
        .iter()
        .map(|word| String::from_utf8_lossy(word).to_ascii_uppercase())
        .collect();
    let has = |word: &str| words.iter().skip(1).any(|other| other.contains(word));
    match words.first().map(String::as_str) {
        Some("AUTH") => true,
        Some("HELLO" | "MIGRATE") => has("AUTH"),
        Some("ACL") => has("SETUSER"),
        Some("CONFIG" | "SENTINEL") => has("PASS") || has("AUTH"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_password_are_known() {
        for line in [
            "AUTH secret",
            " auth user \"my secret\"",
            "hello 3 auth user secret",
            "ACL SETUSER app on >secret",
            "config set requirepass secret",
            "CONFIG SET maxmemory 1gb masterauth secret",
            "config set tls-key-file-pass secret",
            "MIGRATE host 6379 key 0 1000 AUTH2 user secret",
            "sentinel set main auth-pass secret",
            // Typed again in a moment.
            "AUTH \"secret",
        ] {
            assert!(holds_secret(line), "{line}");
        }
        for line in [
            "GET auth",
            "SET password x",
            "HELLO 3",
            "CONFIG GET maxmemory",
            "ACL LIST",
            "",
        ] {
            assert!(!holds_secret(line), "{line}");
        }
    }
}
