//! Statements that are not remembered.

use super::lexer::{Kind, tokens};

/// Whether a statement hands over a password, or another secret, by the words that introduce one. What only asks for one with
/// the same words is not remembered either.
pub(super) fn holds_secret(text: &str) -> bool {
    let words: Vec<String> = tokens(text)
        .filter(|token| token.is_meant())
        .map(|token| token.text.to_ascii_uppercase())
        .collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    let has_text = || tokens(text).any(|token| token.kind == Kind::Text);
    let names_password = || {
        words
            .iter()
            .any(|word| word.contains("PASSWORD") || word.contains("SECRET"))
    };
    has("IDENTIFIED")
        || has_text() && names_password()
        // DES_ENCRYPT(x, 'key') and their like.
        || has_text() && words.iter().any(|word| word.ends_with("ENCRYPT") || word.ends_with("DECRYPT"))
        || text.contains("://") && has_credentials(text)
}

/// `scheme://user:password@`
fn has_credentials(text: &str) -> bool {
    let mut behind = text.split("://").skip(1);
    behind.any(|rest| {
        let authority = rest.split(['/', ' ', '\'', '"']).next().unwrap_or_default();
        authority
            .split_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_a_password_are_known() {
        for text in [
            "CREATE USER app IDENTIFIED BY 'secret'",
            "create user app identified with mysql_native_password by 'secret'",
            "ALTER USER CURRENT_USER() IDENTIFIED BY 'secret'",
            "GRANT ALL ON *.* TO app IDENTIFIED BY 'secret'",
            "SET PASSWORD = 'secret'",
            "SET PASSWORD FOR app = PASSWORD('secret')",
            "set password for app = 'sec",
            "CHANGE MASTER TO MASTER_PASSWORD='secret'",
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='secret'",
            "START SLAVE PASSWORD = 'secret'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'secret')",
            "UPDATE customer SET password = 'secret'",
            "SELECT AES_ENCRYPT('text', 'key')",
            "\\! onecopy sql mysql://user:secret@host/db",
            "SELECT 1; SET PASSWORD = 'x'",
        ] {
            assert!(holds_secret(text), "{text}");
        }
        for text in [
            "SELECT * FROM customer",
            "SELECT password FROM customer",
            "SELECT 'IDENTIFIED'",
            "CREATE USER app",
            "SELECT 'https://example.com/a@b'",
            "",
        ] {
            assert!(!holds_secret(text), "{text}");
        }
    }
}
