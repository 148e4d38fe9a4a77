//! Every conversion of a value, and what they owe to each other.

use onecopy_mysql_proto::ColumnType;
use onecopy_mysql_proto::value::{
    Date, DateTime, Decimal, FromValue, OwnedDecimal, Param, Time, Value, ValueKind,
};

use crate::packets::check_line;

/// Converts to every type. What two types both hold they hold alike, and what has a text is read back from it.
pub fn check(value: Value<'_>) {
    let signed = [
        convert::<i8>(value).map(i128::from),
        convert::<i16>(value).map(i128::from),
        convert::<i32>(value).map(i128::from),
        convert::<i64>(value).map(i128::from),
        convert::<u8>(value).map(i128::from),
        convert::<u16>(value).map(i128::from),
        convert::<u32>(value).map(i128::from),
        convert::<u64>(value).map(i128::from),
        convert::<bool>(value).map(i128::from),
    ];
    let whole = convert::<i128>(value);
    for number in signed.into_iter().flatten() {
        assert_eq!(Some(number), whole, "{value:?}");
    }
    if let (Some(narrow), Some(wide)) = (convert::<f32>(value), convert::<f64>(value)) {
        // A decimal fraction is neither: each is the nearest of its type.
        if value.kind() != ValueKind::Decimal {
            assert_eq!(f64::from(narrow).to_bits(), wide.to_bits(), "{value:?}");
        }
    }
    check_text(value);
    assert_eq!(
        convert::<&[u8]>(value).map(<[u8]>::to_vec),
        convert::<Vec<u8>>(value)
    );
    if let Some(date) = convert::<Date>(value) {
        assert_eq!(Date::parse_text(date.to_string().as_bytes()), Ok(date));
    }
    if let Some(moment) = convert::<DateTime>(value) {
        let text = moment.to_string();
        assert_eq!(DateTime::parse_text(text.as_bytes()), Ok(moment));
    }
    if let Some(time) = convert::<Time>(value) {
        assert_eq!(Time::parse_text(time.to_string().as_bytes()), Ok(time));
    }
    if let Some(decimal) = convert::<Decimal<'_>>(value) {
        check_decimal(decimal, convert::<OwnedDecimal>(value));
    }
    match convert::<Option<Value<'_>>>(value) {
        Some(None) => assert!(value.is_null()),
        Some(Some(same)) => assert!(is_same(same, value), "{value:?}"),
        None => panic!("{value:?} is no value"),
    }
    check_param(value);
}

/// Borrowed text is the owned one; what has no text of its own is read back from the text that is written for it.
fn check_text(value: Value<'_>) {
    let owned = convert::<String>(value);
    if let Some(text) = convert::<&str>(value) {
        assert_eq!(owned.as_deref(), Some(text));
        return;
    }
    let text = owned.as_deref().unwrap_or_default();
    match value {
        Value::Int(number) => assert_eq!(text.parse(), Ok(number)),
        Value::UInt(number) => assert_eq!(text.parse(), Ok(number)),
        Value::Float(number) if !number.is_nan() => assert_eq!(text.parse(), Ok(number)),
        Value::Double(number) if !number.is_nan() => assert_eq!(text.parse(), Ok(number)),
        Value::Date(date) => assert_eq!(Date::parse_text(text.as_bytes()), Ok(date)),
        Value::DateTime(moment) => {
            assert_eq!(DateTime::parse_text(text.as_bytes()), Ok(moment));
        }
        Value::Time(time) => assert_eq!(Time::parse_text(text.as_bytes()), Ok(time)),
        Value::Float(_) | Value::Double(_) => {}
        _ => assert_eq!(owned, None, "{value:?}"),
    }
}

/// Whether two values are one; numbers that are none are so too.
pub fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        (Value::Double(one), Value::Double(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

fn convert<'v, T: FromValue<'v>>(value: Value<'v>) -> Option<T> {
    match T::from_value(value) {
        Ok(converted) => Some(converted),
        Err(error) => {
            check_line(&error);
            None
        }
    }
}

fn check_decimal(decimal: Decimal<'_>, owned: Option<OwnedDecimal>) {
    let owned = owned.expect("a decimal can be owned");
    assert_eq!(owned.as_decimal(), decimal);
    let text = decimal.to_string();
    assert_eq!(Decimal::parse_text(text.as_bytes()), Ok(decimal));
    assert!(!decimal.to_f64().is_nan());
    if let Some(whole) = decimal.to_i128() {
        assert!(whole >= 0 || decimal.is_negative());
    }
}

/// A value is sent back to a server as the parameter of the same bytes.
fn check_param(value: Value<'_>) {
    let param = Param::from(value);
    if let Some(bytes) = param.as_bytes() {
        match value {
            Value::Bytes(same) | Value::Text(same) | Value::OtherText { bytes: same, .. } => {
                assert_eq!(same, bytes);
                let is_text = param.column_type() == ColumnType::VAR_STRING;
                assert_eq!(is_text, value.kind() == ValueKind::Text);
            }
            Value::Decimal(decimal) => assert_eq!(decimal.as_str().as_bytes(), bytes),
            _ => panic!("{value:?} became bytes"),
        }
        return;
    }
    let mut out = [0; Param::MAX_FIXED_BYTES];
    let len = param.encode_fixed(&mut out);
    let fixed = &out[..len];
    // Dates and times have their length in front; numbers have none.
    let body = match param {
        Param::Date(_) | Param::DateTime(_) | Param::Time(_) => &fixed[1..],
        _ => fixed,
    };
    if param.is_null() {
        assert!(value.is_null() && body.is_empty());
        return;
    }
    let flags = if param.is_unsigned() {
        onecopy_mysql_proto::ColumnFlags::UNSIGNED
    } else {
        onecopy_mysql_proto::ColumnFlags::empty()
    };
    let collation = onecopy_mysql_proto::CollationId(63);
    let again = Value::decode_binary(param.column_type(), flags, collation, body);
    let is_same = again.is_ok_and(|again| is_same(again, value));
    assert!(is_same, "{value:?} became {again:?}");
}

/// Every type's number once, for inputs that choose one.
pub const TYPES: [ColumnType; 24] = [
    ColumnType::DECIMAL,
    ColumnType::TINY,
    ColumnType::SHORT,
    ColumnType::LONG,
    ColumnType::FLOAT,
    ColumnType::DOUBLE,
    ColumnType::NULL,
    ColumnType::TIMESTAMP,
    ColumnType::LONGLONG,
    ColumnType::INT24,
    ColumnType::DATE,
    ColumnType::TIME,
    ColumnType::DATETIME,
    ColumnType::YEAR,
    ColumnType::NEWDATE,
    ColumnType::VAR_STRING,
    ColumnType::BIT,
    ColumnType::JSON,
    ColumnType::NEWDECIMAL,
    ColumnType::ENUM,
    ColumnType::LONG_BLOB,
    ColumnType::STRING,
    ColumnType::GEOMETRY,
    ColumnType(0xF2),
];
