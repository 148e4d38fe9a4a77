use onecopy_mysql_proto::value::{Date, DateTime, OwnedDecimal, Time};

use super::*;
use crate::{list, params};

const PLAIN: Dialect = Dialect {
    mode: SqlMode {
        no_backslash_escapes: true,
        ansi_quotes: false,
    },
    character_set: "utf8mb4",
};

fn in_set(character_set: &'static str) -> Dialect {
    Dialect {
        character_set,
        ..Dialect::default()
    }
}

#[test]
fn each_kind_has_its_literal() {
    let decimal: OwnedDecimal = "-1.50".parse().unwrap();
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let moment = DateTime {
        hour: 1,
        microsecond: 5,
        ..date.into()
    };
    let time = Time {
        negative: true,
        hours: 838,
        ..Time::ZERO
    };
    for (param, expected) in [
        (Param::Null, "NULL"),
        (i64::MIN.into(), "-9223372036854775808"),
        (u64::MAX.into(), "18446744073709551615"),
        (true.into(), "1"),
        (0.1f64.into(), "1e-1"),
        (0.1f32.into(), "1.0000000149011612e-1"),
        (f64::MAX.into(), "1.7976931348623157e308"),
        ((&decimal).into(), "-1.50"),
        (Param::Bytes(b"\x00\xFFa'"), "_binary X'00FF6127'"),
        (Param::Bytes(b""), "_binary X''"),
        (
            Param::Str("it's \"a\" \\ \0\n\r\x1A é"),
            r#"'it''s "a" \\ \0\n\r\Z é'"#,
        ),
        (Param::Text("é".as_bytes()), "'é'"),
        (date.into(), "DATE'2024-02-29'"),
        (Date { year: 2023, ..date }.into(), "'2023-02-29'"),
        (Date::ZERO.into(), "'0000-00-00'"),
        (moment.into(), "TIMESTAMP'2024-02-29 01:00:00.000005'"),
        (DateTime::ZERO.into(), "'0000-00-00 00:00:00'"),
        (time.into(), "TIME'-838:00:00'"),
    ] {
        assert_eq!(
            literal(&param, Dialect::default()).unwrap(),
            expected,
            "{param:?}"
        );
    }
    assert_eq!(literal(&"\\it's\n".into(), PLAIN).unwrap(), "'\\it''s\n'");
}

#[test]
fn what_has_no_literal_is_an_error_that_says_which_parameter() {
    for (param, problem) in [
        (f64::NAN.into(), "no NaN"),
        (f32::INFINITY.into(), "no infinity"),
        (Param::LongData, "long data"),
        (Param::Text(b"\xFF"), "not utf-8"),
    ] {
        let error = sql("?, ?", &[Param::Null, param], Dialect::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("parameter 1 has no literal"), "{text}");
        assert!(text.contains(problem), "{text}");
    }
}

#[test]
fn text_is_refused_in_character_sets_that_do_not_have_it_or_hide_quotes() {
    for (set, text, fits) in [
        ("utf8mb3", "é", true),
        ("utf8mb3", "\u{1F600}", false),
        ("latin1", "a'b", true),
        ("latin1", "é", false),
        ("binary", "é", true),
        ("gbk", "a", false),
        ("big5", "a", false),
        ("sjis", "a", false),
        ("cp932", "a", false),
        ("gb18030", "a", false),
        ("swe7", "a", false),
        ("utf16", "a", false),
        ("", "a", false),
    ] {
        assert_eq!(
            literal(&text.into(), in_set(set)).is_ok(),
            fits,
            "{set} {text}"
        );
        // What is not text is the same in all of them.
        assert!(literal(&7.into(), in_set(set)).is_ok());
    }
}

#[test]
fn places_in_strings_and_comments_stay_and_words_are_kept_apart() {
    let formatted = |text: &str| sql(text, &params![1, "b"], Dialect::default()).unwrap();
    assert_eq!(
        formatted("SELECT '?', `?` /* ? */ -- ?\n, ?, :a, ?"),
        "SELECT '?', `?` /* ? */ -- ?\n, 1, :a, 'b'"
    );
    assert_eq!(formatted("LIMIT?OR?AND"), "LIMIT 1 OR 'b' AND");
    assert_eq!(formatted("(?)=?"), "(1)='b'");
    assert_eq!(formatted("??"), "1 'b'");
    for wrong in ["?", "? ? ?", ""] {
        let error = sql(wrong, &params![1, "b"], Dialect::default()).unwrap_err();
        assert!(
            error.to_string().contains("2 parameters were given"),
            "{error}"
        );
    }
}

#[test]
fn names_are_replaced_and_lists_are_not_filled() {
    let ids = [1, 2, 3];
    let none: [u8; 0] = [];
    let text = "SELECT :a, ':a' WHERE x IN (:ids) AND y NOT IN (:none) OR:a";
    let formatted = named(
        text,
        &params! { a: "it's", ids: list(&ids), none: list(&none) },
        Dialect::default(),
    );
    assert_eq!(
        formatted.unwrap(),
        r"SELECT 'it''s', ':a' WHERE x IN (1, 2, 3) AND y NOT IN (SELECT NULL FROM DUAL WHERE 1 = 0) OR:a"
    );
    let error = named(text, &params! { a: 1 }, Dialect::default()).unwrap_err();
    assert!(error.to_string().contains(":ids :none"), "{error}");
}

#[test]
fn a_name_is_quoted_or_refused() {
    assert_eq!(ident("a`b``").unwrap(), "`a``b`````");
    assert_eq!(ident("a\\'\"é b").unwrap(), "`a\\'\"é b`");
    for wrong in ["", "a\0b", "a ", "\u{1F600}"] {
        assert!(ident(wrong).is_err(), "{wrong:?}");
    }
}
