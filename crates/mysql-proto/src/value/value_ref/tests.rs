use proptest::prelude::*;

use super::Value;
use crate::charset::CollationId;
use crate::column_flags::ColumnFlags;
use crate::column_type::ColumnType;
use crate::value::{Date, DateTime, Decimal, Time, ValueError, ValueKind, ValueProblem};

const SIGNED: ColumnFlags = ColumnFlags::empty();
const UNSIGNED: ColumnFlags = ColumnFlags::UNSIGNED;

fn text(ty: ColumnType, flags: ColumnFlags, bytes: &[u8]) -> Result<Value<'_>, ValueError> {
    Value::decode_text(ty, flags, CollationId::BINARY, bytes)
}

fn binary(ty: ColumnType, flags: ColumnFlags, body: &[u8]) -> Result<Value<'_>, ValueError> {
    Value::decode_binary(ty, flags, CollationId::BINARY, body)
}

#[track_caller]
fn assert_equal(
    ty: ColumnType,
    flags: ColumnFlags,
    as_text: &[u8],
    body: &[u8],
    expected: Value<'_>,
) {
    assert_eq!(text(ty, flags, as_text), Ok(expected), "{ty} as text");
    assert_eq!(binary(ty, flags, body), Ok(expected), "{ty} in binary");
}

#[test]
fn a_value_is_small_and_so_is_its_result() {
    assert_eq!(size_of::<Value<'_>>(), 24);
    assert_eq!(size_of::<Option<Value<'_>>>(), 24);
    assert_eq!(size_of::<Result<Value<'_>, ValueError>>(), 24);
}

#[test]
fn integers_are_equal_in_both_protocols_at_both_ends() {
    use ColumnType as T;
    let signed: &[(T, &[u8], &[u8], i64)] = &[
        (T::TINY, b"-128", &[0x80], -128),
        (T::TINY, b"127", &[0x7F], 127),
        (T::SHORT, b"-32768", &[0x00, 0x80], -32_768),
        (T::SHORT, b"32767", &[0xFF, 0x7F], 32_767),
        // MEDIUMINT has four bytes, its sign carried on.
        (T::INT24, b"-8388608", &[0x00, 0x00, 0x80, 0xFF], -8_388_608),
        (T::INT24, b"8388607", &[0xFF, 0xFF, 0x7F, 0x00], 8_388_607),
        (
            T::LONG,
            b"-2147483648",
            &[0x00, 0x00, 0x00, 0x80],
            i64::from(i32::MIN),
        ),
        (
            T::LONG,
            b"2147483647",
            &[0xFF, 0xFF, 0xFF, 0x7F],
            i64::from(i32::MAX),
        ),
        (
            T::LONGLONG,
            b"-9223372036854775808",
            &[0, 0, 0, 0, 0, 0, 0, 0x80],
            i64::MIN,
        ),
        (T::LONGLONG, b"-1", &[0xFF; 8], -1),
        (T::LONGLONG, b"0", &[0; 8], 0),
    ];
    for &(ty, as_text, body, value) in signed {
        assert_equal(ty, SIGNED, as_text, body, Value::Int(value));
    }
    let unsigned: &[(T, &[u8], &[u8], u64)] = &[
        (T::TINY, b"255", &[0xFF], 255),
        (T::SHORT, b"65535", &[0xFF, 0xFF], 65_535),
        (T::INT24, b"16777215", &[0xFF, 0xFF, 0xFF, 0x00], 16_777_215),
        (T::LONG, b"4294967295", &[0xFF; 4], u64::from(u32::MAX)),
        (T::LONGLONG, b"18446744073709551615", &[0xFF; 8], u64::MAX),
        // ZEROFILL.
        (T::LONG, b"0000000005", &[5, 0, 0, 0], 5),
        (T::YEAR, b"0000", &[0, 0], 0),
        (T::YEAR, b"1901", &[0x6D, 0x07], 1901),
        (T::YEAR, b"2155", &[0x6B, 0x08], 2155),
        // BIT is the same bytes in both.
        (T::BIT, &[0x01, 0xFF], &[0x01, 0xFF], 511),
        (T::BIT, &[0xFF; 8], &[0xFF; 8], u64::MAX),
    ];
    for &(ty, as_text, body, value) in unsigned {
        assert_equal(ty, UNSIGNED, as_text, body, Value::UInt(value));
    }
    // YEAR and BIT have no sign whatever the flags say.
    assert_equal(
        ColumnType::YEAR,
        SIGNED,
        b"1901",
        &[0x6D, 0x07],
        Value::UInt(1901),
    );
    assert_equal(ColumnType::BIT, SIGNED, &[0x80], &[0x80], Value::UInt(128));
}

#[test]
fn floats_are_equal_in_both_protocols_where_the_text_is_exact() {
    assert_equal(
        ColumnType::FLOAT,
        SIGNED,
        b"-1.5",
        &[0x00, 0x00, 0xC0, 0xBF],
        Value::Float(-1.5),
    );
    let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0x7F];
    assert_equal(
        ColumnType::DOUBLE,
        SIGNED,
        b"1.7976931348623157e308",
        &max,
        Value::Double(f64::MAX),
    );
    // f32::MAX is whole only in binary: as text it has six digits.
    assert_eq!(
        binary(ColumnType::FLOAT, SIGNED, &[0xFF, 0xFF, 0x7F, 0x7F]),
        Ok(Value::Float(f32::MAX))
    );
    assert_eq!(
        text(ColumnType::FLOAT, SIGNED, b"3.40282e38"),
        Ok(Value::Float(3.402_82e38))
    );
}

#[test]
fn dates_times_and_decimals_are_equal_in_both_protocols() {
    let date = Value::Date(Date {
        year: 2020,
        month: 0,
        day: 0,
    });
    for ty in [ColumnType::DATE, ColumnType::NEWDATE] {
        assert_equal(ty, SIGNED, b"2020-00-00", &[0xE4, 0x07, 0, 0], date);
        assert_equal(ty, SIGNED, b"0000-00-00", &[], Value::Date(Date::ZERO));
    }
    let noon = DateTime {
        hour: 12,
        ..DateTime::from(Date {
            year: 2024,
            month: 2,
            day: 29,
        })
    };
    for ty in [ColumnType::DATETIME, ColumnType::TIMESTAMP] {
        // DATETIME(3) as text has zeros that the binary form leaves out.
        assert_equal(
            ty,
            SIGNED,
            b"2024-02-29 12:00:00.000",
            &[0xE8, 0x07, 2, 29, 12, 0, 0],
            Value::DateTime(noon),
        );
        assert_equal(
            ty,
            SIGNED,
            b"0000-00-00 00:00:00",
            &[],
            Value::DateTime(DateTime::ZERO),
        );
    }
    let time = Time {
        negative: true,
        hours: 838,
        minutes: 59,
        seconds: 59,
        microseconds: 0,
    };
    assert_equal(
        ColumnType::TIME,
        SIGNED,
        b"-838:59:59",
        &[1, 34, 0, 0, 0, 22, 59, 59],
        Value::Time(time),
    );
    assert_equal(
        ColumnType::TIME,
        SIGNED,
        b"-00:00:00.000",
        &[],
        Value::Time(Time::ZERO),
    );
    let digits = b"-99999999999999999999999999999999999.999999999999999999999999999999";
    let decimal = Value::Decimal(Decimal::parse_text(digits).unwrap());
    for ty in [ColumnType::NEWDECIMAL, ColumnType::DECIMAL] {
        assert_equal(ty, SIGNED, digits, digits, decimal);
    }
}

#[test]
fn everything_else_is_bytes_and_never_an_error() {
    let known = [
        ColumnType::TINY,
        ColumnType::SHORT,
        ColumnType::INT24,
        ColumnType::LONG,
        ColumnType::LONGLONG,
        ColumnType::FLOAT,
        ColumnType::DOUBLE,
        ColumnType::DECIMAL,
        ColumnType::NEWDECIMAL,
        ColumnType::YEAR,
        ColumnType::BIT,
        ColumnType::DATE,
        ColumnType::NEWDATE,
        ColumnType::DATETIME,
        ColumnType::TIMESTAMP,
        ColumnType::TIME,
        ColumnType::JSON,
    ];
    let not_utf8: &[u8] = b"\x00abc\xFF";
    for ty in (0..=0xFF).map(ColumnType).filter(|ty| !known.contains(ty)) {
        for bytes in [not_utf8, b""] {
            assert_equal(ty, SIGNED, bytes, bytes, Value::Bytes(bytes));
        }
    }
}

#[test]
fn the_collation_tells_text_from_bytes_and_its_character_set() {
    // Of no server that is known here.
    const UNKNOWN: CollationId = CollationId(9999);
    const UTF8: CollationId = CollationId::UTF8MB4_GENERAL_CI;
    const LATIN1: CollationId = CollationId::LATIN1_SWEDISH_CI;
    const BINARY: CollationId = CollationId::BINARY;
    let text = &b"gr\xFCn"[..];
    let other = Value::OtherText {
        bytes: text,
        collation: LATIN1,
    };
    for (ty, collation, value) in [
        (ColumnType::VAR_STRING, UTF8, Value::Text(text)),
        (ColumnType::BLOB, UTF8, Value::Text(text)),
        (ColumnType::STRING, CollationId(33), Value::Text(text)),
        (ColumnType::STRING, UNKNOWN, Value::Text(text)),
        (ColumnType(0xC0), UTF8, Value::Text(text)),
        (ColumnType::VAR_STRING, LATIN1, other),
        (ColumnType::BLOB, BINARY, Value::Bytes(text)),
        (ColumnType::GEOMETRY, BINARY, Value::Bytes(text)),
        (ColumnType::VECTOR, BINARY, Value::Bytes(text)),
        // MySQL says binary, and means text.
        (ColumnType::JSON, BINARY, Value::Text(text)),
        (ColumnType::JSON, UTF8, Value::Text(text)),
        (ColumnType::JSON, LATIN1, other),
    ] {
        assert_eq!(
            Value::decode_text(ty, SIGNED, collation, text),
            Ok(value),
            "{ty} {collation}"
        );
        assert_eq!(
            Value::decode_binary(ty, SIGNED, collation, text),
            Ok(value),
            "{ty} {collation}"
        );
        assert_eq!(value.as_bytes(), Some(text));
    }
    assert_eq!(Value::Int(1).as_bytes(), None);
}

#[test]
fn a_binary_number_of_the_wrong_length_is_an_error() {
    use ColumnType as T;
    for (ty, kind, width) in [
        (T::TINY, ValueKind::Int, 1),
        (T::SHORT, ValueKind::Int, 2),
        (T::INT24, ValueKind::Int, 4),
        (T::LONG, ValueKind::Int, 4),
        (T::LONGLONG, ValueKind::Int, 8),
        (T::YEAR, ValueKind::Year, 2),
        (T::FLOAT, ValueKind::Float, 4),
        (T::DOUBLE, ValueKind::Double, 8),
    ] {
        for length in 0..=255 {
            let body = vec![0; length];
            let offset = u32::try_from(length).unwrap();
            let wrong = ValueError {
                kind,
                problem: ValueProblem::WrongLength,
                offset,
            };
            for flags in [SIGNED, UNSIGNED] {
                match binary(ty, flags, &body) {
                    Ok(_) => assert_eq!(length, width, "{ty}"),
                    Err(error) => assert!(error == wrong && length != width, "{ty}: {error}"),
                }
            }
        }
    }
}

#[test]
fn each_error_is_one_line_that_says_what_and_where() {
    for (error, line) in [
        (
            binary(ColumnType::DATETIME, SIGNED, &[0; 5]),
            "datetime: 5 bytes long, expected 0, 4, 7 or 11",
        ),
        (
            binary(ColumnType::TIME, SIGNED, &[0]),
            "time: 1 bytes long, expected 0, 8 or 12",
        ),
        (
            binary(ColumnType::BIT, SIGNED, &[]),
            "bit: 0 bytes long, expected 1 to 8",
        ),
        (
            binary(ColumnType::LONG, SIGNED, &[0]),
            "int: 1 bytes long, expected that of the column's type",
        ),
        (
            text(ColumnType::DATE, SIGNED, b"2024/01/01"),
            "date: unexpected byte 0x2f at byte 4",
        ),
        (
            text(ColumnType::TIME, SIGNED, b"12:00"),
            "time: cut short at byte 5",
        ),
        (
            text(ColumnType::TINY, UNSIGNED, b"-1"),
            "unsigned int: unexpected byte 0x2d at byte 0",
        ),
        (
            text(ColumnType::DATE, SIGNED, b"2024-13-01"),
            "date: out of range at byte 5",
        ),
    ] {
        assert_eq!(error.unwrap_err().to_string(), line);
    }
}

#[test]
fn every_value_tells_its_kind() {
    assert_eq!(Value::Null.kind(), ValueKind::Null);
    assert!(Value::Null.is_null() && !Value::Int(0).is_null());
    assert_eq!(Value::Bytes(b"").kind(), ValueKind::Bytes);
    assert_eq!(Value::from("").kind(), ValueKind::Text);
    assert_eq!(Value::Time(Time::ZERO).kind(), ValueKind::Time);
}

proptest! {
    #[test]
    fn no_type_and_no_bytes_make_it_panic(
        ty: u8,
        flags: u16,
        bytes in prop::collection::vec(any::<u8>(), 0..32),
    ) {
        let (ty, flags) = (ColumnType(ty), ColumnFlags(flags));
        let _ = (text(ty, flags, &bytes), binary(ty, flags, &bytes));
    }

    #[test]
    fn every_double_and_float_is_read_bit_by_bit(double: u64, float: u32) {
        let Ok(Value::Double(value)) = binary(ColumnType::DOUBLE, SIGNED, &double.to_le_bytes()) else {
            return Err(TestCaseError::fail("no double"));
        };
        prop_assert_eq!(value.to_bits(), double);
        let Ok(Value::Float(value)) = binary(ColumnType::FLOAT, SIGNED, &float.to_le_bytes()) else {
            return Err(TestCaseError::fail("no float"));
        };
        prop_assert_eq!(value.to_bits(), float);
    }
}
