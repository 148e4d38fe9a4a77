//! One table read by both protocols, compared value by value.

use crate::charset::CollationId;
use crate::column_flags::ColumnFlags;
use crate::column_type::ColumnType;
use crate::value::{Param, Time, Value};

/// Type, flags, collation, bytes of the text row, bytes of the binary row without a length.
type Capture = (ColumnType, u16, u16, &'static [u8], &'static [u8]);

/// Captured from MariaDB 10.11.19: a column of each type at its ends, zero and partial dates, read by COM_QUERY and by
/// COM_STMT_EXECUTE, time zone UTC, `sql_mode` ALLOW_INVALID_DATES.
const ROWS: &[Capture] = &[
    // TINYINT.
    (ColumnType::TINY, 0x0000, 63, b"-128", &[0x80]),
    (ColumnType::TINY, 0x0000, 63, b"127", &[0x7F]),
    (ColumnType::TINY, 0x0000, 63, b"0", &[0x00]),
    // TINYINT UNSIGNED.
    (ColumnType::TINY, 0x0020, 63, b"0", &[0x00]),
    (ColumnType::TINY, 0x0020, 63, b"255", &[0xFF]),
    (ColumnType::TINY, 0x0020, 63, b"1", &[0x01]),
    // SMALLINT.
    (ColumnType::SHORT, 0x0000, 63, b"-32768", &[0x00, 0x80]),
    (ColumnType::SHORT, 0x0000, 63, b"32767", &[0xFF, 0x7F]),
    (ColumnType::SHORT, 0x0000, 63, b"0", &[0x00, 0x00]),
    // SMALLINT UNSIGNED.
    (ColumnType::SHORT, 0x0020, 63, b"0", &[0x00, 0x00]),
    (ColumnType::SHORT, 0x0020, 63, b"65535", &[0xFF, 0xFF]),
    (ColumnType::SHORT, 0x0020, 63, b"1", &[0x01, 0x00]),
    // MEDIUMINT.
    (ColumnType::INT24, 0x0000, 63, b"-8388608", &[0x00, 0x00, 0x80, 0xFF]),
    (ColumnType::INT24, 0x0000, 63, b"8388607", &[0xFF, 0xFF, 0x7F, 0x00]),
    (ColumnType::INT24, 0x0000, 63, b"0", &[0x00, 0x00, 0x00, 0x00]),
    // MEDIUMINT UNSIGNED.
    (ColumnType::INT24, 0x0020, 63, b"0", &[0x00, 0x00, 0x00, 0x00]),
    (ColumnType::INT24, 0x0020, 63, b"16777215", &[0xFF, 0xFF, 0xFF, 0x00]),
    (ColumnType::INT24, 0x0020, 63, b"1", &[0x01, 0x00, 0x00, 0x00]),
    // INT.
    (ColumnType::LONG, 0x0000, 63, b"-2147483648", &[0x00, 0x00, 0x00, 0x80]),
    (ColumnType::LONG, 0x0000, 63, b"2147483647", &[0xFF, 0xFF, 0xFF, 0x7F]),
    (ColumnType::LONG, 0x0000, 63, b"0", &[0x00, 0x00, 0x00, 0x00]),
    // INT UNSIGNED.
    (ColumnType::LONG, 0x0020, 63, b"0", &[0x00, 0x00, 0x00, 0x00]),
    (ColumnType::LONG, 0x0020, 63, b"4294967295", &[0xFF, 0xFF, 0xFF, 0xFF]),
    (ColumnType::LONG, 0x0020, 63, b"1", &[0x01, 0x00, 0x00, 0x00]),
    // BIGINT.
    (ColumnType::LONGLONG, 0x0000, 63, b"-9223372036854775808", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80]),
    (ColumnType::LONGLONG, 0x0000, 63, b"9223372036854775807", &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
    (ColumnType::LONGLONG, 0x0000, 63, b"0", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    // BIGINT UNSIGNED.
    (ColumnType::LONGLONG, 0x0020, 63, b"0", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    (ColumnType::LONGLONG, 0x0020, 63, b"18446744073709551615", &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
    (ColumnType::LONGLONG, 0x0020, 63, b"1", &[0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    // INT UNSIGNED ZEROFILL.
    (ColumnType::LONG, 0x0060, 63, b"0000000000", &[0x00, 0x00, 0x00, 0x00]),
    (ColumnType::LONG, 0x0060, 63, b"0000000005", &[0x05, 0x00, 0x00, 0x00]),
    (ColumnType::LONG, 0x0060, 63, b"0012345678", &[0x4E, 0x61, 0xBC, 0x00]),
    // FLOAT.
    (ColumnType::FLOAT, 0x0000, 63, b"-1.5", &[0x00, 0x00, 0xC0, 0xBF]),
    (ColumnType::FLOAT, 0x0000, 63, b"0.5", &[0x00, 0x00, 0x00, 0x3F]),
    (ColumnType::FLOAT, 0x0000, 63, b"0", &[0x00, 0x00, 0x00, 0x00]),
    // DOUBLE.
    (ColumnType::DOUBLE, 0x0000, 63, b"-1.7976931348623157e308", &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0xFF]),
    (ColumnType::DOUBLE, 0x0000, 63, b"1.7976931348623157e308", &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0x7F]),
    (ColumnType::DOUBLE, 0x0000, 63, b"0", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    // DECIMAL(65,30).
    (ColumnType::NEWDECIMAL, 0x0000, 63, b"-99999999999999999999999999999999999.999999999999999999999999999999", b"-99999999999999999999999999999999999.999999999999999999999999999999"),
    (ColumnType::NEWDECIMAL, 0x0000, 63, b"99999999999999999999999999999999999.999999999999999999999999999999", b"99999999999999999999999999999999999.999999999999999999999999999999"),
    (ColumnType::NEWDECIMAL, 0x0000, 63, b"0.000000000000000000000000000000", b"0.000000000000000000000000000000"),
    // DECIMAL(12,3) UNSIGNED ZEROFILL.
    (ColumnType::NEWDECIMAL, 0x0060, 63, b"000000000.000", b"000000000.000"),
    (ColumnType::NEWDECIMAL, 0x0060, 63, b"000000012.500", b"000000012.500"),
    (ColumnType::NEWDECIMAL, 0x0060, 63, b"000000000.000", b"000000000.000"),
    // DATE.
    (ColumnType::DATE, 0x0080, 63, b"0000-00-00", &[]),
    (ColumnType::DATE, 0x0080, 63, b"9999-12-31", &[0x0F, 0x27, 0x0C, 0x1F]),
    (ColumnType::DATE, 0x0080, 63, b"2020-00-00", &[0xE4, 0x07, 0x00, 0x00]),
    // DATETIME.
    (ColumnType::DATETIME, 0x0080, 63, b"0000-00-00 00:00:00", &[]),
    (ColumnType::DATETIME, 0x0080, 63, b"9999-12-31 23:59:59", &[0x0F, 0x27, 0x0C, 0x1F, 0x17, 0x3B, 0x3B]),
    (ColumnType::DATETIME, 0x0080, 63, b"2020-02-31 00:00:00", &[0xE4, 0x07, 0x02, 0x1F]),
    // DATETIME(3).
    (ColumnType::DATETIME, 0x0080, 63, b"0000-00-00 00:00:00.000", &[]),
    (ColumnType::DATETIME, 0x0080, 63, b"9999-12-31 23:59:59.999", &[0x0F, 0x27, 0x0C, 0x1F, 0x17, 0x3B, 0x3B, 0x58, 0x3E, 0x0F, 0x00]),
    (ColumnType::DATETIME, 0x0080, 63, b"2020-00-00 00:00:00.500", &[0xE4, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0xA1, 0x07, 0x00]),
    // DATETIME(6).
    (ColumnType::DATETIME, 0x0080, 63, b"0000-00-00 00:00:00.000000", &[]),
    (ColumnType::DATETIME, 0x0080, 63, b"9999-12-31 23:59:59.999999", &[0x0F, 0x27, 0x0C, 0x1F, 0x17, 0x3B, 0x3B, 0x3F, 0x42, 0x0F, 0x00]),
    (ColumnType::DATETIME, 0x0080, 63, b"2020-00-00 00:00:00.000001", &[0xE4, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00]),
    // TIMESTAMP.
    (ColumnType::TIMESTAMP, 0x00A0, 63, b"1970-01-01 00:00:01", &[0xB2, 0x07, 0x01, 0x01, 0x00, 0x00, 0x01]),
    (ColumnType::TIMESTAMP, 0x00A0, 63, b"2024-02-29 12:00:00", &[0xE8, 0x07, 0x02, 0x1D, 0x0C, 0x00, 0x00]),
    (ColumnType::TIMESTAMP, 0x00A0, 63, b"2024-02-29 00:00:00", &[0xE8, 0x07, 0x02, 0x1D]),
    // TIME.
    (ColumnType::TIME, 0x0080, 63, b"-838:59:59", &[0x01, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B]),
    (ColumnType::TIME, 0x0080, 63, b"838:59:59", &[0x00, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B]),
    (ColumnType::TIME, 0x0080, 63, b"00:00:00", &[]),
    // TIME(3).
    (ColumnType::TIME, 0x0080, 63, b"-838:59:59.999", &[0x01, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B, 0x58, 0x3E, 0x0F, 0x00]),
    (ColumnType::TIME, 0x0080, 63, b"838:59:59.999", &[0x00, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B, 0x58, 0x3E, 0x0F, 0x00]),
    (ColumnType::TIME, 0x0080, 63, b"-00:00:00.100", &[0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xA0, 0x86, 0x01, 0x00]),
    // TIME(6).
    (ColumnType::TIME, 0x0080, 63, b"-838:59:59.999999", &[0x01, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B, 0x3F, 0x42, 0x0F, 0x00]),
    (ColumnType::TIME, 0x0080, 63, b"838:59:59.999999", &[0x00, 0x22, 0x00, 0x00, 0x00, 0x16, 0x3B, 0x3B, 0x3F, 0x42, 0x0F, 0x00]),
    (ColumnType::TIME, 0x0080, 63, b"100:00:00.000000", &[0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00]),
    // YEAR.
    (ColumnType::YEAR, 0x0060, 63, b"1901", &[0x6D, 0x07]),
    (ColumnType::YEAR, 0x0060, 63, b"2155", &[0x6B, 0x08]),
    (ColumnType::YEAR, 0x0060, 63, b"0000", &[0x00, 0x00]),
    // BIT(1).
    (ColumnType::BIT, 0x0020, 63, b"\x00", &[0x00]),
    (ColumnType::BIT, 0x0020, 63, b"\x01", &[0x01]),
    (ColumnType::BIT, 0x0020, 63, b"\x00", &[0x00]),
    // BIT(9).
    (ColumnType::BIT, 0x0020, 63, b"\x00\x00", &[0x00, 0x00]),
    (ColumnType::BIT, 0x0020, 63, b"\x01\xFF", &[0x01, 0xFF]),
    (ColumnType::BIT, 0x0020, 63, b"\x00\x01", &[0x00, 0x01]),
    // BIT(64).
    (ColumnType::BIT, 0x0020, 63, b"\x00\x00\x00\x00\x00\x00\x00\x00", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    (ColumnType::BIT, 0x0020, 63, b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
    (ColumnType::BIT, 0x0020, 63, b"\x00\x00\x00\x00\x00\x00\x00\x01", &[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01]),
    // ENUM('a','b').
    (ColumnType::STRING, 0x0100, 45, b"a", b"a"),
    (ColumnType::STRING, 0x0100, 45, b"b", b"b"),
    (ColumnType::STRING, 0x0100, 45, b"a", b"a"),
    // SET('a','b','c').
    (ColumnType::STRING, 0x0800, 45, b"", b""),
    (ColumnType::STRING, 0x0800, 45, b"a,c", b"a,c"),
    (ColumnType::STRING, 0x0800, 45, b"a", b"a"),
    // JSON, which is LONGTEXT.
    (ColumnType::BLOB, 0x0090, 45, b"{}", b"{}"),
    (ColumnType::BLOB, 0x0090, 45, b"[1]", b"[1]"),
    (ColumnType::BLOB, 0x0090, 45, b"null", b"null"),
    // POINT.
    (ColumnType::GEOMETRY, 0x0090, 63, b"\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xF0?\x00\x00\x00\x00\x00\x00\x00@", &[0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xF0, 0x3F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40]),
    (ColumnType::GEOMETRY, 0x0090, 63, b"\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", &[0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]),
    // UUID.
    (ColumnType::STRING, 0x00A0, 45, b"00112233-4455-6677-8899-aabbccddeeff", b"00112233-4455-6677-8899-aabbccddeeff"),
    (ColumnType::STRING, 0x00A0, 45, b"ffffffff-ffff-1fff-bfff-ffffffffffff", b"ffffffff-ffff-1fff-bfff-ffffffffffff"),
    // INET6.
    (ColumnType::STRING, 0x00A0, 45, b"::", b"::"),
    (ColumnType::STRING, 0x00A0, 45, b"ffff::1", b"ffff::1"),
    // VARCHAR(20).
    (ColumnType::VAR_STRING, 0x0000, 45, b"", b""),
    (ColumnType::VAR_STRING, 0x0000, 45, b"gr\xC3\xBCn", b"gr\xC3\xBCn"),
    // VARBINARY(20).
    (ColumnType::VAR_STRING, 0x0080, 63, b"", b""),
    (ColumnType::VAR_STRING, 0x0080, 63, b"\x00\xFF", b"\x00\xFF"),
];

fn decoded(capture: &Capture) -> [Value<'static>; 2] {
    let &(ty, flags, collation, text, body) = capture;
    let (flags, collation) = (ColumnFlags(flags), CollationId(collation));
    let text = Value::decode_text(ty, flags, collation, text).unwrap();
    [
        text,
        Value::decode_binary(ty, flags, collation, body).unwrap(),
    ]
}

#[test]
fn each_value_of_mariadb_is_the_same_in_both_protocols() {
    for capture in ROWS {
        let [text, binary] = decoded(capture);
        assert_eq!(text, binary, "{capture:?}");
        // Decimals are equal by number: compare their digits too.
        if let (Value::Decimal(text), Value::Decimal(binary)) = (text, binary) {
            assert_eq!(text.as_str(), binary.as_str());
        }
    }
}

#[test]
fn each_date_and_time_of_mariadb_is_written_as_mariadb_writes_it() {
    for capture in ROWS {
        let [value, _] = decoded(capture);
        let (Value::Date(_) | Value::DateTime(_) | Value::Time(_)) = value else {
            continue;
        };
        let (mut out, body) = ([0; Param::MAX_FIXED_BYTES], capture.4);
        let written = Param::from(value).encode_fixed(&mut out);
        assert_eq!(usize::from(out[0]), body.len());
        assert_eq!(&out[1..written], body, "{capture:?}");
    }
}

#[test]
fn each_date_and_time_of_mariadb_is_shown_as_mariadb_shows_it() {
    for capture in ROWS {
        let text = str::from_utf8(capture.3).unwrap_or_default();
        let digits = text
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        let shown = match decoded(capture)[0] {
            Value::Date(value) => value.to_string(),
            Value::DateTime(value) => format!("{value:.digits$}"),
            Value::Time(value) => format!("{value:.digits$}"),
            _ => continue,
        };
        assert_eq!(shown, text);
    }
}

#[test]
fn the_negative_zero_that_mariadb_sends_as_text_only_is_zero() {
    // SELECT TIME'-00:00:00': its text, and no body in binary.
    let capture = (ColumnType::TIME, 0x0081, 63, &b"-00:00:00"[..], &[][..]);
    assert_eq!(decoded(&capture), [Value::Time(Time::ZERO); 2]);
}
