//! Text, bytes, and what has a text without loss.

use std::fmt::Write;
use std::str;

use super::{FromValue, FromValueError};
use crate::charset::CollationId;
use crate::owned;
use crate::value::{Value, ValueKind};

#[inline]
fn text<'a>(wanted: &'static str, value: Value<'a>) -> Result<&'a str, FromValueError> {
    let bytes = match value {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes,
        Value::OtherText { bytes, collation } if is_ascii(collation, bytes) => bytes,
        Value::OtherText { collation, .. } => {
            return Err(FromValueError::character_set(wanted, collation));
        }
        Value::Decimal(decimal) => return Ok(decimal.as_str()),
        other => return Err(FromValueError::wrong_kind(wanted, other)),
    };
    str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        FromValueError::NotUtf8 { wanted, offset }
    })
}

/// Text in another character set may look like UTF-8, as `Ã©` in latin1 does: only what is ASCII is sure.
#[cold]
fn is_ascii(collation: CollationId, text: &[u8]) -> bool {
    collation.extends_ascii() && text.is_ascii()
}

#[inline]
fn bytes<'a>(wanted: &'static str, value: Value<'a>) -> Result<&'a [u8], FromValueError> {
    match value {
        Value::Bytes(bytes) | Value::Text(bytes) | Value::OtherText { bytes, .. } => Ok(bytes),
        other => Err(FromValueError::wrong_kind(wanted, other)),
    }
}

impl<'a> FromValue<'a> for &'a str {
    fn accepts(kind: ValueKind) -> bool {
        matches!(
            kind,
            ValueKind::Text | ValueKind::Bytes | ValueKind::Decimal
        )
    }

    /// Borrows text, checked to be UTF-8, or the digits of a decimal.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        text("&str", value)
    }
}

impl<'a> FromValue<'a> for String {
    const COPIES: bool = true;

    /// Everything but NULL has a text.
    fn accepts(kind: ValueKind) -> bool {
        kind != ValueKind::Null
    }

    /// Copies text, checked to be UTF-8, or the digits of a decimal. Numbers, dates and times are converted to text.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match text("String", value) {
            Ok(text) => owned::text(text).map_err(FromValueError::of_copy),
            Err(_) => written(value),
        }
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    fn accepts(kind: ValueKind) -> bool {
        matches!(kind, ValueKind::Text | ValueKind::Bytes)
    }

    /// Borrows bytes or text, as received.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        bytes("&[u8]", value)
    }
}

impl<'a> FromValue<'a> for Vec<u8> {
    const COPIES: bool = true;

    fn accepts(kind: ValueKind) -> bool {
        matches!(kind, ValueKind::Text | ValueKind::Bytes)
    }

    /// Copies bytes or text, as received.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        owned::bytes(bytes("Vec<u8>", value)?).map_err(FromValueError::of_copy)
    }
}

/// The longest text of a number, date or time: `-2.2250738585072014e-308` has 24 bytes.
const LONGEST: usize = 32;

/// A number, date or time as text; for what is none, why it is no text.
#[cold]
#[inline(never)]
fn written(value: Value<'_>) -> Result<String, FromValueError> {
    let mut written = String::new();
    written
        .try_reserve_exact(LONGEST)
        .map_err(|_| FromValueError::OutOfMemory {
            bytes: LONGEST as u64,
        })?;
    // Writing to a string can't fail.
    let _ = match value {
        Value::Int(number) => write!(written, "{number}"),
        Value::UInt(number) => write!(written, "{number}"),
        Value::Float(number) if is_plain(number.into()) => write!(written, "{number}"),
        Value::Float(number) => write!(written, "{number:e}"),
        Value::Double(number) if is_plain(number) => write!(written, "{number}"),
        Value::Double(number) => write!(written, "{number:e}"),
        Value::Date(date) => write!(written, "{date}"),
        Value::DateTime(moment) => write!(written, "{moment}"),
        Value::Time(time) => write!(written, "{time}"),
        other => return text("String", other).map(str::to_owned),
    };
    Ok(written)
}

/// Whether a float is written without an exponent, in about the range in which servers do.
fn is_plain(number: f64) -> bool {
    number == 0.0 || (1e-5..1e15).contains(&number.abs())
}
