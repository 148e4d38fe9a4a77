//! Counts the parameters of a text without the server, where the count is certain.

/// Returns the number of placeholders, or `None` if it is not certain: a backslash's meaning depends on `sql_mode`, so
/// does a colon's, a comment may be executed, and bytes beyond ASCII depend on the character set.
///
/// It must never be wrong: a server that expects other parameters would misread the values.
pub(crate) fn placeholders(sql: &[u8]) -> Option<usize> {
    let (mut count, mut quote) = (0, None);
    let mut before = 0;
    for &byte in sql {
        match (quote, byte) {
            (_, b'\\' | 0x80..) => return None,
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'?') => count += 1,
            (None, b'#' | b':') => return None,
            (None, b'-') if before == b'-' => return None,
            (None, b'*') if before == b'/' => return None,
            _ => {}
        }
        before = byte;
    }
    quote.is_none().then_some(count)
}

#[cfg(test)]
mod tests {
    use super::placeholders;

    #[test]
    fn placeholders_are_counted_outside_of_quotes() {
        for (sql, count) in [
            ("", 0),
            ("DO 1", 0),
            ("SELECT ?", 1),
            ("INSERT INTO t (a, b) VALUES (?, ?),(?,?)", 4),
            ("SELECT '?', \"?\", `?`, ?", 1),
            ("SELECT 'it''s ?', \"a'?\", ?", 1),
            ("SELECT a - ?, b / ? * ?", 3),
        ] {
            assert_eq!(placeholders(sql.as_bytes()), Some(count), "{sql}");
        }
    }

    #[test]
    fn what_depends_on_the_session_is_not_counted() {
        for sql in [
            r"SELECT '\'?'",
            "SELECT 1 -- ?",
            "SELECT 1 --?",
            "SELECT 1 # ?",
            "SELECT /* ? */ 1",
            "SELECT 1 /*!50000 , ? */",
            "SELECT :name",
            "SELECT @a := ?",
            "SELECT 'ä', ?",
            "SELECT '?",
        ] {
            assert_eq!(placeholders(sql.as_bytes()), None, "{sql}");
        }
    }
}
