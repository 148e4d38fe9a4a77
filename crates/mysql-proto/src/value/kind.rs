//! The kinds of values, for errors and questions.

use std::fmt;

/// The kind of a value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// NULL.
    Null,
    /// A signed integer.
    Int,
    /// An unsigned integer.
    UInt,
    /// A FLOAT, 4 bytes.
    Float,
    /// A DOUBLE, 8 bytes.
    Double,
    /// Bytes that are not text.
    Bytes,
    /// Text.
    Text,
    /// A DATE.
    Date,
    /// A DATETIME or TIMESTAMP.
    DateTime,
    /// A TIME.
    Time,
    /// A DECIMAL.
    Decimal,
    /// A BIT; its value is a [`UInt`](Self::UInt).
    Bit,
    /// A YEAR; its value is a [`UInt`](Self::UInt).
    Year,
}

impl ValueKind {
    /// Returns whether its values are integers or decimals.
    #[must_use]
    pub const fn is_exact_number(self) -> bool {
        matches!(
            self,
            Self::Int | Self::UInt | Self::Decimal | Self::Bit | Self::Year
        )
    }

    /// Returns whether its values are numbers.
    #[must_use]
    pub const fn is_number(self) -> bool {
        self.is_exact_number() || matches!(self, Self::Float | Self::Double)
    }

    /// The Rust types that hold every value of this kind.
    pub(super) const fn natural_types(self) -> &'static str {
        match self {
            Self::Null => "an Option",
            Self::Int => "i64 or i128",
            Self::UInt | Self::Bit | Self::Year => "u64 or i128",
            Self::Float => "f32 or f64",
            Self::Double => "f64",
            Self::Bytes => "&[u8] or Vec<u8>",
            Self::Text => "&str, String, &[u8] or Vec<u8>",
            Self::Date => "Date, DateTime or String",
            Self::DateTime => "DateTime or String",
            Self::Time => "Time or String",
            Self::Decimal => "Decimal, OwnedDecimal or String",
        }
    }

    /// How long a value may be in the binary protocol.
    pub(super) const fn lengths(self) -> &'static str {
        match self {
            Self::Date | Self::DateTime => "0, 4, 7 or 11",
            Self::Time => "0, 8 or 12",
            Self::Bit => "1 to 8",
            Self::Year => "2",
            Self::Float => "4",
            Self::Double => "8",
            _ => "that of the column's type",
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Int => "int",
            Self::UInt => "unsigned int",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::Text => "text",
            Self::Date => "date",
            Self::DateTime => "datetime",
            Self::Time => "time",
            Self::Decimal => "decimal",
            Self::Bit => "bit",
            Self::Year => "year",
        })
    }
}
