//! Types of other crates, from both protocols and as parameters.

use std::fmt::Debug;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use jiff::{SignedDuration, Timestamp, civil};
use onecopy_mysql::{
    FromRow, FromValueError, FromValueOwned, Json, JsonText, Lossy, OwnedDecimal, Param,
    ParamProblem, Time, ToParam, params,
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, PrimitiveDateTime};
use uuid::Uuid;

use super::Connection;
use crate::common::{offered, urls};

/// Stores each value in a column of the type, and reads it and a NULL by both protocols.
async fn check<T: FromValueOwned + ToParam + PartialEq + Debug>(sql_type: &str, values: &[T]) {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run("SET time_zone = '+00:00'")).unwrap();
    wait!(conn.run("DROP TEMPORARY TABLE IF EXISTS of_other_crates")).unwrap();
    let created = wait!(conn.run(format!(
        "CREATE TEMPORARY TABLE of_other_crates (id INT AUTO_INCREMENT PRIMARY KEY, v {sql_type} NULL)"
    )));
    if !offered(sql_type, created) {
        return;
    }
    let insert = wait!(conn.prepare("INSERT INTO of_other_crates (v) VALUES (?)")).unwrap();
    for param in values.iter().map(ToParam::to_param).chain([Param::Null]) {
        wait!(wait!(conn.execute(&insert, &[param])).unwrap().finish()).unwrap();
    }
    let sql = "SELECT v FROM of_other_crates ORDER BY id";
    let select = wait!(conn.prepare(sql)).unwrap();
    let text = wait!(conn.query_as::<(Option<T>,)>(sql)).unwrap();
    let binary = wait!(conn.execute_as::<(Option<T>,)>(&select, &[])).unwrap();
    for rows in [text, binary] {
        let (last, rows) = rows.split_last().unwrap();
        assert_eq!(last.0, None);
        assert_eq!(rows.len(), values.len());
        for ((read,), stored) in rows.iter().zip(values) {
            assert_eq!(read.as_ref(), Some(stored), "{sql_type}");
        }
    }
    // The server finds it by the parameter, and by the literal.
    let find = wait!(conn.prepare("SELECT COUNT(*) FROM of_other_crates WHERE v = ?")).unwrap();
    for value in values {
        let found: u32 = wait!(conn.execute_scalar(&find, &[value.to_param()])).unwrap();
        assert!(found >= 1, "{sql_type} {value:?}");
        let sql = conn.format(
            "SELECT COUNT(*) FROM of_other_crates WHERE v = ?",
            &[value.to_param()],
        );
        let found: u32 = wait!(conn.query_scalar(sql.unwrap())).unwrap();
        assert!(found >= 1, "{sql_type} {value:?}");
    }
}

/// What the server sends for this, as a `T`, fails.
async fn check_refused<T: FromValueOwned + Debug>(sql: &str) {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run("SET sql_mode = ''")).unwrap();
    let statement = wait!(conn.prepare(sql)).unwrap();
    let text = wait!(conn.query_one::<(T,)>(sql)).unwrap_err();
    let binary = wait!(conn.execute_one::<(T,)>(&statement, &[])).unwrap_err();
    for error in [text, binary] {
        assert!(
            matches!(error.conversion(), Some(FromValueError::DoesNotFit { .. })),
            "{sql}: {error}"
        );
    }
}

/// Seconds and microseconds of nearly the longest time, 838:59:58.999999. As a parameter MySQL takes it without the microseconds only.
async fn longest() -> (i64, i32) {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let time = Time::parse_text(b"838:59:58.999999").unwrap();
    let select = wait!(conn.prepare("SELECT ?")).unwrap();
    let sent = wait!(conn.execute(&select, &params![time])).map(drop);
    let hours = if offered("TIME parameters of 838 hours and microseconds", sent) {
        838
    } else {
        837
    };
    (hours * 3600 + 59 * 60 + 58, 999_999)
}

#[tokio::test]
async fn dates_and_times_of_chrono() {
    let date = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap();
    let time = |hour, micro| NaiveTime::from_hms_micro_opt(hour, 59, 58, micro).unwrap();
    check(
        "DATE",
        &[date(1000, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    )
    .await;
    let moments = [
        date(1000, 1, 1).and_time(NaiveTime::MIN),
        date(2024, 2, 29).and_time(time(23, 0)),
        date(9999, 12, 31).and_time(time(23, 999_999)),
    ];
    check("DATETIME(6)", &moments).await;
    check("DATETIME(6)", &moments.map(|moment| moment.and_utc())).await;
    check(
        "TIMESTAMP(6)",
        &[date(2024, 2, 29).and_time(time(1, 1)).and_utc()],
    )
    .await;
    check("TIME(6)", &[NaiveTime::MIN, time(23, 999_999)]).await;
    let (seconds, micros) = longest().await;
    let most = TimeDelta::seconds(seconds) + TimeDelta::microseconds(micros.into());
    check(
        "TIME(6)",
        &[most, -most, TimeDelta::zero(), TimeDelta::microseconds(-1)],
    )
    .await;
}

#[tokio::test]
async fn dates_and_times_of_jiff() {
    let date = civil::date;
    check(
        "DATE",
        &[date(1000, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    )
    .await;
    let moments = [
        date(1000, 1, 1).at(0, 0, 0, 0),
        date(2024, 2, 29).at(23, 59, 58, 1_000),
        date(9999, 12, 30).at(1, 59, 59, 999_999_000),
    ];
    check("DATETIME(6)", &moments).await;
    let utc = |moment: civil::DateTime| jiff::tz::TimeZone::UTC.to_timestamp(moment).unwrap();
    check("DATETIME(6)", &moments.map(utc)).await;
    check("TIMESTAMP(6)", &[utc(moments[1])]).await;
    check(
        "TIME(6)",
        &[
            civil::Time::midnight(),
            civil::time(23, 59, 59, 999_999_000),
        ],
    )
    .await;
    let (seconds, micros) = longest().await;
    let most = SignedDuration::new(seconds, micros * 1000);
    check(
        "TIME(6)",
        &[
            most,
            -most,
            SignedDuration::ZERO,
            SignedDuration::from_micros(-1),
        ],
    )
    .await;
}

#[tokio::test]
async fn dates_and_times_of_time() {
    let date = |year, month, day| {
        time::Date::from_calendar_date(year, time::Month::try_from(month).unwrap(), day).unwrap()
    };
    let at = |hour, micro| time::Time::from_hms_micro(hour, 59, 58, micro).unwrap();
    check(
        "DATE",
        &[date(1000, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    )
    .await;
    let moments = [
        date(1000, 1, 1).midnight(),
        date(2024, 2, 29).with_time(at(23, 1)),
        date(9999, 12, 31).with_time(at(23, 999_999)),
    ];
    check("DATETIME(6)", &moments).await;
    check("DATETIME(6)", &moments.map(PrimitiveDateTime::assume_utc)).await;
    check("TIMESTAMP(6)", &[moments[1].assume_utc()]).await;
    check("TIME(6)", &[time::Time::MIDNIGHT, at(23, 999_999)]).await;
    let (seconds, micros) = longest().await;
    let most = time::Duration::new(seconds, micros * 1000);
    check(
        "TIME(6)",
        &[
            most,
            -most,
            time::Duration::ZERO,
            time::Duration::microseconds(-1),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_date_that_is_in_no_calendar_and_a_time_beyond_a_day_are_errors() {
    for sql in [
        "SELECT CAST('0000-00-00' AS DATE)",
        "SELECT CAST('2020-02-00' AS DATE)",
    ] {
        let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
        wait!(conn.run("SET sql_mode = ''")).unwrap();
        // Newer servers make it NULL.
        if wait!(conn.query_scalar::<Option<onecopy_mysql::Date>>(sql))
            .unwrap()
            .is_some()
        {
            check_refused::<NaiveDate>(sql).await;
            check_refused::<NaiveDateTime>(sql).await;
            check_refused::<chrono::DateTime<Utc>>(sql).await;
            check_refused::<civil::Date>(sql).await;
            check_refused::<Timestamp>(sql).await;
            check_refused::<time::Date>(sql).await;
            check_refused::<OffsetDateTime>(sql).await;
        }
    }
    for sql in [
        "SELECT TIME'24:00:00'",
        "SELECT TIME'-00:00:01'",
        "SELECT TIME'838:59:59'",
    ] {
        check_refused::<NaiveTime>(sql).await;
        check_refused::<civil::Time>(sql).await;
        check_refused::<time::Time>(sql).await;
    }
    check_refused::<NaiveDate>("SELECT TIMESTAMP'2024-02-29 00:00:01'").await;
}

#[tokio::test]
async fn a_parameter_that_mysql_has_no_value_for_is_refused_and_nothing_is_sent() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let statement = wait!(conn.prepare("SELECT ?, ?")).unwrap();
    let far = NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap();
    let nano = NaiveTime::from_hms_nano_opt(0, 0, 0, 1).unwrap();
    let leap = NaiveTime::from_hms_nano_opt(23, 59, 59, 1_000_000_000).unwrap();
    let long = SignedDuration::from_hours(839);
    for (param, problem) in [
        (Param::from(far), ParamProblem::Year),
        (nano.into(), ParamProblem::Nanoseconds),
        (leap.into(), ParamProblem::LeapSecond),
        (long.into(), ParamProblem::TooLong),
        (civil::date(-1, 1, 1).into(), ParamProblem::Year),
        (civil::time(0, 0, 0, 999).into(), ParamProblem::Nanoseconds),
        (time::Duration::hours(-839).into(), ParamProblem::TooLong),
    ] {
        let before = conn.meter().bytes_written;
        let error = wait!(conn.execute(&statement, &[1.into(), param])).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("parameter 1 can't be sent: {problem}")
        );
        assert!(!error.is_closed() && !error.maybe_executed());
        assert_eq!(conn.meter().bytes_written, before);
    }
    let cut: [Param<'_>; 2] = params![
        Lossy(nano),
        Lossy(NaiveTime::from_hms_nano_opt(1, 2, 3, 4_999).unwrap())
    ];
    let (first, second): (NaiveTime, NaiveTime) =
        wait!(conn.execute_one(&statement, &cut)).unwrap();
    assert_eq!(first, NaiveTime::MIN);
    assert_eq!(second, NaiveTime::from_hms_micro_opt(1, 2, 3, 4).unwrap());
}

#[tokio::test]
async fn uuids_are_bytes_text_and_mariadbs_own_type() {
    let uuids = [
        Uuid::nil(),
        Uuid::max(),
        Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_00ff),
    ];
    check("BINARY(16)", &uuids).await;
    check("CHAR(36) CHARACTER SET ascii", &uuids.map(Uuid::hyphenated)).await;
    check("UUID", &uuids.map(Uuid::hyphenated)).await;
    check_refused::<Uuid>("SELECT 'no uuid'").await;
    check_refused::<Uuid>("SELECT X'00FF'").await;
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let statement = wait!(conn.prepare("SELECT HEX(?), ?")).unwrap();
    let (hex, text): (String, String) =
        wait!(conn.execute_one(&statement, &params![uuids[2], uuids[2].hyphenated()])).unwrap();
    assert_eq!(hex, "550E8400E29B41D4A7164466554400FF");
    assert_eq!(text, "550e8400-e29b-41d4-a716-4466554400ff");
}

#[tokio::test]
async fn bytes_of_a_uuid_fit_mariadbs_own_type() {
    let uuids = [
        Uuid::max(),
        Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_00ff),
    ];
    check("UUID", &uuids).await;
}

#[tokio::test]
async fn decimals_of_rust_decimal_and_bigdecimal() {
    let max = Decimal::MAX;
    check("DECIMAL(29,0)", &[max, -max, Decimal::ZERO]).await;
    let small = Decimal::from_str("-7.9228162514264337593543950335").unwrap();
    check("DECIMAL(65,28)", &[small]).await;
    check_refused::<Decimal>("SELECT 123456789012345678901234567890.5").await;
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let scale: Decimal = wait!(conn.query_scalar("SELECT 1.50")).unwrap();
    assert_eq!(scale.to_string(), "1.50");
    assert_eq!(
        wait!(conn.query_scalar::<Decimal>("SELECT 18446744073709551615")).unwrap(),
        Decimal::from(u64::MAX)
    );

    let statement = wait!(conn.prepare("SELECT CAST(? AS DECIMAL(65,30))")).unwrap();
    let nines = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
    for text in [&nines[..], "0", "1e5", "-1.5e-3", "123.4500"] {
        let big = BigDecimal::from_str(text).unwrap();
        let own = OwnedDecimal::try_from(&big).unwrap();
        let read: BigDecimal = wait!(conn.execute_scalar(&statement, &[(&own).into()])).unwrap();
        assert_eq!(read, big);
    }
    let read: BigDecimal = wait!(conn.query_scalar("SELECT -7")).unwrap();
    assert_eq!(read, BigDecimal::from(-7));
    for text in ["1e1000000000", "1e-1000000000", &"9".repeat(82)] {
        let big = BigDecimal::from_str(text).unwrap();
        assert_eq!(OwnedDecimal::try_from(&big), Err(ParamProblem::Digits));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sizes {
    sizes: Vec<u32>,
}

#[derive(Debug, PartialEq, FromRow)]
struct Shoe {
    id: u32,
    #[onecopy(json)]
    info: Sizes,
    #[onecopy(json)]
    more: Option<Sizes>,
    any: Option<serde_json::Value>,
}

#[tokio::test]
async fn json_is_read_by_serde_and_written_as_text() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(
        conn.run("CREATE TEMPORARY TABLE shoe (id INT UNSIGNED, info JSON, more JSON, any JSON)")
    )
    .unwrap();
    let insert = wait!(conn.prepare("INSERT INTO shoe VALUES (?, ?, ?, ?)")).unwrap();
    let sizes = |sizes: &[u32]| Sizes {
        sizes: sizes.to_vec(),
    };
    let info = JsonText::new(&sizes(&[38, 42])).unwrap();
    let any = JsonText::new(&serde_json::json!({"é": [null, 1.5]})).unwrap();
    for params in [
        params![1, &info, None::<&str>, None::<&str>],
        params![2, &info, "null", &any],
        params![3, &info, &info, "null"],
    ] {
        wait!(wait!(conn.execute(&insert, &params)).unwrap().finish()).unwrap();
    }
    let sql = "SELECT * FROM shoe ORDER BY id";
    let select = wait!(conn.prepare(sql)).unwrap();
    let text = wait!(conn.query_as::<Shoe>(sql)).unwrap();
    let binary = wait!(conn.execute_as::<Shoe>(&select, &[])).unwrap();
    let info = || sizes(&[38, 42]);
    for shoes in [text, binary] {
        let shoe = |id, more, any| Shoe {
            id,
            info: info(),
            more,
            any,
        };
        assert_eq!(
            shoes,
            [
                shoe(1, None, None),
                shoe(2, None, Some(serde_json::json!({"é": [null, 1.5]}))),
                shoe(3, Some(info()), Some(serde_json::Value::Null)),
            ]
        );
    }
    let sql = "SELECT 1 AS id, '{\"sizes\": [1, -1]}' AS info, NULL AS more, NULL AS any";
    let error = wait!(conn.query_one::<Shoe>(sql)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1, column 1 (info, VARCHAR): the text is json of another form than the field's type, at line 1, column 16"
    );
    let error = wait!(conn.query_one::<(Json<Sizes>,)>("SELECT '{\"sizes\"'")).unwrap_err();
    assert!(
        error.to_string().contains("the text is not json"),
        "{error}"
    );
}
