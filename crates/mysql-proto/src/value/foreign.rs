//! Types of other crates, each behind a feature that names the crate's version.
//!
//! Conversions are lossless: a value that the other side cannot hold is an error, such as a zero date, a TIME of 838 hours as a
//! time of day, or nanoseconds. A parameter that MySQL cannot hold is refused before anything is sent.
//!
//! | feature | types | SQL |
//! |---------|-------|-----|
//! | `with-chrono-0_4` | `NaiveDate`, `NaiveDateTime`, `NaiveTime` | DATE, DATETIME, TIME within a day |
//! | | `DateTime<Utc>` | DATETIME or TIMESTAMP, taken to be in UTC |
//! | | `TimeDelta` | TIME |
//! | `with-jiff-0_2` | `civil::Date`, `civil::DateTime`, `civil::Time` | DATE, DATETIME, TIME within a day |
//! | | `Timestamp` | DATETIME or TIMESTAMP, taken to be in UTC |
//! | | `SignedDuration` | TIME |
//! | `with-time-0_3` | `Date`, `PrimitiveDateTime`, `Time` | DATE, DATETIME, TIME within a day |
//! | | `OffsetDateTime` | DATETIME or TIMESTAMP, taken to be in UTC |
//! | | `Duration` | TIME |
//! | `with-uuid-1` | `Uuid` | from UUID, CHAR(36) and BINARY(16); sent as 16 bytes |
//! | | `fmt::Hyphenated` | the same; sent as text, for CHAR(36) |
//! | `with-rust_decimal-1` | `Decimal` | DECIMAL of at most 28 digits, and integers |
//! | `with-bigdecimal-0_4` | `BigDecimal` | DECIMAL and integers; sent through [`OwnedDecimal`](super::OwnedDecimal) |
//! | `with-serde_json-1` | `serde_json::Value`, `Json<T>` | JSON, text; sent through `JsonText` |
//!
//! A TIMESTAMP is sent in the session's time zone: run `SET time_zone = '+00:00'` if you read it as one of the types in UTC.

#[cfg(feature = "with-bigdecimal-0_4")]
mod bigdecimal;
#[cfg(feature = "with-chrono-0_4")]
mod chrono;
#[cfg(feature = "with-jiff-0_2")]
mod jiff;
#[cfg(feature = "with-serde_json-1")]
mod json;
#[cfg(feature = "with-rust_decimal-1")]
mod rust_decimal;
#[cfg(feature = "with-time-0_3")]
mod time;
#[cfg(feature = "with-uuid-1")]
mod uuid;

#[cfg(feature = "with-serde_json-1")]
pub use json::{Json, JsonText};

#[cfg(any(
    feature = "with-chrono-0_4",
    feature = "with-jiff-0_2",
    feature = "with-time-0_3"
))]
mod moment {
    //! What the three crates of dates and times share.

    use crate::value::ParamProblem;

    /// What happens to a fraction of a microsecond.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Nanoseconds {
        Refuse,
        CutOff,
    }

    /// The microseconds of a fraction of a second.
    pub(super) fn microseconds(nanoseconds: u32, rest: Nanoseconds) -> Result<u32, ParamProblem> {
        if nanoseconds >= 1_000_000_000 {
            return Err(ParamProblem::LeapSecond);
        }
        if !nanoseconds.is_multiple_of(1_000) && rest == Nanoseconds::Refuse {
            return Err(ParamProblem::Nanoseconds);
        }
        Ok(nanoseconds / 1_000)
    }

    /// A TIME of so many seconds and nanoseconds, which have the same sign.
    pub(super) fn duration(
        seconds: i64,
        nanoseconds: i32,
        rest: Nanoseconds,
    ) -> Result<crate::value::Time, ParamProblem> {
        let micros = i64::from(microseconds(nanoseconds.unsigned_abs(), rest)?);
        let micros = if nanoseconds < 0 { -micros } else { micros };
        let total = seconds
            .checked_mul(1_000_000)
            .and_then(|total| total.checked_add(micros));
        total
            .and_then(crate::value::Time::from_total_microseconds)
            .ok_or(ParamProblem::TooLong)
    }

    /// Both ways between a type of another crate and one of ours, and as a parameter, with [`Lossy`](crate::value::Lossy) too.
    macro_rules! both_ways {
        ($($ty:ty, $name:literal => $own:ident, $to_own:path, $from_own:path;)*) => {$(
            impl TryFrom<$ty> for $own {
                type Error = ParamProblem;

                /// Fails if MySQL does not have such a value.
                fn try_from(value: $ty) -> Result<Self, ParamProblem> {
                    $to_own(value, Nanoseconds::Refuse)
                }
            }

            impl<'a> From<$ty> for Param<'a> {
                /// Where MySQL does not have such a value, the execution is refused.
                fn from(value: $ty) -> Self {
                    match $to_own(value, Nanoseconds::Refuse) {
                        Ok(own) => Self::$own(own),
                        Err(problem) => Self::Invalid(problem),
                    }
                }
            }

            impl<'a> From<&$ty> for Param<'a> {
                fn from(value: &$ty) -> Self {
                    <Self as From<$ty>>::from(*value)
                }
            }

            impl<'a> From<Lossy<$ty>> for Param<'a> {
                /// Cuts off what is below a microsecond.
                fn from(value: Lossy<$ty>) -> Self {
                    match $to_own(value.0, Nanoseconds::CutOff) {
                        Ok(own) => Self::$own(own),
                        Err(problem) => Self::Invalid(problem),
                    }
                }
            }

            impl ToParam for $ty {
                fn to_param(&self) -> Param<'_> {
                    self.into()
                }
            }

            impl<'v> FromValue<'v> for $ty {
                fn accepts(kind: ValueKind) -> bool {
                    <$own as FromValue<'v>>::accepts(kind)
                }

                fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
                    let own = <$own as FromValue<'v>>::from_value(value)
                        .map_err(|error| error.wanting($name))?;
                    $from_own(own).ok_or_else(|| FromValueError::does_not_fit($name, value.kind()))
                }
            }
        )*};
    }
    pub(super) use both_ways;
}
