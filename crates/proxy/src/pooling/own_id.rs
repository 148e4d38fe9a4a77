//! The question for a client's own id, which is the proxy's and not its server connection's.
//!
//! ```text
//!   [comments] SELECT CONNECTION_ID() [[AS] name] [;]
//! ```

/// The same question with the client's id in place of the function, if a text is that and nothing else. `CAST` gives the type, the length and
/// the flags of the column that the function has, on each server.
pub(crate) fn with_own_id(sql: &[u8], id: u32) -> Option<Vec<u8>> {
    let (select, rest) = word(behind_comments(sql)?)?;
    if !select.eq_ignore_ascii_case(b"SELECT") {
        return None;
    }
    let asked = rest.trim_ascii_start();
    let (function, rest) = word(asked)?;
    if !function.eq_ignore_ascii_case(b"CONNECTION_ID") {
        return None;
    }
    let rest = rest.strip_prefix(b"(")?.trim_ascii_start();
    let rest = rest.strip_prefix(b")")?;
    let text = asked.get(..asked.len() - rest.len())?;
    let rest = rest.trim_ascii();
    let rest = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii_end();
    let mut own = format!("SELECT CAST({id} AS UNSIGNED) ").into_bytes();
    if rest.is_empty() {
        // The column is called as the question is written.
        own.extend_from_slice(b"AS `");
        own.extend_from_slice(text);
        own.push(b'`');
    } else if is_name(rest) {
        own.extend_from_slice(rest);
    } else {
        return None;
    }
    Some(own)
}

/// Whether this is `name` or `AS name`. Whether it may be one, the server says.
fn is_name(rest: &[u8]) -> bool {
    let Some((first, behind)) = word(rest) else {
        return false;
    };
    let behind = behind.trim_ascii_start();
    let is_as = first.eq_ignore_ascii_case(b"AS");
    behind.is_empty() || is_as && word(behind).is_some_and(|(_, behind)| behind.is_empty())
}

/// What stands behind comments that servers skip.
fn behind_comments(mut sql: &[u8]) -> Option<&[u8]> {
    loop {
        sql = sql.trim_ascii_start();
        match sql {
            // These are looked into, or are hints.
            [b'/', b'*', b'!' | b'+', ..] | [b'/', b'*', b'M', b'!', ..] => return None,
            [b'/', b'*', rest @ ..] => {
                let end = rest.windows(2).position(|two| two == b"*/")?;
                sql = rest.get(end + 2..)?;
            }
            _ => return Some(sql),
        }
    }
}

/// Takes a word of letters, digits and underscores that begins with a letter or an underscore.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
    let end = text.iter().position(is_end).unwrap_or(text.len());
    let is_word = text.first().is_some_and(|byte| !byte.is_ascii_digit()) && end > 0;
    is_word.then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(sql: &str) -> Option<String> {
        with_own_id(sql.as_bytes(), 7).map(|sql| String::from_utf8(sql).unwrap())
    }

    #[test]
    fn the_question_alone_is_answered_with_the_id() {
        for (sql, name) in [
            ("SELECT CONNECTION_ID()", "AS `CONNECTION_ID()`"),
            (" select  connection_id( ) ; ", "AS `connection_id( )`"),
            ("SELECT CONNECTION_ID() AS id", "AS id"),
            ("SELECT CONNECTION_ID() my_id;", "my_id"),
            ("SELECT\nCONNECTION_ID()\nas\tx\n;\n", "as\tx"),
            (
                "/* app */ /**/SELECT CONNECTION_ID()",
                "AS `CONNECTION_ID()`",
            ),
            // The server has an error for these.
            ("SELECT CONNECTION_ID() AS select", "AS select"),
            ("SELECT CONNECTION_ID() LIMIT", "LIMIT"),
        ] {
            let expected = format!("SELECT CAST(7 AS UNSIGNED) {name}");
            assert_eq!(own(sql).unwrap(), expected, "{sql}");
        }
    }

    #[test]
    fn anything_more_is_the_servers() {
        for sql in [
            "",
            "SELECT",
            "SELECT CONNECTION_ID",
            "SELECT CONNECTION_ID(",
            "SELECT CONNECTION_ID(1)",
            "SELECT CONNECTION_ID () + 1",
            "SELECT CONNECTION_ID(), 1",
            "SELECT CONNECTION_ID() + 0",
            "SELECT CONNECTION_ID() OR 1",
            "SELECT CONNECTION_ID() FROM t",
            "SELECT CONNECTION_ID() LIMIT 0",
            "SELECT CONNECTION_ID() a b",
            "SELECT CONNECTION_ID() AS 'x'",
            "SELECT CONNECTION_ID() AS `a``b`",
            "SELECT CONNECTION_ID(); SELECT 2",
            "SELECT DISTINCT CONNECTION_ID()",
            "SELECTCONNECTION_ID()",
            "SELECT x.CONNECTION_ID()",
            "DO CONNECTION_ID()",
            "/*! SELECT CONNECTION_ID() */",
            "/*!50000 */ SELECT CONNECTION_ID()",
            "/*M! */ SELECT CONNECTION_ID()",
            "/* SELECT CONNECTION_ID()",
        ] {
            assert_eq!(own(sql), None, "{sql}");
        }
    }
}
