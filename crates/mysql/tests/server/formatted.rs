//! A literal that is written here is the value that the bound parameter is.

use onecopy_mysql::format::{self, Dialect};
use onecopy_mysql::{Date, DateTime, OwnedDecimal, Param, Time, Value, list, params};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::Connection;
use crate::common::{count, urls};

/// A value that lives while its parameter does.
#[derive(Debug, Clone)]
enum Sample {
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
    Decimal(OwnedDecimal),
}

impl Sample {
    fn param(&self) -> Param<'_> {
        match self {
            Self::Int(number) => number.into(),
            Self::UInt(number) => number.into(),
            Self::Float(number) => number.into(),
            Self::Double(number) => number.into(),
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => bytes.into(),
            Self::Date(date) => date.into(),
            Self::DateTime(moment) => moment.into(),
            Self::Time(time) => time.into(),
            Self::Decimal(decimal) => decimal.into(),
        }
    }
}

fn samples() -> impl Strategy<Value = Sample> {
    let date =
        (1u16..=9999, 1u8..=12, 1u8..=28).prop_map(|(year, month, day)| Date { year, month, day });
    let clock = (
        0u8..24,
        0u8..60,
        0u8..60,
        prop_oneof![Just(0u32), 0u32..1_000_000],
    );
    let text = prop_oneof!["[a'\"\\\\%_\\x00\\n\\r\\x1A;?:-]{0,12}", any::<String>(),];
    prop_oneof![
        any::<i64>().prop_map(Sample::Int),
        any::<u64>().prop_map(Sample::UInt),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Sample::Float),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Sample::Double),
        text.prop_map(Sample::Text),
        any::<Vec<u8>>().prop_map(Sample::Bytes),
        date.clone().prop_map(Sample::Date),
        (date, clock.clone()).prop_map(|(date, (hour, minute, second, microsecond))| {
            Sample::DateTime(DateTime {
                hour,
                minute,
                second,
                microsecond,
                ..date.into()
            })
        }),
        (any::<bool>(), 0u16..838, clock).prop_map(
            |(negative, hours, (_, minutes, seconds, microseconds))| {
                Sample::Time(Time {
                    negative,
                    hours,
                    minutes,
                    seconds,
                    microseconds,
                })
            }
        ),
        "-?[1-9][0-9]{0,34}(\\.[0-9]{1,30})?"
            .prop_map(|text| Sample::Decimal(text.parse().unwrap())),
    ]
}

/// Numbers of different types are compared as numbers, as the server does. MySQL gives bytes back as a text of the same bytes.
fn same(literal: Value<'_>, bound: Value<'_>) -> bool {
    let whole = |value: Value<'_>| match value {
        Value::Int(number) => Some(i128::from(number)),
        Value::UInt(number) => Some(i128::from(number)),
        Value::Decimal(number) => number.to_i128(),
        _ => None,
    };
    match (literal, bound) {
        (Value::Double(literal), Value::Float(bound)) => literal == f64::from(bound),
        (Value::Bytes(literal), Value::Text(bound)) => literal == bound,
        _ => literal == bound || (whole(literal).is_some() && whole(literal) == whole(bound)),
    }
}

#[tokio::test]
async fn a_literal_is_the_value_that_the_bound_parameter_is_in_each_mode() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let mut runner = TestRunner::new(Config::default());
    for mode in [
        "",
        "ANSI_QUOTES",
        "NO_BACKSLASH_ESCAPES",
        "NO_BACKSLASH_ESCAPES,ANSI_QUOTES",
    ] {
        wait!(conn.run(format!("SET sql_mode = '{mode}'"))).unwrap();
        assert_eq!(
            conn.dialect().mode.no_backslash_escapes,
            mode.starts_with("NO_B")
        );
        assert_eq!(conn.dialect().character_set, "utf8mb4");
        for _ in 0..count(150, 20_000) {
            let sample = samples().new_tree(&mut runner).unwrap().current();
            let sql = conn.format("SELECT?", &[sample.param()]).unwrap();
            let mut rows = wait!(conn.query(&sql)).unwrap();
            let row = wait!(rows.next_owned()).unwrap().unwrap();
            wait!(rows.finish()).unwrap();
            // Each its own: MySQL keeps the type of the first parameter, and makes the others fit.
            let bound = wait!(conn.prepare("SELECT ?")).unwrap();
            let mut rows = wait!(conn.execute(&bound, &[sample.param()])).unwrap();
            let expected = wait!(rows.next()).unwrap().unwrap();
            let (literal, expected) = (row.value(0).unwrap(), expected.value(0).unwrap());
            assert!(
                same(literal, expected),
                "{mode}: {sql}: {literal:?} {expected:?}"
            );
            wait!(rows.finish()).unwrap();
        }
    }
}

#[tokio::test]
async fn the_connection_knows_its_modes_and_its_character_set() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let text = params!["a\\'b"];
    assert_eq!(conn.format("?", &text).unwrap(), r"'a\\''b'");
    wait!(conn.run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")).unwrap();
    assert_eq!(conn.format("?", &text).unwrap(), r"'a\''b'");
    for (set, fits) in [
        ("latin1", true),
        ("gbk", false),
        ("sjis", false),
        ("utf8mb4", true),
    ] {
        wait!(conn.run(format!("SET NAMES {set}"))).unwrap();
        assert_eq!(conn.format("?", &text).is_ok(), fits, "{set}");
    }
}

#[tokio::test]
async fn names_and_lists_select_what_they_say() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let sql = "SELECT seq FROM seq_1_to_100 WHERE seq IN (:ids) AND seq <> :not ORDER BY seq";
    let (none, three) = ([0u8; 0], [3u8, 5, 99]);
    for (ids, expected) in [(&three[..], &[(3u8,), (99,)][..]), (&none, &[])] {
        let params = params! { ids: list(ids), not: 5 };
        let text = conn.format_named(sql, &params).unwrap();
        assert_eq!(wait!(conn.query_as::<(u8,)>(text)).unwrap(), expected);
        let bound = onecopy_mysql::NamedSql::new(sql).bind(&params).unwrap();
        let statement = wait!(conn.prepare(bound.sql())).unwrap();
        let rows: Vec<(u8,)> = wait!(conn.execute_as(&statement, bound.params())).unwrap();
        assert_eq!(rows, expected);
    }
    // Of the empty set, NULL included.
    let sql =
        "SELECT COUNT(*) FROM (SELECT 1 AS x UNION ALL SELECT NULL) AS t WHERE x NOT IN (:ids)";
    let text = conn
        .format_named(sql, &params! { ids: list(&none) })
        .unwrap();
    assert_eq!(wait!(conn.query_scalar::<u8>(text)).unwrap(), 2);
}

#[tokio::test]
async fn a_quoted_name_is_that_name() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    for mode in ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"] {
        wait!(conn.run(format!("SET sql_mode = '{mode}'"))).unwrap();
        for name in ["a`b", "\\'\"", "select", "é €", "`"] {
            let sql = format!("SELECT 1 AS {}", format::ident(name).unwrap());
            let rows = wait!(conn.query(sql)).unwrap();
            assert_eq!(rows.columns().unwrap().name(0), Some(name.as_bytes()));
            wait!(rows.finish()).unwrap();
        }
    }
    assert_eq!(Dialect::default().character_set, "utf8mb4");
}

async fn prepares(conn: &mut Connection) -> u64 {
    let sql = "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'";
    let (_, count): (String, String) = wait!(conn.query_one(sql)).unwrap();
    count.parse().unwrap()
}

#[tokio::test]
async fn lists_of_many_lengths_are_few_statements() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let before = prepares(&mut conn).await;
    let sql = "SELECT seq FROM seq_1_to_100 WHERE seq IN (:ids) AND seq <> :not";
    let ids: Vec<u32> = (1..=200).collect();
    for len in 1..=ids.len() {
        // For a number with a sign MySQL prepares each of them again.
        let params = params! { ids: list(&ids[..len]), not: 1u32 };
        let rows: Vec<(u32,)> = wait!(conn.exec_named_as(sql, &params)).unwrap();
        assert_eq!(rows.len(), len.min(100) - 1);
    }
    assert_eq!(prepares(&mut conn).await - before, 9);
    let error = wait!(conn.exec_named(sql, &params! { id: 1 })).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no value is given for :ids :not"),
        "{error}"
    );
}

#[tokio::test]
async fn a_literal_is_stored_as_the_parameter_is_in_columns_of_other_types() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let date = Date::parse_text(b"2024-02-29").unwrap();
    let moment = DateTime::parse_text(b"2024-02-29 12:34:56").unwrap();
    let time = Time::parse_text(b"-12:34:56").unwrap();
    let decimal: OwnedDecimal = "12.50".parse().unwrap();
    for (param, columns) in [
        (
            Param::Bytes(b"55"),
            &["INT", "DOUBLE", "DECIMAL(9,2)", "VARCHAR(9)", "BLOB"][..],
        ),
        (Param::Bytes(b"it's \\ \0\n"), &["VARCHAR(9)", "BLOB"]),
        (Param::Str("55"), &["INT", "DOUBLE", "BLOB"]),
        (date.into(), &["VARCHAR(30)", "DATETIME", "INT"]),
        (moment.into(), &["VARCHAR(30)", "DATE", "BIGINT"]),
        (time.into(), &["VARCHAR(30)", "INT"]),
        ((&decimal).into(), &["VARCHAR(30)", "DOUBLE", "INT"]),
        (5.into(), &["VARCHAR(30)", "BIT(8)", "DECIMAL(9,2)"]),
        (1.5f64.into(), &["VARCHAR(30)", "DECIMAL(9,2)"]),
        (0.1f32.into(), &["FLOAT"]),
    ] {
        for column in columns {
            wait!(conn.run("DROP TEMPORARY TABLE IF EXISTS literals")).unwrap();
            wait!(conn.run(format!("CREATE TEMPORARY TABLE literals (v {column})"))).unwrap();
            let insert = "INSERT INTO literals VALUES (?)";
            let statement = wait!(conn.prepare(insert)).unwrap();
            wait!(wait!(conn.execute(&statement, &[param])).unwrap().finish()).unwrap();
            let text = conn.format(insert, &[param]).unwrap();
            wait!(conn.run(&text)).unwrap();
            let distinct = "SELECT COUNT(DISTINCT v), COUNT(v) FROM literals";
            let counts: (u8, u8) = wait!(conn.query_one(distinct)).unwrap();
            assert_eq!(counts, (1, 2), "{text} into {column}");
        }
    }
}
