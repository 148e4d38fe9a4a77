//! One value of a row, borrowed from the row's bytes.

use super::form::Form;
use super::integer::{parse_i64, parse_u64};
use super::{Date, DateTime, Decimal, Time, ValueError, ValueKind, bit, float};
use crate::charset::CollationId;
use crate::column_flags::ColumnFlags;
use crate::column_type::ColumnType;

/// A value of a row, 24 bytes and `Copy`; text, bytes and decimals are borrowed.
///
/// Both protocols yield equal `Value`s for the same SQL value. The only exception is FLOAT, because the servers round its text
/// form, see [`float`].
///
/// | SQL type | variant |
/// |----------|---------|
/// | TINYINT to BIGINT | `UInt` if UNSIGNED, else `Int` |
/// | YEAR, BIT | `UInt` |
/// | FLOAT, DOUBLE | `Float`, `Double` |
/// | DECIMAL | `Decimal` |
/// | DATE, TIME | `Date`, `Time` |
/// | DATETIME, TIMESTAMP | `DateTime` |
/// | BINARY, BLOB, GEOMETRY, VECTOR and everything else with collation `binary` | `Bytes` |
/// | CHAR, TEXT, ENUM, SET, JSON, UUID, INET6 and every other or unknown type | `Text` or `OtherText` |
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, a YEAR or a BIT.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// Bytes that are not text: the column's collation is `binary`.
    Bytes(&'a [u8]),
    /// Text in UTF-8. It is checked when it is read as a `str`, not before.
    Text(&'a [u8]),
    /// Text in another character set, as in results after `SET NAMES latin1` or `SET character_set_results`.
    OtherText {
        /// The text.
        bytes: &'a [u8],
        /// The collation of the result's column, which determines the character set of `bytes`.
        collation: CollationId,
    },
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
    /// Decodes a value that is not NULL from a text row; `bytes` is the complete value without its length.
    ///
    /// # Errors
    /// Fails if the bytes are not a number, date or time although the type requires it. Never fails for an unknown type.
    #[inline]
    pub fn decode_text(
        ty: ColumnType,
        flags: ColumnFlags,
        collation: CollationId,
        bytes: &'a [u8],
    ) -> Result<Self, ValueError> {
        Self::read_text(Form::new(ty, flags, collation), collation, bytes)
    }

    /// Decodes a value that is not NULL from a binary row; `body` is the complete value without its length, if it has one.
    ///
    /// # Errors
    /// Fails on a length that the type does not have, a date or time out of range, or text that is not a decimal. Never fails for
    /// an unknown type.
    #[inline]
    pub fn decode_binary(
        ty: ColumnType,
        flags: ColumnFlags,
        collation: CollationId,
        body: &'a [u8],
    ) -> Result<Self, ValueError> {
        Self::read_binary(Form::new(ty, flags, collation), collation, body)
    }

    #[inline(never)]
    pub(crate) fn read_text(
        form: Form,
        collation: CollationId,
        bytes: &'a [u8],
    ) -> Result<Self, ValueError> {
        Ok(match form {
            Form::Tiny | Form::Short | Form::Long | Form::LongLong => Self::Int(parse_i64(bytes)?),
            Form::UnsignedTiny
            | Form::UnsignedShort
            | Form::UnsignedLong
            | Form::UnsignedLongLong
            | Form::Year => Self::UInt(parse_u64(bytes)?),
            Form::Float => Self::Float(float::parse_f32(bytes)?),
            Form::Double => Self::Double(float::parse_f64(bytes)?),
            Form::Decimal => Self::Decimal(Decimal::parse_text(bytes)?),
            Form::Bit => Self::UInt(bit::decode(bytes)?),
            Form::Date => Self::Date(Date::parse_text(bytes)?),
            Form::DateTime => Self::DateTime(DateTime::parse_text(bytes)?),
            Form::Time => Self::Time(Time::parse_text(bytes)?),
            Form::Bytes => Self::Bytes(bytes),
            Form::Text => Self::Text(bytes),
            Form::OtherText => Self::OtherText { bytes, collation },
        })
    }

    #[inline]
    pub(crate) fn read_binary(
        form: Form,
        collation: CollationId,
        body: &'a [u8],
    ) -> Result<Self, ValueError> {
        const INT: ValueKind = ValueKind::Int;
        Ok(match form {
            Form::Tiny => Self::Int(i8::from_le_bytes(fixed(INT, body)?).into()),
            Form::UnsignedTiny => Self::UInt(u8::from_le_bytes(fixed(INT, body)?).into()),
            Form::Short => Self::Int(i16::from_le_bytes(fixed(INT, body)?).into()),
            Form::UnsignedShort => Self::UInt(u16::from_le_bytes(fixed(INT, body)?).into()),
            Form::Long => Self::Int(i32::from_le_bytes(fixed(INT, body)?).into()),
            Form::UnsignedLong => Self::UInt(u32::from_le_bytes(fixed(INT, body)?).into()),
            Form::LongLong => Self::Int(i64::from_le_bytes(fixed(INT, body)?)),
            Form::UnsignedLongLong => Self::UInt(u64::from_le_bytes(fixed(INT, body)?)),
            Form::Year => Self::UInt(u16::from_le_bytes(fixed(ValueKind::Year, body)?).into()),
            Form::Float => Self::Float(f32::from_le_bytes(fixed(ValueKind::Float, body)?)),
            Form::Double => Self::Double(f64::from_le_bytes(fixed(ValueKind::Double, body)?)),
            Form::Decimal => Self::Decimal(Decimal::decode_binary(body)?),
            Form::Bit => Self::UInt(bit::decode(body)?),
            Form::Date => Self::Date(Date::decode_binary(body)?),
            Form::DateTime => Self::DateTime(DateTime::decode_binary(body)?),
            Form::Time => Self::Time(Time::decode_binary(body)?),
            Form::Bytes => Self::Bytes(body),
            Form::Text => Self::Text(body),
            Form::OtherText => Self::OtherText {
                bytes: body,
                collation,
            },
        })
    }

    /// What [`read_binary`](Self::read_binary) reads of the types that need no check beyond their length, `Null` for what it does
    /// not read. Dates and times are read by functions of their own, so that the others need no register to be saved.
    #[inline(always)]
    pub(crate) fn read_plain(form: Form, collation: CollationId, body: &'a [u8]) -> Self {
        match form {
            Form::Tiny => plain(body, |bytes| Self::Int(i8::from_le_bytes(bytes).into())),
            Form::UnsignedTiny => plain(body, |bytes| Self::UInt(u8::from_le_bytes(bytes).into())),
            Form::Short => plain(body, |bytes| Self::Int(i16::from_le_bytes(bytes).into())),
            Form::UnsignedShort | Form::Year => {
                plain(body, |bytes| Self::UInt(u16::from_le_bytes(bytes).into()))
            }
            Form::Long => plain(body, |bytes| Self::Int(i32::from_le_bytes(bytes).into())),
            Form::UnsignedLong => plain(body, |bytes| Self::UInt(u32::from_le_bytes(bytes).into())),
            Form::LongLong => plain(body, |bytes| Self::Int(i64::from_le_bytes(bytes))),
            Form::UnsignedLongLong => plain(body, |bytes| Self::UInt(u64::from_le_bytes(bytes))),
            Form::Float => plain(body, |bytes| Self::Float(f32::from_le_bytes(bytes))),
            Form::Double => plain(body, |bytes| Self::Double(f64::from_le_bytes(bytes))),
            Form::Date => plain_date(body),
            Form::DateTime => plain_date_time(body),
            Form::Time => plain_time(body),
            Form::Bytes => Self::Bytes(body),
            Form::Text => Self::Text(body),
            Form::OtherText => Self::OtherText {
                bytes: body,
                collation,
            },
            Form::Decimal | Form::Bit => Self::Null,
        }
    }

    /// Returns the bytes of text and of bytes.
    #[inline]
    pub const fn as_bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) | Self::Text(bytes) | Self::OtherText { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Returns the kind of the value.
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Int(_) => ValueKind::Int,
            Self::UInt(_) => ValueKind::UInt,
            Self::Float(_) => ValueKind::Float,
            Self::Double(_) => ValueKind::Double,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::Text(_) | Self::OtherText { .. } => ValueKind::Text,
            Self::Date(_) => ValueKind::Date,
            Self::DateTime(_) => ValueKind::DateTime,
            Self::Time(_) => ValueKind::Time,
            Self::Decimal(_) => ValueKind::Decimal,
        }
    }

    /// Returns whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }
}

/// A type of fixed width, `Null` where the width is another.
#[inline(always)]
fn plain<'a, const N: usize>(body: &[u8], read: impl Fn([u8; N]) -> Value<'a>) -> Value<'a> {
    body.try_into().map_or(Value::Null, read)
}

#[inline(never)]
fn plain_date(body: &[u8]) -> Value<'_> {
    Date::decode_binary(body).map_or(Value::Null, Value::Date)
}

#[inline(never)]
fn plain_date_time(body: &[u8]) -> Value<'_> {
    DateTime::decode_binary(body).map_or(Value::Null, Value::DateTime)
}

#[inline(never)]
fn plain_time(body: &[u8]) -> Value<'_> {
    Time::decode_binary(body).map_or(Value::Null, Value::Time)
}

/// The bytes of a type of fixed width.
#[inline]
fn fixed<const N: usize>(kind: ValueKind, body: &[u8]) -> Result<[u8; N], ValueError> {
    <[u8; N]>::try_from(body).map_err(|_| ValueError::wrong_length(kind, body))
}

#[cfg(test)]
mod tests;
