//! From a [`Value`] to a Rust type, without loss or not at all.

use std::fmt;
use std::str;

use onecopy_wire::WireError;

use super::{Date, DateTime, Decimal, OwnedDecimal, Time, Value, ValueError, ValueKind};
use crate::charset::CollationId;
use crate::owned;

/// A Rust type that a [`Value`] can become.
///
/// Nothing is rounded, cut or guessed: what does not fit is an error, and so is NULL for a type that is no `Option`.
/// Lent types live as long as the row.
///
/// ```
/// use onecopy_mysql_proto::value::{FromValue, Value};
///
/// assert_eq!(u8::from_value(Value::Int(200)), Ok(200));
/// assert_eq!(<&str>::from_value(Value::from("abc")), Ok("abc"));
/// assert_eq!(Option::<u8>::from_value(Value::Null), Ok(None));
/// let error = u8::from_value(Value::Int(-1)).unwrap_err();
/// assert_eq!(error.to_string(), "the int does not fit u8 without loss: ask for i64 or i128");
/// ```
pub trait FromValue<'a>: Sized {
    /// Whether the value's bytes are copied into memory of the type's own; rows count those copies.
    const COPIES: bool = false;

    /// Makes the type from the value.
    ///
    /// # Errors
    /// The value is of another kind, does not fit without loss, or is NULL.
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError>;
}

/// A value can't be the Rust type that was asked for: which type, what was there, and what to do.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromValueError {
    /// The value is NULL, and the type is no `Option`.
    Null {
        /// The type asked for.
        wanted: &'static str,
    },
    /// The type never holds values of this kind.
    WrongKind {
        /// The type asked for.
        wanted: &'static str,
        /// What was there.
        found: ValueKind,
    },
    /// The type holds values of this kind, but not this one.
    DoesNotFit {
        /// The type asked for.
        wanted: &'static str,
        /// What was there.
        found: ValueKind,
    },
    /// The bytes are no UTF-8.
    NotUtf8 {
        /// The type asked for.
        wanted: &'static str,
        /// Bytes before the first that is wrong.
        offset: usize,
    },
    /// The text is in a character set other than UTF-8, and has characters beyond ASCII.
    CharacterSet {
        /// The type asked for.
        wanted: &'static str,
        /// Tells the text's character set.
        collation: CollationId,
    },
    /// The bytes are no value of the column's type: the server's mistake.
    Malformed(ValueError),
    /// Memory for a copy of the value could not be had; the value is still there, to be lent.
    OutOfMemory {
        /// Size of the allocation that failed.
        bytes: u64,
    },
}

impl FromValueError {
    #[cold]
    fn of_copy(error: WireError) -> Self {
        match error {
            WireError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            // A copy has no other limit than the allocator's.
            _ => Self::OutOfMemory { bytes: u64::MAX },
        }
    }

    #[cold]
    fn wrong_kind(wanted: &'static str, value: Value<'_>) -> Self {
        match value.kind() {
            ValueKind::Null => Self::Null { wanted },
            found => Self::WrongKind { wanted, found },
        }
    }

    #[cold]
    fn character_set(wanted: &'static str, collation: CollationId) -> Self {
        Self::CharacterSet { wanted, collation }
    }

    #[cold]
    fn does_not_fit(wanted: &'static str, found: ValueKind) -> Self {
        Self::DoesNotFit { wanted, found }
    }
}

impl fmt::Display for FromValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null { wanted } => write!(
                f,
                "asked for {wanted}, found null: ask for Option<{wanted}>"
            ),
            Self::WrongKind { wanted, found } => {
                write!(
                    f,
                    "asked for {wanted}, found {found}: ask for {}",
                    found.natural_types()
                )
            }
            Self::DoesNotFit { wanted, found } => {
                write!(
                    f,
                    "the {found} does not fit {wanted} without loss: ask for {}",
                    found.natural_types()
                )
            }
            Self::Malformed(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => WireError::OutOfMemory { bytes: *bytes }.fmt(f),
            Self::NotUtf8 { wanted, offset } => {
                write!(
                    f,
                    "asked for {wanted}, found bytes that are not utf-8 at byte {offset}: ask for &[u8] or Vec<u8>"
                )
            }
            Self::CharacterSet { wanted, collation } => {
                write!(
                    f,
                    "asked for {wanted}, found text in {collation}: run SET NAMES utf8mb4 before the query, or ask for \
                     &[u8] or Vec<u8>"
                )
            }
        }
    }
}

impl std::error::Error for FromValueError {}

/// Integers come from integers, and from decimals that are whole, as SUM() of integers is one.
macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl<'a> FromValue<'a> for $ty {
            #[inline]
            fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
                let fitting = match value {
                    Value::Int(number) => Self::try_from(number).ok(),
                    Value::UInt(number) => Self::try_from(number).ok(),
                    Value::Decimal(number) => number.to_i128().and_then(|number| Self::try_from(number).ok()),
                    other => return Err(FromValueError::wrong_kind(stringify!($ty), other)),
                };
                fitting.ok_or_else(|| FromValueError::does_not_fit(stringify!($ty), value.kind()))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize);

impl<'a> FromValue<'a> for bool {
    /// 0 and 1 only: a TINYINT(1) may hold other numbers, and they are no truth values to guess at.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Int(0) | Value::UInt(0) => Ok(false),
            Value::Int(1) | Value::UInt(1) => Ok(true),
            Value::Int(_) | Value::UInt(_) => {
                Err(FromValueError::does_not_fit("bool", value.kind()))
            }
            other => Err(FromValueError::wrong_kind("bool", other)),
        }
    }
}

impl<'a> FromValue<'a> for f32 {
    /// From FLOAT only. By the text protocol that is the servers' rounded form, see [`float`](super::float).
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Float(number) => Ok(number),
            other => Err(FromValueError::wrong_kind("f32", other)),
        }
    }
}

/// Up to here, and down to its negative, each integer is an `f64`.
const MAX_EXACT_F64: u64 = 1 << f64::MANTISSA_DIGITS;

impl<'a> FromValue<'a> for f64 {
    /// From DOUBLE, FLOAT, and integers up to 2^53; not from decimals, for which see [`Decimal::to_f64`].
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Double(number) => Ok(number),
            Value::Float(number) => Ok(number.into()),
            // No cast rounds here: the guards see to that.
            Value::Int(number) if number.unsigned_abs() <= MAX_EXACT_F64 => Ok(number as f64),
            Value::UInt(number) if number <= MAX_EXACT_F64 => Ok(number as f64),
            Value::Int(_) | Value::UInt(_) => {
                Err(FromValueError::does_not_fit("f64", value.kind()))
            }
            other => Err(FromValueError::wrong_kind("f64", other)),
        }
    }
}

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
    /// Borrowed text, checked to be UTF-8, or a decimal's digits.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        text("&str", value)
    }
}

impl<'a> FromValue<'a> for String {
    const COPIES: bool = true;

    /// A copy of the text, checked to be UTF-8, or of a decimal's digits.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        owned::text(text("String", value)?).map_err(FromValueError::of_copy)
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    /// Borrowed bytes or text, as it came.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        bytes("&[u8]", value)
    }
}

impl<'a> FromValue<'a> for Vec<u8> {
    const COPIES: bool = true;

    /// A copy of the bytes or the text, as it came.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        owned::bytes(bytes("Vec<u8>", value)?).map_err(FromValueError::of_copy)
    }
}

/// Types that hold values of exactly one kind.
macro_rules! same_kind {
    ($($ty:ty, $wanted:literal: $variant:ident;)*) => {$(
        impl<'a> FromValue<'a> for $ty {
            #[inline]
            fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
                match value {
                    Value::$variant(inner) => Ok(inner.into()),
                    other => Err(FromValueError::wrong_kind($wanted, other)),
                }
            }
        }
    )*};
}

same_kind! {
    Date, "Date": Date;
    Time, "Time": Time;
    Decimal<'a>, "Decimal": Decimal;
    OwnedDecimal, "OwnedDecimal": Decimal;
}

impl<'a> FromValue<'a> for DateTime {
    /// From DATETIME and TIMESTAMP, and from a DATE, at midnight.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::DateTime(value) => Ok(value),
            Value::Date(date) => Ok(date.into()),
            other => Err(FromValueError::wrong_kind("DateTime", other)),
        }
    }
}

impl<'a> FromValue<'a> for Value<'a> {
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        Ok(value)
    }
}

impl<'a, T: FromValue<'a>> FromValue<'a> for Option<T> {
    const COPIES: bool = T::COPIES;

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

#[cfg(test)]
mod tests;
