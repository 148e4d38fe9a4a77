//! `f32` and `f64`, exactly or, by [`Lossy`], the nearest.

use super::{FromValue, FromValueError};
use crate::value::{Decimal, Value, ValueKind};

/// The nearest number of a type, if the exact one may not fit: `Lossy<f64>` and `Lossy<f32>` accept every number.
///
/// A number too large for the type becomes infinity, as with `as`. A value that is not a number is an error, as without `Lossy`.
///
/// ```
/// use onecopy_mysql_proto::value::{Decimal, FromValue, Lossy, Value};
///
/// let third = Value::Decimal(Decimal::parse_text(b"0.3333333333333333333333")?);
/// assert!(f64::from_value(third).is_err());
/// assert_eq!(Lossy::<f64>::from_value(third), Ok(Lossy(1.0 / 3.0)));
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Lossy<T>(pub T);

/// Up to here, and down to its negative, each integer is an `f64`.
const MAX_EXACT_F64: u64 = 1 << f64::MANTISSA_DIGITS;

/// The same for `f32`.
const MAX_EXACT_F32: u64 = 1 << f32::MANTISSA_DIGITS;

impl<'a> FromValue<'a> for f64 {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_number()
    }

    /// Accepts DOUBLE, FLOAT, integers up to 2^53 and decimals of at most 15 significant digits; for others use [`Lossy`].
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Double(number) => Ok(number),
            Value::Float(number) => Ok(number.into()),
            // No cast rounds here: the guards see to that.
            Value::Int(number) if number.unsigned_abs() <= MAX_EXACT_F64 => Ok(number as f64),
            Value::UInt(number) if number <= MAX_EXACT_F64 => Ok(number as f64),
            other => f64_of(other).ok_or_else(|| FromValueError::no_number("f64", other)),
        }
    }
}

/// A decimal that an `f64` is the same number as.
#[cold]
#[inline(never)]
fn f64_of(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Decimal(decimal) if has_at_most(decimal, f64::DIGITS) => Some(decimal.to_f64()),
        _ => None,
    }
}

impl<'a> FromValue<'a> for f32 {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_number()
    }

    /// Accepts FLOAT, a DOUBLE that is exactly an `f32`, integers up to 2^24 and decimals of at most 6 significant digits; for
    /// others use [`Lossy`]. In the text protocol a FLOAT is the servers' rounded form, see [`float`](crate::value::float).
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Float(number) => Ok(number),
            other => f32_of(other).ok_or_else(|| FromValueError::no_number("f32", other)),
        }
    }
}

#[cold]
#[inline(never)]
fn f32_of(value: Value<'_>) -> Option<f32> {
    // No cast rounds here: the guards see to that.
    match value {
        Value::Double(number) if f64::from(nearest(number)) == number => Some(nearest(number)),
        Value::Int(number) if number.unsigned_abs() <= MAX_EXACT_F32 => Some(number as f32),
        Value::UInt(number) if number <= MAX_EXACT_F32 => Some(number as f32),
        Value::Decimal(decimal) if has_at_most(decimal, f32::DIGITS) => decimal_f32(decimal),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation)] // rounded to the nearest, an infinity where it is too large
fn nearest(number: f64) -> f32 {
    number as f32
}

/// Six digits are kept, but a decimal may be outside of the range in which an `f32` has them.
fn decimal_f32(decimal: Decimal<'_>) -> Option<f32> {
    let number: f32 = decimal.as_str().parse().ok()?;
    (number.is_normal() || decimal.to_f64() == 0.0).then_some(number)
}

/// Whether a decimal of so many significant digits survives the way to a float and back.
fn has_at_most(decimal: Decimal<'_>, digits: u32) -> bool {
    usize::try_from(digits).is_ok_and(|digits| decimal.significant_digits() <= digits)
}

impl<'a> FromValue<'a> for Lossy<f64> {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_number()
    }

    /// Accepts every number.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        Ok(Self(match value {
            Value::Double(number) => number,
            Value::Float(number) => number.into(),
            Value::Int(number) => number as f64,
            Value::UInt(number) => number as f64,
            Value::Decimal(number) => number.to_f64(),
            other => return Err(FromValueError::wrong_kind("Lossy<f64>", other)),
        }))
    }
}

impl<'a> FromValue<'a> for Lossy<f32> {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_number()
    }

    /// Accepts every number.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        Ok(Self(match value {
            Value::Double(number) => nearest(number),
            Value::Float(number) => number,
            Value::Int(number) => number as f32,
            Value::UInt(number) => number as f32,
            // Not by way of `f64`: two roundings may differ from one.
            Value::Decimal(number) => number.as_str().parse().unwrap_or(f32::NAN),
            other => return Err(FromValueError::wrong_kind("Lossy<f32>", other)),
        }))
    }
}
