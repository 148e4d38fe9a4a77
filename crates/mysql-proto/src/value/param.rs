//! A parameter of a prepared statement.
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>.

mod inline;
mod to_param;

use std::borrow::Cow;
use std::sync::Arc;

pub use inline::{ParamProblem, SmallDecimal};
pub use to_param::ToParam;

use super::{Date, DateTime, Decimal, OwnedDecimal, Time, Value};
use crate::charset::CollationId;
use crate::column_type::ColumnType;

/// A parameter of a prepared statement, 24 bytes and `Copy`; bytes, text and decimals are borrowed.
///
/// It implements `From` for the Rust types of the same range.
///
/// ```
/// use onecopy_mysql_proto::value::Param;
///
/// let params: [Param; 3] = [17.into(), "text".into(), None::<u8>.into()];
/// assert_eq!(params, [Param::Int(17), Param::Str("text"), Param::Null]);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// NULL; in the packet it has a bit and no bytes.
    Null,
    /// A signed integer, sent as a BIGINT.
    Int(i64),
    /// An unsigned integer, sent as a BIGINT UNSIGNED.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// Bytes, sent as a BLOB: the server stores them unchanged, in a text column too. For text use `Str` or `Text`.
    Bytes(&'a [u8]),
    /// Text, which the server converts to the column's character set. It is sent as UTF-8, so the session's
    /// `character_set_client` must be utf8mb4, as it is unless a statement changed it.
    Str(&'a str),
    /// Text in UTF-8 that is not checked yet, as received in rows. The execution is refused if it is not UTF-8, or if the
    /// session's `character_set_client` is another character set.
    Text(&'a [u8]),
    /// Text in another character set, as received in rows. The execution is refused if the session's `character_set_client` is a
    /// different one.
    OtherText {
        /// The text.
        bytes: &'a [u8],
        /// The collation, which determines the character set of `bytes`.
        collation: CollationId,
    },
    /// A DATE.
    Date(Date),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// A TIME.
    Time(Time),
    /// A DECIMAL, sent as one: the server would compare text with a DECIMAL as a DOUBLE, which loses digits.
    Decimal(Decimal<'a>),
    /// A BLOB that was sent earlier with COM_STMT_SEND_LONG_DATA; it has no bytes in the packet. Like [`Bytes`](Self::Bytes), it
    /// is not converted.
    LongData,
    /// The column's DEFAULT. Only bulk executions take it.
    Default,
    /// No value: an update leaves the column as it is, an insert gives it its default. Only bulk executions take it.
    Ignore,
    /// Text that was sent earlier with COM_STMT_SEND_LONG_DATA. Like [`Str`](Self::Str), it is converted.
    LongText,
    /// 16 bytes that are held here, sent as a BLOB.
    Bytes16([u8; 16]),
    /// A UUID that is held here, sent as text: 36 characters, lower case, with hyphens.
    UuidText([u8; 16]),
    /// A DECIMAL that is held here.
    SmallDecimal(SmallDecimal),
    /// Made of a value that MySQL has no value for: the execution is refused, and nothing is sent.
    Invalid(ParamProblem),
}

const _: () = assert!(size_of::<Param<'_>>() == 24);

const MAX_FIXED_BYTES: usize = 16;

impl<'a> Param<'a> {
    /// The maximum number of bytes that [`encode_fixed`](Self::encode_fixed) writes: a TIME with its length byte has 13, rounded
    /// up.
    pub const MAX_FIXED_BYTES: usize = MAX_FIXED_BYTES;

    /// Returns the type byte for the execute packet.
    #[inline]
    pub const fn column_type(&self) -> ColumnType {
        match self {
            Self::Null | Self::Default | Self::Ignore => ColumnType::NULL,
            Self::Int(_) | Self::UInt(_) => ColumnType::LONGLONG,
            Self::Float(_) => ColumnType::FLOAT,
            Self::Double(_) => ColumnType::DOUBLE,
            Self::Bytes(_) | Self::LongData | Self::Bytes16(_) => ColumnType::LONG_BLOB,
            Self::Str(_)
            | Self::Text(_)
            | Self::OtherText { .. }
            | Self::LongText
            | Self::UuidText(_) => ColumnType::VAR_STRING,
            Self::Date(_) => ColumnType::DATE,
            Self::DateTime(_) => ColumnType::DATETIME,
            Self::Time(_) => ColumnType::TIME,
            Self::Decimal(_) | Self::SmallDecimal(_) => ColumnType::NEWDECIMAL,
            Self::Invalid(_) => ColumnType::NULL,
        }
    }

    /// Returns whether the packet's unsigned flag is set.
    #[inline]
    pub const fn is_unsigned(&self) -> bool {
        matches!(self, Self::UInt(_))
    }

    /// Returns whether this is NULL.
    #[inline]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the bytes of a kind that is sent after its length: bytes, text, decimals.
    #[inline]
    pub const fn as_bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) | Self::Text(bytes) | Self::OtherText { bytes, .. } => Some(bytes),
            Self::Str(text) => Some(text.as_bytes()),
            Self::Decimal(decimal) => Some(decimal.as_str().as_bytes()),
            _ => None,
        }
    }

    /// Encodes a number, date or time as in the packet. Returns the number of bytes written.
    ///
    /// That is 0 for NULL and long data, which have no bytes there, for the kinds that have [`as_bytes`](Self::as_bytes), and for those
    /// that [`write_inline`](Self::write_inline) writes.
    #[inline]
    pub fn encode_fixed(&self, out: &mut [u8; MAX_FIXED_BYTES]) -> usize {
        match self {
            Self::Int(number) => put(out, number.to_le_bytes()),
            Self::UInt(number) => put(out, number.to_le_bytes()),
            Self::Float(number) => put(out, number.to_le_bytes()),
            Self::Double(number) => put(out, number.to_le_bytes()),
            Self::Date(date) => out
                .first_chunk_mut()
                .map_or(0, |out| date.encode_binary(out)),
            Self::DateTime(value) => out
                .first_chunk_mut()
                .map_or(0, |out| value.encode_binary(out)),
            Self::Time(time) => out
                .first_chunk_mut()
                .map_or(0, |out| time.encode_binary(out)),
            Self::Null
            | Self::Default
            | Self::Ignore
            | Self::Bytes(_)
            | Self::Str(_)
            | Self::Text(_)
            | Self::OtherText { .. }
            | Self::Decimal(_)
            | Self::LongData
            | Self::LongText
            | Self::Bytes16(_)
            | Self::UuidText(_)
            | Self::SmallDecimal(_)
            | Self::Invalid(_) => 0,
        }
    }
}

#[inline]
fn put<const N: usize>(out: &mut [u8; MAX_FIXED_BYTES], bytes: [u8; N]) -> usize {
    const { assert!(N <= MAX_FIXED_BYTES) };
    if let Some(start) = out.first_chunk_mut() {
        *start = bytes;
    }
    N
}

/// `From` by value and by reference, for types that are `Copy`.
macro_rules! from_copy {
    ($($ty:ty => $variant:ident;)*) => {$(
        impl<'a> From<$ty> for Param<'a> {
            #[inline]
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        }

        impl<'a> From<&$ty> for Param<'a> {
            #[inline]
            fn from(value: &$ty) -> Self {
                <Self as From<$ty>>::from(*value)
            }
        }
    )*};
}

from_copy! {
    bool => Int;
    i8 => Int;
    i16 => Int;
    i32 => Int;
    i64 => Int;
    u8 => UInt;
    u16 => UInt;
    u32 => UInt;
    u64 => UInt;
    f32 => Float;
    f64 => Double;
    Date => Date;
    DateTime => DateTime;
    Time => Time;
    Decimal<'a> => Decimal;
}

/// `From` for what is borrowed by reference.
macro_rules! from_borrowed {
    ($($ty:ty => $variant:ident($value:ident) $lend:expr;)*) => {$(
        impl<'a> From<&'a $ty> for Param<'a> {
            #[inline]
            fn from($value: &'a $ty) -> Self {
                Self::$variant($lend)
            }
        }
    )*};
}

from_borrowed! {
    str => Str(value) value;
    String => Str(value) value;
    [u8] => Bytes(value) value;
    Vec<u8> => Bytes(value) value;
    OwnedDecimal => Decimal(value) value.as_decimal();
    Box<str> => Str(value) value;
    Arc<str> => Str(value) value;
    Cow<'_, str> => Str(value) value;
    Cow<'_, [u8]> => Bytes(value) value;
}

/// `From` for a reference to what is borrowed already, as iterators give it.
impl<'a, 'b: 'a, T: ?Sized> From<&'a &'b T> for Param<'a>
where
    T: ToParam,
{
    #[inline]
    fn from(value: &'a &'b T) -> Self {
        value.to_param()
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Param<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    /// Converts `None` to NULL.
    #[inline]
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, T: ToParam> From<&'a Option<T>> for Param<'a> {
    /// Converts `None` to NULL.
    #[inline]
    fn from(value: &'a Option<T>) -> Self {
        value.to_param()
    }
}

impl<'a> From<Value<'a>> for Param<'a> {
    /// Converts a value that was received in a row without changing it: text stays text, bytes stay bytes.
    #[inline]
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Int(number),
            Value::UInt(number) => Self::UInt(number),
            Value::Float(number) => Self::Float(number),
            Value::Double(number) => Self::Double(number),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Text(bytes) => Self::Text(bytes),
            Value::OtherText { bytes, collation } => Self::OtherText { bytes, collation },
            Value::Date(date) => Self::Date(date),
            Value::DateTime(value) => Self::DateTime(value),
            Value::Time(time) => Self::Time(time),
            Value::Decimal(decimal) => Self::Decimal(decimal),
        }
    }
}

#[cfg(test)]
mod tests;
