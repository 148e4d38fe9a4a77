//! From a [`Value`] to a Rust type, without loss or not at all.

mod error;
mod float;
mod text;

use std::time::Duration;

pub use error::FromValueError;
pub use float::Lossy;

use super::{Date, DateTime, Decimal, OwnedDecimal, Time, Value, ValueKind};

/// A Rust type that a [`Value`] can be converted to.
///
/// Nothing is rounded, truncated or guessed: a value that does not fit is an error, and so is NULL for a type other than
/// `Option`. Borrowed types live as long as the row.
///
/// | Rust type | accepts | if |
/// |-----------|-------|----|
/// | `i8` to `i128`, `u8` to `u64`, `isize`, `usize` | integers, YEAR, BIT | in the type's range |
/// | | DECIMAL | whole, and in the type's range; not FLOAT and DOUBLE, which become `f64` |
/// | `bool` | integers, BIT | 0 or 1 |
/// | `f64` | DOUBLE, FLOAT | |
/// | | integers, YEAR, BIT | at most 2^53, negative or not |
/// | | DECIMAL, as `AVG()` gives | at most 15 significant digits, which survive a round trip |
/// | `f32` | FLOAT | |
/// | | DOUBLE | it is exactly an `f32` |
/// | | integers, YEAR, BIT | at most 2^24, negative or not |
/// | | DECIMAL | at most 6 significant digits, in the normal range of `f32` |
/// | [`Lossy<f64>`](Lossy), `Lossy<f32>` | every number: the nearest one | |
/// | `&str` | text, bytes | UTF-8; text in another character set if it is ASCII |
/// | | DECIMAL: its digits as received | |
/// | `String` | the same; and as text, integers, FLOAT, DOUBLE, DATE, DATETIME, TIMESTAMP, TIME | |
/// | `&[u8]`, `Vec<u8>` | text, bytes | |
/// | [`Decimal`], [`OwnedDecimal`] | DECIMAL | |
/// | [`Date`] | DATE | |
/// | | DATETIME, TIMESTAMP | at midnight |
/// | [`DateTime`] | DATETIME, TIMESTAMP; DATE, as midnight | |
/// | [`Time`] | TIME | |
/// | [`Duration`](std::time::Duration) | TIME | not negative |
/// | `Option<T>` | NULL, and what `T` accepts | |
/// | [`Value`] | everything, unchanged | |
///
/// The text of dates and times has a fraction of six digits if the fraction is not zero, whatever the column has. ENUM, SET, JSON
/// and UUID are text.
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
#[diagnostic::on_unimplemented(
    message = "a column's value does not convert to `{Self}`",
    note = "`FromValue` lists the types; a newtype or an enum can derive it: #[derive(onecopy_mysql::FromValue)]",
    note = "to convert in a derived `FromRow`, use #[onecopy(try_from = \"T\")], #[onecopy(json)] or #[onecopy(flatten)]"
)]
pub trait FromValue<'a>: Sized {
    /// Whether the conversion copies the value's bytes into memory of its own; rows count these copies.
    const COPIES: bool = false;

    /// Returns whether any value of a column of this kind can be converted. Mapped rows ask once per result, so that a column of
    /// the wrong type is an error even if its values are NULL or no row comes. NULL itself is not asked about.
    ///
    /// The default is that every kind may be: then each value decides.
    #[must_use]
    fn accepts(kind: ValueKind) -> bool {
        let _ = kind;
        true
    }

    /// Converts the value.
    ///
    /// # Errors
    /// Fails if the value is of another kind, does not fit without loss, or is NULL.
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError>;
}

/// Integers come from integers, and from decimals that are whole, as SUM() of integers is one. Floats are
/// rejected even if they are whole: a query would work until the first row with a fraction.
macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl<'a> FromValue<'a> for $ty {
            fn accepts(kind: ValueKind) -> bool {
                kind.is_exact_number()
            }

            #[inline]
            fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
                let fitting = match value {
                    Value::Int(number) => Self::try_from(number).ok(),
                    Value::UInt(number) => Self::try_from(number).ok(),
                    _ => None,
                };
                match fitting {
                    Some(number) => Ok(number),
                    None => integer_of_others(stringify!($ty), value),
                }
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize);

/// A decimal as an integer, if it is whole; or why a value is no such integer.
#[cold]
fn integer_of_others<T: TryFrom<i128>>(
    wanted: &'static str,
    value: Value<'_>,
) -> Result<T, FromValueError> {
    let whole = match value {
        Value::Int(_) | Value::UInt(_) => None,
        Value::Decimal(number) => number.to_i128(),
        other => return Err(FromValueError::wrong_kind(wanted, other)),
    };
    let fitting = whole.and_then(|number| T::try_from(number).ok());
    fitting.ok_or_else(|| FromValueError::does_not_fit(wanted, value.kind()))
}

impl<'a> FromValue<'a> for bool {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_exact_number() && kind != ValueKind::Decimal
    }

    /// Accepts only 0 and 1: a TINYINT(1) may have other values, which are not booleans.
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

/// Types that hold values of exactly one kind.
macro_rules! same_kind {
    ($($ty:ty, $wanted:literal: $variant:ident;)*) => {$(
        impl<'a> FromValue<'a> for $ty {
            fn accepts(kind: ValueKind) -> bool {
                kind == ValueKind::$variant
            }

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
    Time, "Time": Time;
    Decimal<'a>, "Decimal": Decimal;
    OwnedDecimal, "OwnedDecimal": Decimal;
}

impl<'a> FromValue<'a> for Date {
    fn accepts(kind: ValueKind) -> bool {
        matches!(kind, ValueKind::Date | ValueKind::DateTime)
    }

    /// Accepts DATE, and a DATETIME or TIMESTAMP at midnight.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        match value {
            Value::Date(date) => Ok(date),
            other => date_of(other).ok_or_else(|| FromValueError::no_date(other)),
        }
    }
}

/// The day of a moment that is its first.
#[cold]
#[inline(never)]
fn date_of(value: Value<'_>) -> Option<Date> {
    match value {
        Value::DateTime(moment) if moment.is_midnight() => Some(moment.date()),
        _ => None,
    }
}

impl<'a> FromValue<'a> for Duration {
    fn accepts(kind: ValueKind) -> bool {
        kind == ValueKind::Time
    }

    /// Accepts a TIME that is not negative.
    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, FromValueError> {
        let Value::Time(time) = value else {
            return Err(FromValueError::wrong_kind("Duration", value));
        };
        match u64::try_from(time.total_microseconds()) {
            Ok(microseconds) => Ok(Self::from_micros(microseconds)),
            Err(_) => Err(FromValueError::does_not_fit("Duration", value.kind())),
        }
    }
}

impl<'a> FromValue<'a> for DateTime {
    fn accepts(kind: ValueKind) -> bool {
        matches!(kind, ValueKind::Date | ValueKind::DateTime)
    }

    /// Accepts DATETIME and TIMESTAMP, and a DATE as midnight.
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

    fn accepts(kind: ValueKind) -> bool {
        T::accepts(kind)
    }

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
