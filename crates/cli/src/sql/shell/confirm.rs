//! A question before a statement that loses more than one may think.

use std::io::{self, Write};

use super::lexer::{Kind, Token, tokens};

/// What the statement does to whole tables or databases; `None` where it does not.
pub(super) fn danger(sql: &str) -> Option<&'static str> {
    let words: Vec<Token<'_>> = tokens(sql)
        .filter(|token| token.kind == Kind::Word)
        .collect();
    let (first, second) = (words.first()?, words.get(1));
    let is_second = |word: &str| second.is_some_and(|second| second.is_word(word));
    let is_limited = || {
        words
            .iter()
            .any(|word| word.is_word("WHERE") || word.is_word("LIMIT"))
    };
    let is_temporary = || is_second("TEMPORARY");
    if first.is_word("DROP") && (is_second("DATABASE") || is_second("SCHEMA")) {
        Some("this drops a database with all its tables")
    } else if first.is_word("DROP") && !is_temporary() && is_second("TABLE") {
        Some("this drops a table with all its rows")
    } else if first.is_word("TRUNCATE") {
        Some("this deletes all rows, and can't be rolled back")
    } else if first.is_word("DELETE") && !is_limited() {
        Some("this deletes all rows of the table: it has no WHERE")
    } else if first.is_word("UPDATE") && !is_limited() {
        Some("this changes all rows of the table: it has no WHERE")
    } else {
        None
    }
}

/// Whether somebody says yes.
pub(super) fn is_confirmed(danger: &str) -> bool {
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{danger}. Run it? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    let answer = answer.trim().to_ascii_lowercase();
    read.is_ok() && (answer == "y" || answer == "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_lose_whole_tables_are_dangerous() {
        for sql in [
            "DROP DATABASE shop",
            "drop schema if exists shop",
            "DROP TABLE IF EXISTS a, b",
            "TRUNCATE a",
            "/* now */ DELETE FROM a",
            "DELETE a FROM a JOIN b USING (id)",
            "UPDATE a SET b = 'WHERE'",
        ] {
            assert!(danger(sql).is_some(), "{sql}");
        }
        for sql in [
            "DELETE FROM a WHERE id = 1",
            "DELETE FROM a LIMIT 1",
            "UPDATE a SET b = 1 WHERE id = 1",
            "DROP TEMPORARY TABLE a",
            "DROP INDEX a ON b",
            "DROP VIEW a",
            "SELECT 'DROP DATABASE shop'",
            "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1",
            "",
        ] {
            assert_eq!(danger(sql), None, "{sql}");
        }
    }
}
