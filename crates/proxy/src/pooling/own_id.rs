//! The question for a client's own id, which is the proxy's and not its server connection's.
//!
//! ```text
//!   SELECT CONNECTION_ID() [[AS] name] [;]
//! ```

/// The same question with the client's id in place of the function, if a query is that and nothing else. `CAST` gives the type, the length and
/// the flags of the column that the function has, on each server.
pub(crate) fn with_own_id(sql: &[u8], id: u32) -> Option<Vec<u8>> {
    let (select, rest) = word(sql)?;
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
    // The column is called as the question is written.
    let name = match named(rest)? {
        None => text,
        Some(name) => name,
    };
    let mut own = format!("SELECT CAST({id} AS UNSIGNED) AS `").into_bytes();
    own.extend_from_slice(name);
    own.push(b'`');
    Some(own)
}

/// What the column is called, of what stands behind the function; `None` if that is anything else.
fn named(rest: &[u8]) -> Option<Option<&[u8]>> {
    let rest = rest.trim_ascii();
    let rest = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii_end();
    if rest.is_empty() {
        return Some(None);
    }
    let (mut name, mut behind) = word(rest)?;
    if name.eq_ignore_ascii_case(b"AS") {
        (name, behind) = word(behind.trim_ascii_start())?;
    }
    let is_name = behind.is_empty() && !KEYWORDS.iter().any(|word| name.eq_ignore_ascii_case(word));
    is_name.then_some(Some(name))
}

/// Words that may stand behind an expression and are no name.
const KEYWORDS: [&[u8]; 14] = [
    b"AND", b"DIV", b"FOR", b"FROM", b"GROUP", b"HAVING", b"INTO", b"LIMIT", b"MOD", b"OR",
    b"ORDER", b"UNION", b"WHERE", b"XOR",
];

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
            ("SELECT CONNECTION_ID()", "CONNECTION_ID()"),
            (" select  connection_id( ) ; ", "connection_id( )"),
            ("SELECT CONNECTION_ID() AS id", "id"),
            ("SELECT CONNECTION_ID() my_id;", "my_id"),
            ("SELECT\nCONNECTION_ID()\nas\tx\n;\n", "x"),
        ] {
            let expected = format!("SELECT CAST(7 AS UNSIGNED) AS `{name}`");
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
        ] {
            assert_eq!(own(sql), None, "{sql}");
        }
    }
}
