//! A result of a few columns and rows.

use std::fmt::Display;

use onecopy_mysql_proto::packet::{ColumnDefinition, EofPacket, OkPacket};
use onecopy_mysql_proto::server::{Field, ServerCore};
use onecopy_mysql_proto::{ColumnFlags, ColumnType, StatusFlags};
use onecopy_wire::Buffers;

/// `utf8mb4_general_ci`
pub(super) const UTF8MB4: u8 = 45;

/// The collation of what is no text.
const BINARY: u16 = 63;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// At most 255 characters are announced, which binds nobody.
    Text,
    /// 64 bits, unsigned.
    Number,
}

/// One value; `None` is NULL.
pub(super) struct Cell(Option<String>);

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self(Some(number.to_string()))
    }
}

impl<T: Display> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        Self(value.map(|value| value.to_string()))
    }
}

/// Columns and rows.
pub(super) struct Table {
    columns: Vec<(String, Type)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, Type)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns
                .map(|(name, column)| (name.into(), column))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// One more row, with a value for each column.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<_> = cells.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Queues all of it.
    pub(super) fn send(&self, core: &mut ServerCore, buffers: &mut Buffers, end: &OkPacket<'_>) {
        let count = u16::try_from(self.columns.len()).unwrap_or(u16::MAX);
        core.column_count(buffers, count.into(), true);
        for (name, column) in &self.columns {
            core.column_definition(buffers, &definition(name, *column));
        }
        core.definitions_end(
            buffers,
            &EofPacket {
                warnings: 0,
                status_flags: StatusFlags::AUTOCOMMIT,
            },
        );
        for row in &self.rows {
            let fields = row.iter().map(|Cell(cell)| match cell {
                None => Field::Null,
                Some(text) => Field::Bytes(text.as_bytes()),
            });
            core.text_row(buffers, fields);
        }
        core.rows_end(buffers, end);
    }
}

fn definition(name: &str, column: Type) -> ColumnDefinition<'_> {
    let ordinary = ColumnDefinition {
        catalog: b"def",
        name: name.as_bytes(),
        ..ColumnDefinition::default()
    };
    match column {
        Type::Text => ColumnDefinition {
            collation: u16::from(UTF8MB4),
            column_length: 255 * 4,
            column_type: ColumnType::VAR_STRING.0,
            ..ordinary
        },
        Type::Number => ColumnDefinition {
            collation: BINARY,
            column_length: 20,
            column_type: ColumnType::LONGLONG.0,
            flags: ColumnFlags::UNSIGNED.0 | ColumnFlags::NUM.0 | ColumnFlags::BINARY.0,
            ..ordinary
        },
    }
}
