//! What the formats need to know of a column.

use onecopy_mysql::{ColumnType, Definitions};

/// One column of a result.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Bytes of its longest value, as the server says.
    pub(crate) max_bytes: u32,
}

/// What a column's values are, as far as writing them goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Digits: every number but BIT.
    Number,
    /// Up to 64 bits, sent as bytes, written as an unsigned number.
    Bit,
    /// Text, dates and times.
    Text,
    /// BINARY, VARBINARY, BLOB, geometries: anything.
    Bytes,
}

impl Column {
    /// The columns of a result.
    pub(crate) fn all(definitions: &Definitions) -> Vec<Self> {
        let column = |index: usize| Self {
            name: String::from_utf8_lossy(definitions.name(index).unwrap_or_default()).into_owned(),
            kind: kind(&definitions.columns()[index]),
            max_bytes: definitions.columns()[index].length,
        };
        (0..definitions.len()).map(column).collect()
    }
}

fn kind(column: &onecopy_mysql::Column) -> Kind {
    match column.column_type {
        ColumnType::TINY
        | ColumnType::SHORT
        | ColumnType::INT24
        | ColumnType::LONG
        | ColumnType::LONGLONG
        | ColumnType::YEAR
        | ColumnType::FLOAT
        | ColumnType::DOUBLE
        | ColumnType::DECIMAL
        | ColumnType::NEWDECIMAL => Kind::Number,
        ColumnType::BIT => Kind::Bit,
        // Servers call the collation of these binary, and they are text all the same.
        ColumnType::NULL
        | ColumnType::DATE
        | ColumnType::NEWDATE
        | ColumnType::TIME
        | ColumnType::DATETIME
        | ColumnType::TIMESTAMP
        | ColumnType::JSON => Kind::Text,
        _ if column.collation.is_binary() => Kind::Bytes,
        _ => Kind::Text,
    }
}
