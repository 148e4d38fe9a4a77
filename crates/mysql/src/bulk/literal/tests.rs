use onecopy_mysql_proto::client::{ClientCore, Limits, Session};
use onecopy_mysql_proto::{Capabilities, ServerVersion};

use super::*;
use crate::{Date, Decimal, Time};

fn core() -> ClientCore {
    let session = Session {
        capabilities: Capabilities::PROTOCOL_41,
        connection_id: 1,
        server_version: String::new(),
        version: ServerVersion::parse(b""),
    };
    ClientCore::new(session, Limits::default())
}

fn literal(param: Param<'_>, escapes: Escapes) -> Result<String, String> {
    let mut out = Vec::new();
    match put(&mut out, 3, &param, escapes, &core()) {
        Ok(()) => Ok(out.escape_ascii().to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn every_kind_of_value_has_its_literal() {
    for (param, expected) in [
        (Param::Null, "NULL"),
        (Param::Default, "DEFAULT"),
        (Param::Ignore, "DEFAULT"),
        (Param::Int(i64::MIN), "-9223372036854775808"),
        (Param::UInt(u64::MAX), "18446744073709551615"),
        (Param::Double(1e300), "1e300"),
        (Param::Double(-0.1), "-1e-1"),
        (Param::Double(0.0), "0e0"),
        (Param::Float(0.1), "1.0000000149011612e-1"),
        (
            Param::Decimal(Decimal::parse_text(b"-1.50").unwrap()),
            "-1.50",
        ),
        (
            Param::Date(Date::parse_text(b"2024-00-31").unwrap()),
            r"\'2024-00-31\'",
        ),
        (
            Param::Time(Time::parse_text(b"-838:59:59").unwrap()),
            r"\'-838:59:59\'",
        ),
        (Param::Str("a'b"), r"\'a\'\'b\'"),
        (Param::Text("ü".as_bytes()), r"\'\xc3\xbc\'"),
        (Param::Bytes(b"\0\xff'"), r"_binary\'\x00\xff\'\'\'"),
    ] {
        assert_eq!(
            literal(param, Escapes::Backslash).as_deref(),
            Ok(expected),
            "{param:?}"
        );
    }
}

#[test]
fn a_backslash_is_doubled_unless_it_is_a_character_as_any_other() {
    let text = Param::Str(r"'\");
    assert_eq!(literal(text, Escapes::Backslash).unwrap(), r"\'\'\'\\\\\'");
    assert_eq!(literal(text, Escapes::DoubledQuote).unwrap(), r"\'\'\'\\\'");
}

#[test]
fn a_literal_has_no_more_bytes_than_were_asked_for() {
    let hostile = "'".repeat(100);
    for param in [
        Param::Int(i64::MIN),
        Param::Double(-f64::MIN_POSITIVE),
        Param::Double(-f64::MAX),
        Param::Str(&hostile),
        Param::Bytes(hostile.as_bytes()),
        Param::Default,
    ] {
        let mut out = Vec::new();
        put(&mut out, 0, &param, Escapes::Backslash, &core()).unwrap();
        assert!(out.len() <= max_bytes(&param), "{param:?}: {}", out.len());
    }
}

#[test]
fn what_has_no_literal_is_refused() {
    for (param, problem) in [
        (Param::Double(f64::NAN), "NaN"),
        (Param::Float(f32::INFINITY), "inf"),
        (Param::LongData, "long data"),
        (Param::Text(b"\xff"), "parameter 3 is text"),
    ] {
        let error = literal(param, Escapes::Backslash).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}
