//! How a column's values are read: what its type, its flags and its collation say together, found once per result.

use crate::charset::CollationId;
use crate::column_flags::ColumnFlags;
use crate::column_type::ColumnType;
use crate::value::ValueKind;

/// One way to read values. One byte, so that a value costs one jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Tiny,
    UnsignedTiny,
    Short,
    UnsignedShort,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Year,
    Float,
    Double,
    Decimal,
    Bit,
    Date,
    DateTime,
    Time,
    Bytes,
    Text,
    OtherText,
}

impl Form {
    pub(crate) fn new(ty: ColumnType, flags: ColumnFlags, collation: CollationId) -> Self {
        let by_sign = |signed, unsigned| {
            if flags.is_unsigned() {
                unsigned
            } else {
                signed
            }
        };
        match ty {
            ColumnType::TINY => by_sign(Self::Tiny, Self::UnsignedTiny),
            ColumnType::SHORT => by_sign(Self::Short, Self::UnsignedShort),
            ColumnType::LONG | ColumnType::INT24 => by_sign(Self::Long, Self::UnsignedLong),
            ColumnType::LONGLONG => by_sign(Self::LongLong, Self::UnsignedLongLong),
            ColumnType::YEAR => Self::Year,
            ColumnType::FLOAT => Self::Float,
            ColumnType::DOUBLE => Self::Double,
            ColumnType::DECIMAL | ColumnType::NEWDECIMAL => Self::Decimal,
            ColumnType::BIT => Self::Bit,
            ColumnType::DATE | ColumnType::NEWDATE => Self::Date,
            ColumnType::DATETIME | ColumnType::TIMESTAMP => Self::DateTime,
            ColumnType::TIME => Self::Time,
            // MySQL declares JSON as `binary`, sends it in the results' character set, and refuses bytes for it.
            ColumnType::JSON if collation.is_binary() => Self::Text,
            _ if collation.is_binary() => Self::Bytes,
            _ if collation.may_be_utf8() => Self::Text,
            _ => Self::OtherText,
        }
    }

    /// The kind that its values are of, of which BIT and YEAR are told apart from other integers.
    pub(crate) const fn kind(self) -> ValueKind {
        match self {
            Self::Tiny | Self::Short | Self::Long | Self::LongLong => ValueKind::Int,
            Self::UnsignedTiny
            | Self::UnsignedShort
            | Self::UnsignedLong
            | Self::UnsignedLongLong => ValueKind::UInt,
            Self::Year => ValueKind::Year,
            Self::Float => ValueKind::Float,
            Self::Double => ValueKind::Double,
            Self::Decimal => ValueKind::Decimal,
            Self::Bit => ValueKind::Bit,
            Self::Date => ValueKind::Date,
            Self::DateTime => ValueKind::DateTime,
            Self::Time => ValueKind::Time,
            Self::Bytes => ValueKind::Bytes,
            Self::Text | Self::OtherText => ValueKind::Text,
        }
    }
}
