//! The span of a statement's client, by W3C Trace Context: `00-<trace, 32 digits>-<span, 16 digits>-<flags, 2 digits>`.
//!
//! Clients send it as the query attribute `traceparent`, or in a comment at the end or the start of the statement, as sqlcommenter
//! writes it: `SELECT 1 /*application='shop',traceparent='00-...-01'*/`.

/// Its name, as an attribute and in a comment.
pub(crate) const NAME: &[u8] = b"traceparent";

/// A comment that begins farther from the end of a statement is not looked for.
const COMMENT_BYTES: usize = 1 << 10;

const SAMPLED: u8 = 1;

/// A client's span, of which a statement is a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) is_sampled: bool,
}

impl TraceContext {
    /// Of the value of a header, an attribute or a comment.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let (version, rest) = number::<1>(value)?;
        let (trace, rest) = number::<16>(rest.strip_prefix(b"-")?)?;
        let (span, rest) = number::<8>(rest.strip_prefix(b"-")?)?;
        let ([flags], rest) = number::<1>(rest.strip_prefix(b"-")?)?;
        // Of later versions it is known that they only add.
        let is_whole = match version {
            [0] => rest.is_empty(),
            [0xFF] => false,
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        (is_whole && trace != [0; 16] && span != [0; 8]).then_some(Self {
            trace,
            span,
            is_sampled: flags & SAMPLED != 0,
        })
    }

    /// Of the comment that a statement ends with, or begins with.
    pub(crate) fn of_comment(sql: &[u8]) -> Option<Self> {
        let is_outside = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace();
        let end = sql.iter().rposition(|byte| !is_outside(byte))? + 1;
        let sql = sql.get(..end)?;
        Self::of_last_comment(sql).or_else(|| {
            let start = sql.trim_ascii_start().strip_prefix(b"/*")?;
            let start = start.get(..COMMENT_BYTES).unwrap_or(start);
            let end = start.windows(2).position(|two| two == b"*/")?;
            Self::of_words(start.get(..end)?)
        })
    }

    fn of_last_comment(sql: &[u8]) -> Option<Self> {
        let sql = sql.strip_suffix(b"*/")?;
        let from = sql.len().saturating_sub(COMMENT_BYTES);
        let end = sql.get(from..)?;
        let start = end.windows(2).rposition(|two| two == b"/*")?;
        Self::of_words(end.get(start + 2..)?)
    }

    /// Of `name='value'` among others, with commas between them.
    fn of_words(comment: &[u8]) -> Option<Self> {
        comment.split(|byte| *byte == b',').find_map(|word| {
            let value = word.trim_ascii().strip_prefix(NAME)?.strip_prefix(b"=")?;
            let quoted = value.strip_prefix(b"'")?.strip_suffix(b"'")?;
            Self::parse(quoted)
        })
    }
}

/// Digits in lower case, and what is behind them.
fn number<const N: usize>(text: &[u8]) -> Option<([u8; N], &[u8])> {
    let (digits, rest) = text.split_at_checked(2 * N)?;
    let mut number = [0; N];
    for (byte, pair) in number.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some((number, rest))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn is_parent(context: Option<TraceContext>) -> bool {
        context.is_some_and(|context| {
            context.trace[..2] == [0x4b, 0xf9]
                && context.span == [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7]
                && context.is_sampled
        })
    }

    #[test]
    fn what_the_standard_allows_is_read() {
        assert!(is_parent(TraceContext::parse(PARENT.as_bytes())));
        let later = format!("cc{}-what-comes-later", &PARENT[2..]);
        assert!(is_parent(TraceContext::parse(later.as_bytes())));
        let not_sampled = PARENT.replace("-01", "-02");
        let context = TraceContext::parse(not_sampled.as_bytes()).unwrap();
        assert!(!context.is_sampled);
    }

    #[test]
    fn what_the_standard_does_not_allow_is_no_context() {
        let upper = PARENT.to_ascii_uppercase();
        let without_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let without_span = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
        let ff = format!("ff{}", &PARENT[2..]);
        let longer = format!("{PARENT}-more");
        let cc_longer = format!("cc{}more", &PARENT[2..]);
        for text in [
            &*upper,
            &without_trace,
            &without_span,
            &ff,
            &longer,
            &cc_longer,
            "",
            "00",
            "00-",
        ] {
            assert_eq!(TraceContext::parse(text.as_bytes()), None, "{text}");
        }
        for length in 0..PARENT.len() {
            assert_eq!(TraceContext::parse(&PARENT.as_bytes()[..length]), None);
        }
    }

    #[test]
    fn comments_at_both_ends_are_read() {
        for sql in [
            format!("SELECT 1 /*traceparent='{PARENT}'*/"),
            format!(
                "SELECT 1 /*application='shop', traceparent='{PARENT}',tracestate='a%3Db'*/ ;\n"
            ),
            format!("/* traceparent='{PARENT}' */ SELECT 1"),
            format!(" /*a='b',traceparent='{PARENT}'*/ SELECT 1 /* another one */"),
            format!("SELECT '{}' /*traceparent='{PARENT}'*/", "x".repeat(10_000)),
        ] {
            assert!(is_parent(TraceContext::of_comment(sql.as_bytes())), "{sql}");
        }
    }

    #[test]
    fn other_places_are_not() {
        for sql in [
            String::new(),
            ";".into(),
            "*/".into(),
            "/*".into(),
            "/*/".into(),
            "SELECT 1".into(),
            format!("SELECT 1 /*traceparent='{PARENT}'*/ + 1"),
            format!("SELECT '/*traceparent=\\'{PARENT}\\'*/'"),
            format!("SELECT 1 /*traceparent={PARENT}*/"),
            format!("SELECT 1 /*xtraceparent='{PARENT}'*/"),
            format!(
                "SELECT 1 /*traceparent='{PARENT}', {}*/",
                "x".repeat(COMMENT_BYTES)
            ),
            format!("SELECT 1 -- traceparent='{PARENT}'"),
        ] {
            assert_eq!(TraceContext::of_comment(sql.as_bytes()), None, "{sql}");
        }
    }
}
