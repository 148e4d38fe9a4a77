use onecopy_mysql_proto::value::{DateTime, OwnedDecimal, Time};

use super::*;
use crate::SqlMode;

fn dialect(no_backslash_escapes: bool) -> Dialect {
    let mode = SqlMode {
        no_backslash_escapes,
        ..SqlMode::default()
    };
    Dialect {
        mode,
        ..Dialect::default()
    }
}

/// The literal, with its bytes escaped as Rust does except for quotes.
fn literal(param: Param<'_>, dialect: Dialect, bytes_as: Bytes) -> Result<String, Problem> {
    let mut out = Vec::new();
    put(&mut out, &param, dialect, bytes_as)?;
    let most = max_bytes(&param);
    assert!(bytes_as == Bytes::Hex || out.len() <= most, "{param:?}");
    let escaped = out.escape_ascii().to_string();
    Ok(escaped.replace(r"\'", "'").replace(r#"\""#, "\""))
}

#[test]
fn bytes_are_digits_or_quoted_and_are_no_number() {
    let dialect = Dialect::default();
    let bytes = Param::Bytes(b"\0\xff'\\\n");
    assert_eq!(
        literal(bytes, dialect, Bytes::Hex).unwrap(),
        "_binary X'00FF275C0A'"
    );
    assert_eq!(
        literal(bytes, dialect, Bytes::Quoted).unwrap(),
        r"_binary'\\0\xff''\\\\\\n'"
    );
    let sixteen = Param::Bytes16(*b"0123456789abcde'");
    assert_eq!(
        literal(sixteen, dialect, Bytes::Quoted).unwrap(),
        "_binary'0123456789abcde'''"
    );
}

#[test]
fn a_quote_is_doubled_in_every_mode_and_a_backslash_where_it_escapes() {
    let text = Param::Str("'\\\0\n\r\x1a\"");
    for (no_backslash_escapes, expected) in [
        (false, r#"'''\\\\\\0\\n\\r\\Z"'"#),
        (true, r#"'''\\\x00\n\r\x1a"'"#),
    ] {
        let dialect = dialect(no_backslash_escapes);
        assert_eq!(literal(text, dialect, Bytes::Hex).unwrap(), expected);
    }
}

#[test]
fn a_special_byte_is_found_wherever_it_is() {
    for len in 1..70 {
        for at in 0..len {
            let mut text = "a".repeat(len);
            text.replace_range(at..=at, "'");
            text.replace_range(len - 1.., "'");
            let expected = format!("'{}'", text.replace('\'', "''"));
            let found = literal(Param::Str(&text), Dialect::default(), Bytes::Hex);
            assert_eq!(found.unwrap(), expected);
        }
    }
}

#[test]
fn text_of_a_row_is_taken_if_it_is_utf8_or_ascii() {
    let of = |bytes, id| Param::OtherText {
        bytes,
        collation: CollationId(id),
    };
    let dialect = Dialect::default();
    // latin1, utf8mb3, utf8mb4 and ucs2.
    for (param, expected) in [
        (of(b"a'b", 8), Some("'a''b'")),
        (of("é".as_bytes(), 33), Some(r"'\xc3\xa9'")),
        (of("é".as_bytes(), 45), Some(r"'\xc3\xa9'")),
        (of(b"\xe9", 8), None),
        (of(b"\xe9", 45), None),
        (of(b"\0a", 35), None),
    ] {
        let found = literal(param, dialect, Bytes::Hex);
        assert_eq!(found.ok().as_deref(), expected, "{param:?}");
    }
}

#[test]
fn a_literal_has_no_more_bytes_than_are_asked_for() {
    let hostile = "'".repeat(100);
    let decimal: OwnedDecimal = "-0.000000000000000000000000000001".parse().unwrap();
    let moment = DateTime {
        microsecond: 999_999,
        ..DateTime::ZERO
    };
    let latest = DateTime {
        year: 9999,
        month: 12,
        day: 31,
        ..moment
    };
    let time = Time {
        negative: true,
        hours: 838,
        microseconds: 999_999,
        ..Time::ZERO
    };
    for param in [
        Param::Int(i64::MIN),
        Param::UInt(u64::MAX),
        Param::Double(-f64::MIN_POSITIVE),
        Param::Double(-f64::MAX),
        Param::Float(f32::MIN_POSITIVE),
        Param::Str(&hostile),
        Param::Bytes(hostile.as_bytes()),
        Param::Bytes16([b'\''; 16]),
        Param::UuidText([0xff; 16]),
        Param::Default,
        (&decimal).into(),
        moment.into(),
        latest.into(),
        time.into(),
    ] {
        literal(param, Dialect::default(), Bytes::Quoted).unwrap();
    }
}
