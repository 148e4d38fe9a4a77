use super::{FromValue, FromValueError};
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
    assert!(take::<f32>(Value::Double(1.5)).is_err());
    assert!(take::<f32>(Value::Int(1)).is_err());
    assert!(take::<f64>(decimal("0.5")).is_err());
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
    assert!(take::<Date>(Value::DateTime(DAY.into())).is_err());
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
            take::<f64>(decimal("0.1")).map(|_| ()).unwrap_err(),
            "asked for f64, found decimal: ask for Decimal, OwnedDecimal or String",
        ),
        (
            take::<String>(Value::Bytes(b"\xFF")).unwrap_err(),
            "asked for String, found bytes that are not utf-8 at byte 0: ask for &[u8] or Vec<u8>",
        ),
    ] {
        assert_eq!(error.to_string(), line);
    }
}
