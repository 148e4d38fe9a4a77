use super::Param;
use crate::charset::CollationId;
use crate::column_type::ColumnType;
use crate::value::{Date, DateTime, Decimal, OwnedDecimal, Time, Value};

const DAY: Date = Date {
    year: 2024,
    month: 2,
    day: 29,
};

fn encoded(param: Param<'_>) -> Vec<u8> {
    let mut out = [0xAA; Param::MAX_FIXED_BYTES];
    let written = param.encode_fixed(&mut out);
    out[..written].to_vec()
}

#[test]
fn a_parameter_is_small() {
    assert_eq!(size_of::<Param<'_>>(), 24);
}

#[test]
fn numbers_dates_and_times_are_the_bytes_of_the_packet() {
    let time = Time {
        negative: true,
        hours: 25,
        minutes: 2,
        seconds: 3,
        microseconds: 4,
    };
    for (param, bytes) in [
        (
            Param::from(-2_i8),
            &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF][..],
        ),
        (Param::from(i64::MIN), &[0, 0, 0, 0, 0, 0, 0, 0x80]),
        (Param::from(u64::MAX), &[0xFF; 8]),
        (Param::from(true), &[1, 0, 0, 0, 0, 0, 0, 0]),
        (Param::from(-1.5_f32), &[0x00, 0x00, 0xC0, 0xBF]),
        (Param::from(1.5_f64), &[0, 0, 0, 0, 0, 0, 0xF8, 0x3F]),
        (Param::from(Date::ZERO), &[0]),
        (Param::from(DAY), &[4, 0xE8, 0x07, 2, 29]),
        (Param::from(DateTime::from(DAY)), &[4, 0xE8, 0x07, 2, 29]),
        // One day and one hour.
        (Param::from(time), &[12, 1, 1, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0]),
    ] {
        assert_eq!(encoded(param), bytes, "{param:?}");
        assert_eq!(param.as_bytes(), None);
    }
}

#[test]
fn what_has_a_length_before_it_is_borrowed_as_bytes() {
    let decimal = Decimal::parse_text(b"-1.50").unwrap();
    for (param, bytes) in [
        (Param::from("text"), &b"text"[..]),
        (Param::from(&b"\x00\xFF"[..]), b"\x00\xFF"),
        (Param::from(decimal), b"-1.50"),
        (Param::from(""), b""),
    ] {
        assert_eq!(param.as_bytes(), Some(bytes));
        assert!(encoded(param).is_empty());
    }
    for param in [Param::Null, Param::LongData] {
        assert_eq!(param.as_bytes(), None);
        assert!(encoded(param).is_empty());
    }
}

#[test]
fn each_kind_has_its_type_byte_and_only_one_is_unsigned() {
    for (param, ty) in [
        (Param::Null, ColumnType::NULL),
        (Param::Int(0), ColumnType::LONGLONG),
        (Param::UInt(0), ColumnType::LONGLONG),
        (Param::Float(0.0), ColumnType::FLOAT),
        (Param::Double(0.0), ColumnType::DOUBLE),
        (Param::Bytes(b""), ColumnType::LONG_BLOB),
        (Param::Str(""), ColumnType::VAR_STRING),
        (Param::Date(Date::ZERO), ColumnType::DATE),
        (Param::DateTime(DateTime::ZERO), ColumnType::DATETIME),
        (Param::Time(Time::ZERO), ColumnType::TIME),
        (Param::LongData, ColumnType::LONG_BLOB),
    ] {
        assert_eq!(param.column_type(), ty);
        assert_eq!(param.is_unsigned(), matches!(param, Param::UInt(_)));
        assert_eq!(param.is_null(), matches!(param, Param::Null));
    }
}

#[test]
fn natural_types_become_parameters_by_value_and_by_reference() {
    let owned = String::from("text");
    let bytes = vec![1, 2];
    let decimal: OwnedDecimal = "1.50".parse().unwrap();
    assert_eq!(Param::from(&owned), Param::Str("text"));
    assert_eq!(Param::from(&bytes), Param::Bytes(&[1, 2]));
    assert_eq!(Param::from(b"ab"), Param::Bytes(b"ab"));
    assert_eq!(Param::from(&decimal), Param::Decimal(decimal.as_decimal()));
    assert_eq!(Param::from(&7_u8), Param::UInt(7));
    assert_eq!(Param::from(7_i16), Param::Int(7));
    assert_eq!(Param::from(&DAY), Param::Date(DAY));
    assert_eq!(Param::from(Some("text")), Param::Str("text"));
    assert_eq!(Param::from(Some(&owned)), Param::Str("text"));
    assert_eq!(Param::from(None::<&str>), Param::Null);
    let optional = Some(owned.clone());
    assert_eq!(Param::from(optional.as_ref()), Param::Str("text"));
    assert_eq!(Param::from(optional.as_deref()), Param::Str("text"));
}

#[test]
fn a_value_read_in_a_row_can_be_sent_back() {
    for (value, param) in [
        (Value::Null, Param::Null),
        (Value::Int(-1), Param::Int(-1)),
        (Value::UInt(1), Param::UInt(1)),
        (Value::Float(0.5), Param::Float(0.5)),
        (Value::Double(0.5), Param::Double(0.5)),
        (Value::Bytes(b"ab"), Param::Bytes(b"ab")),
        (Value::Text(b"ab"), Param::Text(b"ab")),
        (
            Value::OtherText {
                bytes: b"ab",
                collation: CollationId::LATIN1_SWEDISH_CI,
            },
            Param::OtherText {
                bytes: b"ab",
                collation: CollationId::LATIN1_SWEDISH_CI,
            },
        ),
        (Value::Date(DAY), Param::Date(DAY)),
        (
            Value::DateTime(DateTime::ZERO),
            Param::DateTime(DateTime::ZERO),
        ),
        (Value::Time(Time::ZERO), Param::Time(Time::ZERO)),
    ] {
        assert_eq!(Param::from(value), param);
    }
}
