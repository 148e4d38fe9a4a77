//! The lines that are not remembered, and what of them is not shown.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use crate::valkey::words::Words;

/// The line with a star for each column of its password.
pub(super) fn masked(line: &str) -> Cow<'_, str> {
    let Some(at) = begins(line) else {
        return Cow::Borrowed(line);
    };
    let mut masked = line[..at].to_owned();
    for character in line[at..].chars() {
        match character {
            ' ' => masked.push(' '),
            _ => masked.extend((0..character.width().unwrap_or(0)).map(|_| '*')),
        }
    }
    Cow::Owned(masked)
}

/// Where a password may begin in a line that is being typed: behind the word that announces it.
pub(super) fn begins(line: &str) -> Option<usize> {
    let mut command = String::new();
    let mut start = 0;
    for word in line.split_inclusive(' ') {
        let end = start + word.len();
        let upper = word.trim_end_matches(' ').to_ascii_uppercase();
        let announces = match command.as_str() {
            "" => upper == "AUTH",
            "HELLO" | "MIGRATE" => matches!(upper.as_str(), "AUTH" | "AUTH2"),
            "CONFIG" | "SENTINEL" => upper.contains("PASS") || upper.contains("AUTH"),
            // Rules with a password begin with these.
            "ACL" if upper.starts_with(['>', '<']) => return Some(start),
            _ => false,
        };
        if announces && end > start + upper.len() {
            return Some(end);
        }
        if command.is_empty() {
            command = upper;
        }
        start = end;
    }
    None
}

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
    fn a_password_is_covered_while_it_is_typed() {
        for (line, shown) in [
            ("auth", "auth"),
            ("auth ", "auth "),
            ("AUTH s", "AUTH *"),
            ("  auth ada s\u{e9}\u{5bc6}", "  auth *** ****"),
            (
                "HELLO 3 AUTH ada secret SETNAME x",
                "HELLO 3 AUTH *** ****** ******* *",
            ),
            (
                "ACL SETUSER app on >secret ~*",
                "ACL SETUSER app on ******* **",
            ),
            ("config set requirepass se", "config set requirepass **"),
            ("CONFIG GET maxmemory", "CONFIG GET maxmemory"),
            ("SET auth x", "SET auth x"),
            ("GET authentication", "GET authentication"),
        ] {
            assert_eq!(masked(line), shown);
        }
    }

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
