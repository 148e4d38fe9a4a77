//! Lines of figures that come one after the other, with a header: what `--latency` and `--stat` write.

use std::io::{self, Write};

use indicatif::{HumanBytes, HumanCount};

use super::format::{FormatName, csv_field, json_string};
use crate::output::Out;
use crate::output::text::{Lines, push_visible};

/// On a terminal the header comes again behind so many lines.
const SCREEN: u64 = 20;

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// For people.
    pub(super) head: &'static str,
    /// For programs.
    pub(super) name: &'static str,
    /// 0: people do not see it.
    pub(super) width: usize,
}

impl Column {
    pub(super) const fn new(head: &'static str, name: &'static str, width: usize) -> Self {
        Self { head, name, width }
    }

    pub(super) const fn for_programs(name: &'static str) -> Self {
        Self::new("", name, 0)
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Count(u64),
    Bytes(u64),
    /// With so many decimals.
    Number(f64, usize),
    /// Not known.
    None,
}

impl Cell {
    fn for_people(&self) -> String {
        match self {
            Self::Text(text) => {
                let mut visible = String::new();
                push_visible(text, Lines::Escaped, &mut visible);
                visible
            }
            Self::Count(count) => HumanCount(*count).to_string(),
            Self::Bytes(bytes) => HumanBytes(*bytes).to_string(),
            Self::Number(number, decimals) => format!("{number:.decimals$}"),
            Self::None => "-".to_owned(),
        }
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(text) => json_string(text.as_bytes(), out),
            Self::Count(count) | Self::Bytes(count) => write!(out, "{count}"),
            Self::Number(number, decimals) => write!(out, "{number:.decimals$}"),
            Self::None => out.write_all(b"null"),
        }
    }

    fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(text) => csv_field(text.as_bytes(), out),
            Self::Count(count) | Self::Bytes(count) => write!(out, "{count}"),
            Self::Number(number, decimals) => write!(out, "{number:.decimals$}"),
            Self::None => Ok(()),
        }
    }
}

/// Writes the lines.
pub(super) struct Rows {
    out: Out,
    format: FormatName,
    is_terminal: bool,
    columns: Vec<Column>,
    written: u64,
}

impl Rows {
    pub(super) fn new(
        out: Out,
        format: FormatName,
        is_terminal: bool,
        columns: Vec<Column>,
    ) -> Self {
        Self {
            out,
            format,
            is_terminal,
            columns,
            written: 0,
        }
    }

    /// Writes a line, which is seen at once.
    pub(super) fn write(&mut self, cells: &[Cell]) -> io::Result<()> {
        let (columns, out) = (&self.columns, &mut self.out);
        let needs_header = match self.format {
            FormatName::Json => false,
            FormatName::Csv => self.written == 0,
            _ if self.is_terminal => self.written.is_multiple_of(SCREEN),
            _ => self.written == 0,
        };
        match self.format {
            FormatName::Json => {
                for (number, (column, cell)) in columns.iter().zip(cells).enumerate() {
                    out.write_all(if number == 0 { b"{" } else { b"," })?;
                    write!(out, "\"{}\":", column.name)?;
                    cell.json(out)?;
                }
                out.write_all(b"}\n")?;
            }
            FormatName::Csv => {
                if needs_header {
                    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
                    write!(out, "{}\r\n", names.join(","))?;
                }
                for (number, cell) in cells.iter().enumerate() {
                    if number > 0 {
                        out.write_all(b",")?;
                    }
                    cell.csv(out)?;
                }
                out.write_all(b"\r\n")?;
            }
            FormatName::Raw | FormatName::Readable => {
                if needs_header {
                    let heads = columns.iter().map(|column| column.head.to_owned());
                    line(columns, heads, out)?;
                }
                line(columns, cells.iter().map(Cell::for_people), out)?;
            }
        }
        self.written += 1;
        out.flush()
    }
}

/// Figures are aligned to the right, below each other.
fn line(
    columns: &[Column],
    texts: impl Iterator<Item = String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    let shown = columns.iter().zip(texts);
    for (column, text) in shown.filter(|(column, _)| column.width > 0) {
        let width = column.width;
        if !line.is_empty() {
            line.push_str("  ");
        }
        line.push_str(&format!("{text:>width$}"));
    }
    writeln!(out, "{}", line.trim_end())
}
