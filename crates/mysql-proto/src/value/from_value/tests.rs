use std::time::Duration;

use super::{FromValue, FromValueError, Lossy};
use crate::charset::CollationId;
use crate::value::{Date, DateTime, Decimal, OwnedDecimal, Time, Value, ValueKind};

fn decimal(text: &str) -> Value<'_> {
    Value::Decimal(Decimal::parse_text(text.as_bytes()).unwrap())
}

fn take<'a, T: FromValue<'a>>(value: Value<'a>) -> Result<T, FromValueError> {
    T::from_value(value)
}

const DAY: Date = Date {
    year: 2024,
    month: 2,
    day: 29,
};

#[test]
fn the_error_is_small() {
    assert_eq!(size_of::<FromValueError>(), 32);
}

#[test]
fn integers_take_what_fits_and_nothing_else() {
    macro_rules! check {
        ($($ty:ident)*) => {$(
            let (min, max) = (i128::from($ty::MIN), i128::from($ty::MAX));
            for (number, fits) in [(min, true), (max, true), (min - 1, false), (max + 1, false)] {
                let expected = $ty::try_from(number).ok();
                assert_eq!(expected.is_some(), fits);
                if let Ok(number) = i64::try_from(number) {
                    assert_eq!(take::<$ty>(Value::Int(number)).ok(), expected);
                }
                if let Ok(number) = u64::try_from(number) {
                    assert_eq!(take::<$ty>(Value::UInt(number)).ok(), expected);
                }
                assert_eq!(take::<$ty>(decimal(&number.to_string())).ok(), expected);
            }
            let wanted = stringify!($ty);
            let found = ValueKind::Decimal;
            assert_eq!(take::<$ty>(decimal("1.5")), Err(FromValueError::DoesNotFit { wanted, found }));
            assert_eq!(take::<$ty>(decimal("1.00")), Ok(1));
            assert_eq!(take::<$ty>(Value::Null), Err(FromValueError::Null { wanted }));
            for other in [Value::from("1"), Value::Bytes(b"1"), Value::Float(1.0), Value::Double(1.0), Value::Date(DAY)] {
                let found = other.kind();
                assert_eq!(take::<$ty>(other), Err(FromValueError::WrongKind { wanted, found }));
            }
        )*};
    }
    check!(i8 i16 i32 i64 u8 u16 u32 u64);
    assert_eq!(
        take::<i128>(Value::UInt(u64::MAX)),
        Ok(i128::from(u64::MAX))
    );
    assert_eq!(take::<i128>(decimal(&i128::MIN.to_string())), Ok(i128::MIN));
}

#[test]
fn only_zero_and_one_are_truth_values() {
    assert_eq!(take(Value::Int(0)), Ok(false));
    assert_eq!(take(Value::Int(1)), Ok(true));
    // BIT(1).
    assert_eq!(take(Value::UInt(1)), Ok(true));
    for value in [Value::Int(2), Value::Int(-1), Value::UInt(2)] {
        assert!(matches!(
            take::<bool>(value),
            Err(FromValueError::DoesNotFit { wanted: "bool", .. })
        ));
    }
    assert!(take::<bool>(Value::Bytes(b"1")).is_err());
}

#[test]
fn floats_never_round() {
    assert_eq!(take(Value::Float(1.5)), Ok(1.5_f32));
    assert_eq!(take(Value::Float(0.1)), Ok(f64::from(0.1_f32)));
    assert_eq!(take(Value::Double(0.1)), Ok(0.1_f64));
    assert_eq!(take(Value::Double(1.5)), Ok(1.5_f32));
    assert_eq!(take(Value::UInt(1 << 24)), Ok(16_777_216.0_f32));
    for value in [
        Value::Double(0.1),
        Value::Double(1e300),
        Value::Int(-(1 << 24) - 1),
        decimal("1.234567"),
    ] {
        assert!(matches!(
            take::<f32>(value),
            Err(FromValueError::DoesNotFit { wanted: "f32", .. })
        ));
    }
    let limit = 1_i64 << 53;
    assert_eq!(take(Value::Int(-limit)), Ok(-9_007_199_254_740_992.0_f64));
    assert_eq!(
        take(Value::UInt(limit.unsigned_abs())),
        Ok(9_007_199_254_740_992.0_f64)
    );
    for value in [
        Value::Int(limit + 1),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
    ] {
        assert!(matches!(
            take::<f64>(value),
            Err(FromValueError::DoesNotFit { wanted: "f64", .. })
        ));
    }
}

#[test]
fn text_is_checked_only_when_asked_for_as_text() {
    assert_eq!(take(Value::from("grün")), Ok("grün"));
    assert_eq!(take(Value::Bytes("grün".as_bytes())), Ok("grün"));
    assert_eq!(take(Value::from("")), Ok(String::new()));
    // Latin 1.
    let latin1 = Value::Text(b"gr\xFCn");
    assert_eq!(
        take::<&str>(latin1),
        Err(FromValueError::NotUtf8 {
            wanted: "&str",
            offset: 2
        })
    );
    assert_eq!(
        take::<String>(latin1),
        Err(FromValueError::NotUtf8 {
            wanted: "String",
            offset: 2
        })
    );
    assert_eq!(take::<&[u8]>(latin1), Ok(&b"gr\xFCn"[..]));
    assert_eq!(take(latin1), Ok(b"gr\xFCn".to_vec()));
    assert_eq!(take(decimal("01.50")), Ok("01.50"));
    assert!(take::<&str>(Value::Int(1)).is_err());
    assert!(take::<&[u8]>(decimal("1")).is_err());
}

#[test]
fn dates_times_and_decimals_are_taken_as_themselves() {
    assert_eq!(take(Value::Date(DAY)), Ok(DAY));
    assert_eq!(take(Value::Date(DAY)), Ok(DateTime::from(DAY)));
    assert_eq!(take(Value::DateTime(DateTime::ZERO)), Ok(DateTime::ZERO));
    assert_eq!(take(Value::DateTime(DAY.into())), Ok(DAY));
    let moment = DateTime {
        microsecond: 1,
        ..DAY.into()
    };
    assert!(matches!(
        take::<Date>(Value::DateTime(moment)),
        Err(FromValueError::DoesNotFit { wanted: "Date", .. })
    ));
    assert_eq!(take(Value::Time(Time::ZERO)), Ok(Time::ZERO));
    assert_eq!(
        take::<OwnedDecimal>(decimal("1.50")).unwrap().as_str(),
        "1.50"
    );
    assert_eq!(
        take::<Decimal<'_>>(decimal("1.50")).unwrap().as_str(),
        "1.50"
    );
}

#[test]
fn a_decimal_is_a_float_where_its_digits_survive_the_way_back() {
    for (text, number) in [
        ("2.5000", 2.5_f64),
        ("-0.1", -0.1),
        ("123456789.012345", 123_456_789.012_345),
        (
            "0.000000000000000000000123456789012345",
            1.234_567_890_123_45e-22,
        ),
        ("100000000000000000000000000000", 1e29),
        ("0.00", 0.0),
    ] {
        assert_eq!(take(decimal(text)), Ok(number), "{text}");
        assert_eq!(take(decimal(text)), Ok(Lossy(number)), "{text}");
    }
    for text in [
        "0.1234567890123456",
        "1234567890123456",
        "-1.000000000000001",
    ] {
        let found = ValueKind::Decimal;
        let wanted = "f64";
        assert_eq!(
            take::<f64>(decimal(text)),
            Err(FromValueError::DoesNotFit { wanted, found }),
            "{text}"
        );
    }
    assert_eq!(take(decimal("2.34567")), Ok(2.345_67_f32));
    // Too small for six digits of an f32.
    assert!(take::<f32>(decimal("0.0000000000000000000000000000000000000000123456")).is_err());
}

/// 15 significant digits are what every f64 keeps, 6 what every f32 does.
#[test]
fn digits_that_count_are_kept_by_the_way_to_a_float_and_back() {
    for exponent in 0..=60_usize {
        for digits in ["123456789012345", "999999999999999", "100000000000001"] {
            let text = match exponent {
                0..=15 => format!("{}.{}0", &digits[..exponent], &digits[exponent..]),
                _ => format!("{digits}{}", "0".repeat(exponent - 15)),
            };
            let text = text.trim_start_matches('.');
            let text = if exponent == 0 {
                format!("0.{text}")
            } else {
                text.to_owned()
            };
            let number: f64 = take(decimal(&text)).unwrap();
            assert_eq!(
                format!("{number:.14e}").replace('.', "").split('e').next(),
                Some(digits),
                "{text}"
            );
        }
    }
}

#[test]
fn lossy_takes_the_nearest_of_every_number() {
    let third = decimal("0.3333333333333333333333333");
    assert_eq!(take(third), Ok(Lossy(1.0_f64 / 3.0)));
    assert_eq!(take(third), Ok(Lossy(1.0_f32 / 3.0)));
    assert_eq!(
        take(Value::Int(i64::MAX)),
        Ok(Lossy(9_223_372_036_854_775_808.0_f64))
    );
    assert_eq!(
        take(Value::UInt(u64::MAX)),
        Ok(Lossy(18_446_744_073_709_551_616.0_f32))
    );
    assert_eq!(take(Value::Double(1e300)), Ok(Lossy(f32::INFINITY)));
    assert_eq!(take(Value::Float(0.1)), Ok(Lossy(f64::from(0.1_f32))));
    let wanted = "Lossy<f64>";
    assert_eq!(
        take::<Lossy<f64>>(Value::Null),
        Err(FromValueError::Null { wanted })
    );
    assert!(take::<Lossy<f32>>(Value::from("1.5")).is_err());
    assert_eq!(take(Value::Null), Ok(None::<Lossy<f64>>));
}

#[test]
fn numbers_dates_and_times_are_strings_that_lose_nothing() {
    let moment = DateTime {
        hour: 7,
        microsecond: 250_000,
        ..DAY.into()
    };
    let time = Time {
        negative: true,
        hours: 838,
        ..Time::ZERO
    };
    for (value, text) in [
        (Value::DateTime(moment), "2024-02-29 07:00:00.250000"),
        (Value::DateTime(DAY.into()), "2024-02-29 00:00:00"),
        (Value::Date(DAY), "2024-02-29"),
        (Value::Time(time), "-838:00:00"),
        (Value::Int(i64::MIN), "-9223372036854775808"),
        (Value::UInt(u64::MAX), "18446744073709551615"),
        (Value::Float(0.1), "0.1"),
        (Value::Double(-1e300), "-1e300"),
        (Value::Double(f64::MIN_POSITIVE), "2.2250738585072014e-308"),
        (Value::Double(123_456.75), "123456.75"),
    ] {
        assert_eq!(take::<String>(value).as_deref(), Ok(text));
        assert!(take::<&str>(value).is_err(), "nothing to borrow");
    }
}

#[test]
fn a_time_that_is_not_negative_is_a_duration() {
    let time = Time {
        hours: 838,
        minutes: 59,
        seconds: 59,
        microseconds: 999_999,
        ..Time::ZERO
    };
    assert_eq!(
        take(Value::Time(time)),
        Ok(Duration::new(3_020_399, 999_999_000))
    );
    assert_eq!(take(Value::Time(Time::ZERO)), Ok(Duration::ZERO));
    let negative = Time {
        negative: true,
        seconds: 1,
        ..Time::ZERO
    };
    assert!(matches!(
        take::<Duration>(Value::Time(negative)),
        Err(FromValueError::DoesNotFit {
            wanted: "Duration",
            ..
        })
    ));
    assert!(take::<Duration>(Value::Int(1)).is_err());
}

#[test]
fn null_is_for_options_and_values_only() {
    assert_eq!(take(Value::Null), Ok(None::<String>));
    assert_eq!(take(Value::Int(7)), Ok(Some(7_u8)));
    assert_eq!(take(Value::Null), Ok(Value::Null));
    assert_eq!(
        take::<&str>(Value::Null),
        Err(FromValueError::Null { wanted: "&str" })
    );
    assert!(take::<Option<u8>>(Value::Int(-1)).is_err());
}

fn latin1(bytes: &[u8]) -> Value<'_> {
    let collation = CollationId::LATIN1_SWEDISH_CI;
    Value::OtherText { bytes, collation }
}

#[test]
fn text_in_another_character_set_is_never_taken_for_utf_8() {
    // `Ã©` in latin1 is `é` in UTF-8.
    assert!(matches!(
        take::<&str>(latin1(b"\xC3\xA9")),
        Err(FromValueError::CharacterSet { wanted: "&str", .. })
    ));
    assert_eq!(take(latin1(b"plain")), Ok("plain"));
    assert_eq!(take(latin1(b"\xC3\xA9")), Ok(&b"\xC3\xA9"[..]));
    assert_eq!(take(latin1(b"\xC3\xA9")), Ok(b"\xC3\xA9".to_vec()));
    // ASCII's bytes, but not its characters.
    let ucs2 = Value::OtherText {
        bytes: b"\0a",
        collation: CollationId(35),
    };
    assert!(take::<String>(ucs2).is_err());
    assert_eq!(ucs2.kind(), ValueKind::Text);
}

#[test]
fn each_error_says_what_to_do() {
    for (error, line) in [
        (
            take::<u8>(Value::Null).unwrap_err(),
            "asked for u8, found null: ask for Option<u8>",
        ),
        (
            take::<u8>(Value::from("1")).unwrap_err(),
            "asked for u8, found text: ask for &str, String, &[u8] or Vec<u8>",
        ),
        (
            take::<u8>(Value::Bytes(b"1")).unwrap_err(),
            "asked for u8, found bytes: ask for &[u8] or Vec<u8>",
        ),
        (
            take::<&str>(latin1(b"gr\xFCn")).unwrap_err(),
            "asked for &str, found text in latin1 (8): run SET NAMES utf8mb4 before the query, or ask for &[u8] or Vec<u8>",
        ),
        (
            take::<u8>(Value::UInt(256)).unwrap_err(),
            "the unsigned int does not fit u8 without loss: ask for u64 or i128",
        ),
        (
            take::<f64>(decimal("0.1234567890123456")).unwrap_err(),
            "the decimal does not fit f64 without loss: ask for Decimal, OwnedDecimal or String, or for Lossy<f64>, the \
             nearest one",
        ),
        (
            take::<String>(Value::Bytes(b"\xFF")).unwrap_err(),
            "asked for String, found bytes that are not utf-8 at byte 0: ask for &[u8] or Vec<u8>",
        ),
    ] {
        assert_eq!(error.to_string(), line);
    }
}
