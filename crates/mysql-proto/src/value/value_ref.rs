//! One value of a row, lent from the row's bytes.

use super::integer::{parse_i64, parse_u64};
use super::{Date, DateTime, Decimal, Time, ValueError, ValueKind, bit, float};
use crate::charset::CollationId;
use crate::column_flags::ColumnFlags;
use crate::column_type::ColumnType;

/// One value of a row, 24 bytes and `Copy`; bytes and decimals are lent.
///
/// The same SQL value is an equal `Value` from both protocols. FLOAT is the one exception, and it is the servers': they
/// round its text form, see [`float`].
///
/// | SQL type | variant |
/// |----------|---------|
/// | TINYINT to BIGINT | `UInt` if UNSIGNED, else `Int` |
/// | YEAR, BIT | `UInt` |
/// | FLOAT, DOUBLE | `Float`, `Double` |
/// | DECIMAL | `Decimal` |
/// | DATE, TIME | `Date`, `Time` |
/// | DATETIME, TIMESTAMP | `DateTime` |
/// | everything else, and every type that is not known | `Bytes` |
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer with a sign.
    Int(i64),
    /// An integer without a sign, a YEAR or a BIT.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// Bytes as they came. Text is not checked: that is done when it is asked for as a `str`.
    Bytes(&'a [u8]),
    /// A DATE.
    Date(Date),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// A TIME.
    Time(Time),
    /// A DECIMAL.
    Decimal(Decimal<'a>),
}

impl<'a> Value<'a> {
    /// Reads a value that is not NULL from a text row; `bytes` is the whole of it without its length.
    ///
    /// The collation changes nothing as yet: text is bytes whatever its character set.
    ///
    /// # Errors
    /// Bytes that are no number, date or time where the type says so. Never for a type that is not known.
    #[inline]
    pub fn decode_text(
        ty: ColumnType,
        flags: ColumnFlags,
        _collation: CollationId,
        bytes: &'a [u8],
    ) -> Result<Self, ValueError> {
        Ok(match ty {
            ColumnType::TINY
            | ColumnType::SHORT
            | ColumnType::INT24
            | ColumnType::LONG
            | ColumnType::LONGLONG => {
                if flags.is_unsigned() {
                    Self::UInt(parse_u64(bytes)?)
                } else {
                    Self::Int(parse_i64(bytes)?)
                }
            }
            ColumnType::DECIMAL | ColumnType::NEWDECIMAL => {
                Self::Decimal(Decimal::parse_text(bytes)?)
            }
            ColumnType::FLOAT => Self::Float(float::parse_f32(bytes)?),
            ColumnType::DOUBLE => Self::Double(float::parse_f64(bytes)?),
            ColumnType::YEAR => Self::UInt(parse_u64(bytes)?),
            ColumnType::BIT => Self::UInt(bit::decode(bytes)?),
            ColumnType::DATE | ColumnType::NEWDATE => Self::Date(Date::parse_text(bytes)?),
            ColumnType::DATETIME | ColumnType::TIMESTAMP => {
                Self::DateTime(DateTime::parse_text(bytes)?)
            }
            ColumnType::TIME => Self::Time(Time::parse_text(bytes)?),
            _ => Self::Bytes(bytes),
        })
    }

    /// Reads a value that is not NULL from a binary row; `body` is the whole of it without its length, if it has one.
    ///
    /// The collation changes nothing as yet: text is bytes whatever its character set.
    ///
    /// # Errors
    /// A length the type does not have, a date or time out of range, text that is no decimal. Never for a type that is
    /// not known.
    #[inline]
    pub fn decode_binary(
        ty: ColumnType,
        flags: ColumnFlags,
        _collation: CollationId,
        body: &'a [u8],
    ) -> Result<Self, ValueError> {
        let is_unsigned = flags.is_unsigned();
        Ok(match ty {
            ColumnType::TINY => match fixed(ValueKind::Int, body)? {
                bytes if is_unsigned => Self::UInt(u8::from_le_bytes(bytes).into()),
                bytes => Self::Int(i8::from_le_bytes(bytes).into()),
            },
            ColumnType::SHORT => match fixed(ValueKind::Int, body)? {
                bytes if is_unsigned => Self::UInt(u16::from_le_bytes(bytes).into()),
                bytes => Self::Int(i16::from_le_bytes(bytes).into()),
            },
            ColumnType::LONG | ColumnType::INT24 => match fixed(ValueKind::Int, body)? {
                bytes if is_unsigned => Self::UInt(u32::from_le_bytes(bytes).into()),
                bytes => Self::Int(i32::from_le_bytes(bytes).into()),
            },
            ColumnType::LONGLONG => match fixed(ValueKind::Int, body)? {
                bytes if is_unsigned => Self::UInt(u64::from_le_bytes(bytes)),
                bytes => Self::Int(i64::from_le_bytes(bytes)),
            },
            ColumnType::YEAR => {
                Self::UInt(u16::from_le_bytes(fixed(ValueKind::Year, body)?).into())
            }
            ColumnType::FLOAT => Self::Float(f32::from_le_bytes(fixed(ValueKind::Float, body)?)),
            ColumnType::DOUBLE => Self::Double(f64::from_le_bytes(fixed(ValueKind::Double, body)?)),
            ColumnType::DECIMAL | ColumnType::NEWDECIMAL => {
                Self::Decimal(Decimal::decode_binary(body)?)
            }
            ColumnType::BIT => Self::UInt(bit::decode(body)?),
            ColumnType::DATE | ColumnType::NEWDATE => Self::Date(Date::decode_binary(body)?),
            ColumnType::DATETIME | ColumnType::TIMESTAMP => {
                Self::DateTime(DateTime::decode_binary(body)?)
            }
            ColumnType::TIME => Self::Time(Time::decode_binary(body)?),
            _ => Self::Bytes(body),
        })
    }

    /// What kind of value this is.
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Int(_) => ValueKind::Int,
            Self::UInt(_) => ValueKind::UInt,
            Self::Float(_) => ValueKind::Float,
            Self::Double(_) => ValueKind::Double,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::Date(_) => ValueKind::Date,
            Self::DateTime(_) => ValueKind::DateTime,
            Self::Time(_) => ValueKind::Time,
            Self::Decimal(_) => ValueKind::Decimal,
        }
    }

    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// The bytes of a type of fixed width.
#[inline]
fn fixed<const N: usize>(kind: ValueKind, body: &[u8]) -> Result<[u8; N], ValueError> {
    <[u8; N]>::try_from(body).map_err(|_| ValueError::wrong_length(kind, body))
}

#[cfg(test)]
mod tests;
