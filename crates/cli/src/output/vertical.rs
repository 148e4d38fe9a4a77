//! A line for each column.

use std::io::Write;

use unicode_width::UnicodeWidthStr;

use super::style::{ABSENT, NAME, NUMBER, PLAIN, around};
use super::text::{Lines, Part, Pieces, is_readable, push_bytes, push_hex, push_visible};
use super::{Column, Format, Kind, Layout, Out, Value};
use crate::failure::Failure;

/// `name: value` a line, the names aligned at the colon. Values are whole, on as many lines as they have.
pub(super) struct Vertical {
    layout: Layout,
    /// The columns' names, aligned.
    names: Vec<String>,
    rows: u64,
    column: usize,
    line: String,
}

impl Vertical {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            names: Vec::new(),
            rows: 0,
            column: 0,
            line: String::new(),
        }
    }
}

impl Format for Vertical {
    fn begin(&mut self, columns: &[Column], out: &mut Out) -> Result<(), Failure> {
        let names = columns.iter().map(|column| {
            let mut name = String::new();
            push_visible(&column.name, Lines::Escaped, &mut name);
            name
        });
        self.names = names.collect();
        let width = self
            .names
            .iter()
            .map(|name| name.width())
            .max()
            .unwrap_or(0);
        for name in &mut self.names {
            *name = format!("{}{name}: ", " ".repeat(width - name.width()));
        }
        if self.rows > 0 {
            out.write_all(b"\n")?;
        }
        self.rows = 0;
        Ok(())
    }

    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if self.column == 0 {
            self.rows += 1;
            let (start, end) = around(ABSENT, self.layout.colours);
            writeln!(out, "{start}---- row {} ----{end}", self.rows)?;
        }
        let name = self.names.get(self.column).map_or("", String::as_str);
        let (start, end) = around(NAME, self.layout.colours);
        write!(out, "{start}{name}{end}")?;
        self.column += 1;
        let style = match (&value, column.kind) {
            (None, _) => ABSENT,
            (_, Kind::Number | Kind::Bit) => NUMBER,
            _ => PLAIN,
        };
        let (start, end) = around(style, self.layout.colours);
        write!(out, "{start}")?;
        match value {
            Some(value) => write_value(column, value, &mut self.line, out)?,
            None => out.write_all(self.layout.null.as_bytes())?,
        }
        write!(out, "{end}")?;
        Ok(out.write_all(b"\n")?)
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.column = 0;
        Ok(out.end_row()?)
    }

    fn end(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }

    fn break_off(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.column = 0;
        Ok(out.write_all(b"\n")?)
    }
}

/// Text is shown as text. Bytes are too where their first piece reads well, otherwise in hexadecimal.
fn write_value(
    column: &Column,
    value: Value<'_>,
    line: &mut String,
    out: &mut Out,
) -> Result<(), Failure> {
    let first = value.bytes.fill_buf()?;
    let is_whole = first.len() as u64 == value.len;
    if column.kind == Kind::Bytes && !is_readable(first, is_whole) {
        return write_hex(value, line, out);
    }
    let mut pieces = Pieces::default();
    let mut write = |part: Part<'_>| -> Result<(), Failure> {
        line.clear();
        match part {
            Part::Text(text) => push_visible(text, Lines::Kept, line),
            Part::Bad(bytes) => push_bytes(bytes, line),
        }
        Ok(out.write_all(line.as_bytes())?)
    };
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            return pieces.finish(write);
        }
        pieces.feed(piece, &mut write)?;
        value.bytes.consume(len);
    }
}

fn write_hex(value: Value<'_>, line: &mut String, out: &mut Out) -> Result<(), Failure> {
    out.write_all(b"0x")?;
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            return Ok(());
        }
        for part in piece.chunks(HEX_PART) {
            line.clear();
            push_hex(part, line);
            out.write_all(line.as_bytes())?;
        }
        value.bytes.consume(len);
    }
}

/// Bytes are turned into hexadecimal in parts of this size: 4 KiB.
const HEX_PART: usize = 4 << 10;
