//! Results as text: one trait, five formats, each in constant memory.

mod auto;
mod column;
mod delimited;
mod escape;
mod inserts;
mod json;
pub(crate) mod json_text;
mod paging;
mod rows;
mod sink;
pub(crate) mod style;
mod table;
pub(crate) mod text;
mod vertical;

use std::io::BufRead;

use crate::failure::Failure;

pub(crate) use column::{Column, Kind};
pub(crate) use paging::Paging;
pub(crate) use rows::{are_small, write_row};
pub(crate) use sink::Out;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatName {
    /// A table for people; long values are cut with …
    Table,
    /// A line for each column, values whole
    Vertical,
    /// An array of objects, one row a line; bytes are {"base64":"..."}
    Json,
    /// RFC 4180 with a header; NULL is empty, an empty text is ""
    Csv,
    /// Tab-separated with a header; \t \n \r \0 and \\ stand for themselves, \N for NULL
    Tsv,
}

/// One value that is not NULL, as it comes.
pub(crate) struct Value<'v> {
    /// Bytes of the whole value.
    pub(crate) len: u64,
    /// Returns the bytes in pieces, borrowed. Unread bytes are skipped.
    pub(crate) bytes: &'v mut dyn BufRead,
}

/// Writes one result after the other. For each row `value` is called once a column, in order.
pub(crate) trait Format {
    /// A result with these columns begins.
    fn begin(&mut self, columns: &[Column], out: &mut Out) -> Result<(), Failure>;

    /// The row's next value; `None` is NULL.
    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure>;

    /// A value of which all bytes are there.
    fn bytes(&mut self, column: &Column, mut bytes: &[u8], out: &mut Out) -> Result<(), Failure> {
        let value = Value {
            len: bytes.len() as u64,
            bytes: &mut bytes,
        };
        self.value(column, Some(value), out)
    }

    /// The row is over.
    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure>;

    /// The result is over.
    fn end(&mut self, out: &mut Out) -> Result<(), Failure>;

    /// The result breaks off: writes what is held back, and does not pretend to be complete.
    fn break_off(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }
}

/// Options of the formats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Write the columns' names; JSON and vertical do so always.
    pub(crate) header: bool,
    /// Columns of the terminal that tables have to fit; `None` for no limit.
    pub(crate) width: Option<usize>,
    /// Tables and vertical only.
    pub(crate) colours: bool,
    /// What stands for NULL in tables and in vertical.
    pub(crate) null: &'static str,
    /// Tables only: rows that do not fit `width` whole are written as vertical has them.
    pub(crate) vertical_if_wide: bool,
}

impl Layout {
    /// No limit and no colours.
    pub(crate) fn plain(header: bool) -> Self {
        Self {
            header,
            width: None,
            colours: false,
            null: "NULL",
            vertical_if_wide: false,
        }
    }
}

/// The format of that name.
pub(crate) fn format(name: FormatName, layout: Layout) -> Box<dyn Format> {
    match name {
        FormatName::Table => match layout.width {
            Some(width) if layout.vertical_if_wide => Box::new(auto::Auto::new(layout, width)),
            _ => Box::new(table::Table::new(layout)),
        },
        FormatName::Vertical => Box::new(vertical::Vertical::new(layout)),
        FormatName::Json => Box::new(json::Json::default()),
        FormatName::Csv => Box::new(delimited::Delimited::csv(layout)),
        FormatName::Tsv => Box::new(delimited::Delimited::tsv(layout)),
    }
}

/// The narrowest width at which a table of so many columns fits a terminal.
pub(crate) fn narrowest_table(columns: usize) -> usize {
    table::narrowest(columns)
}

/// How a dump is written: every value without a loss.
#[derive(Debug, Clone)]
pub(crate) enum DumpFormat {
    Csv {
        header: bool,
    },
    Tsv {
        header: bool,
    },
    Json,
    Ndjson,
    Sql {
        into: String,
        create: Option<String>,
    },
}

/// The format of a dump.
pub(crate) fn dump_format(format: DumpFormat) -> Box<dyn Format> {
    match format {
        DumpFormat::Csv { header } => {
            Box::new(delimited::Delimited::csv_with_null(Layout::plain(header)))
        }
        DumpFormat::Tsv { header } => Box::new(delimited::Delimited::tsv(Layout::plain(header))),
        DumpFormat::Json => Box::new(json::Json::default()),
        DumpFormat::Ndjson => Box::new(json::Json::lines()),
        DumpFormat::Sql { into, create } => Box::new(inserts::Inserts::new(into, create)),
    }
}
