//! CSV and TSV.

use std::io::Write;

use super::escape::{first, write_escaped};
use super::{Column, Format, Layout, Out, Value};
use crate::failure::Failure;

/// Values up to this size, which nearly all are, have a shorter way: 64 KiB.
const SMALL: usize = 64 << 10;

/// Values between delimiters, a row a line. Several results follow each other with an empty line between.
pub(super) struct Delimited {
    dialect: Dialect,
    header: bool,
    results: u64,
    at_line_start: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// RFC 4180: CRLF, quotes where they are needed, quotes inside doubled. NULL is nothing at all, an empty text `""`.
    Csv,
    /// The same, but NULL is `\N`; a text of backslashes and an N has one backslash more.
    CsvWithNull,
    /// What `LOAD DATA` reads by default, which also reads `\N` as NULL.
    Tsv,
}

impl Delimited {
    pub(super) fn csv(layout: Layout) -> Self {
        Self {
            dialect: Dialect::Csv,
            header: layout.header,
            results: 0,
            at_line_start: true,
        }
    }

    pub(super) fn csv_with_null(layout: Layout) -> Self {
        Self {
            dialect: Dialect::CsvWithNull,
            ..Self::csv(layout)
        }
    }

    pub(super) fn tsv(layout: Layout) -> Self {
        Self {
            dialect: Dialect::Tsv,
            header: layout.header,
            results: 0,
            at_line_start: true,
        }
    }

    fn delimit(&mut self, out: &mut Out) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.at_line_start, false) {
            out.write_all(match self.dialect {
                Dialect::Csv | Dialect::CsvWithNull => b",",
                Dialect::Tsv => b"\t",
            })?;
        }
        Ok(())
    }

    fn end_line(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.at_line_start = true;
        let end: &[u8] = match self.dialect {
            Dialect::Csv | Dialect::CsvWithNull => b"\r\n",
            Dialect::Tsv => b"\n",
        };
        out.write_all(end)?;
        Ok(())
    }

    fn write(&self, mut value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
        match self.dialect {
            Dialect::Csv => write_csv(&mut value, out),
            Dialect::CsvWithNull => {
                let piece = value.bytes.fill_buf()?;
                if piece.len() as u64 == value.len && looks_like_null(piece) {
                    out.write_all(b"\\")?;
                }
                write_csv(&mut value, out)
            }
            Dialect::Tsv => loop {
                let piece = value.bytes.fill_buf()?;
                let len = piece.len();
                if len == 0 {
                    return Ok(());
                }
                write_escaped(out, piece, is_special_in_tsv, tsv_escape)?;
                value.bytes.consume(len);
            },
        }
    }
}

impl Format for Delimited {
    fn begin(&mut self, columns: &[Column], out: &mut Out) -> Result<(), Failure> {
        self.results += 1;
        if self.results > 1 {
            self.end_line(out)?;
        }
        if !self.header {
            return Ok(());
        }
        for column in columns {
            let mut name = column.name.as_bytes();
            self.delimit(out)?;
            self.write(
                Value {
                    len: name.len() as u64,
                    bytes: &mut name,
                },
                out,
            )?;
        }
        self.end_line(out)
    }

    fn value(
        &mut self,
        _column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.delimit(out)?;
        match (value, self.dialect) {
            (Some(value), _) => self.write(value, out),
            (None, Dialect::Csv) => Ok(()),
            (None, Dialect::CsvWithNull | Dialect::Tsv) => Ok(out.write_all(b"\\N")?),
        }
    }

    fn bytes(&mut self, column: &Column, mut bytes: &[u8], out: &mut Out) -> Result<(), Failure> {
        let is_small = bytes.len() <= SMALL;
        match self.dialect {
            Dialect::Tsv if is_small => {
                self.delimit(out)?;
                Ok(write_escaped(out, bytes, is_special_in_tsv, tsv_escape)?)
            }
            Dialect::Csv | Dialect::CsvWithNull
                if is_small && !bytes.is_empty() && first(bytes, is_special_in_csv).is_none() =>
            {
                self.delimit(out)?;
                Ok(out.write_all(bytes)?)
            }
            _ => {
                let len = bytes.len() as u64;
                let bytes = &mut bytes;
                self.value(column, Some(Value { len, bytes }), out)
            }
        }
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.end_line(out)?;
        Ok(out.end_row()?)
    }

    fn end(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }
}

/// Backslashes and an N.
fn looks_like_null(text: &[u8]) -> bool {
    matches!(text, [b'\\', rest @ .., b'N'] if rest.iter().all(|&byte| byte == b'\\'))
}

#[inline(always)]
fn is_special_in_tsv(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b'\\' | 0)
}

fn tsv_escape(special: u8) -> &'static [u8] {
    match special {
        b'\t' => b"\\t",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\\' => b"\\\\",
        _ => b"\\0",
    }
}

/// A backslash may be the beginning of what looks like NULL.
#[inline(always)]
fn is_special_in_csv(byte: u8) -> bool {
    needs_quotes(byte) || byte == b'\\'
}

#[inline(always)]
fn needs_quotes(byte: u8) -> bool {
    matches!(byte, b'"' | b',' | b'\r' | b'\n')
}

/// A value that comes in more than one piece is quoted: what comes later may need it.
fn write_csv(value: &mut Value<'_>, out: &mut Out) -> Result<(), Failure> {
    let piece = value.bytes.fill_buf()?;
    let len = piece.len();
    if len > 0 && len as u64 == value.len && first(piece, needs_quotes).is_none() {
        out.write_all(piece)?;
        value.bytes.consume(len);
        return Ok(());
    }
    out.write_all(b"\"")?;
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            break;
        }
        write_escaped(out, piece, |byte| byte == b'"', |_| b"\"\"")?;
        value.bytes.consume(len);
    }
    Ok(out.write_all(b"\"")?)
}
