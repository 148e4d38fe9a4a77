//! JSON: each result an array, each row an object on a line of its own.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;

use super::escape::{first, write_escaped};
use super::json_text::{escape, is_special, is_special_or_not_ascii, number, write_string};
use super::text::{Part, Pieces};
use super::{Column, Format, Kind, Out, Value};
use crate::failure::Failure;

/// A text up to this size is looked at as a whole, and written as bytes where it is not UTF-8. A longer one is written
/// as it comes, and where it is not UTF-8 the result breaks off: 64 KiB.
const WHOLE_TEXT: u64 = 64 << 10;

/// Numbers are written with every digit that the server sent; text as strings; bytes as `{"base64":"..."}`.
#[derive(Default)]
pub(super) struct Json {
    /// Each column's name as JSON, with what stands before and behind it, and the quote that begins a string.
    keys: Vec<Vec<u8>>,
    rows: u64,
    /// Columns of this row that are written.
    column: usize,
    /// Objects alone, a line each.
    is_lines: bool,
    /// A value that is looked at as a whole.
    whole: Vec<u8>,
}

impl Json {
    /// Objects without an array around them, a line each.
    pub(super) fn lines() -> Self {
        Self {
            is_lines: true,
            ..Self::default()
        }
    }
}

impl Format for Json {
    fn begin(&mut self, columns: &[Column], out: &mut Out) -> Result<(), Failure> {
        self.rows = 0;
        self.keys = keys(columns)?;
        if self.is_lines {
            return Ok(());
        }
        Ok(out.write_all(b"[")?)
    }

    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.write_key(false, out)?;
        let Some(value) = value else {
            return Ok(out.write_all(b"null")?);
        };
        match column.kind {
            Kind::Number | Kind::Bit => {
                self.read_whole(value)?;
                write_number(&self.whole, out)
            }
            Kind::Text => self.write_text(column, value, out),
            Kind::Bytes => write_base64(value, out),
        }
    }

    fn bytes(&mut self, column: &Column, mut bytes: &[u8], out: &mut Out) -> Result<(), Failure> {
        let is_small = bytes.len() as u64 <= WHOLE_TEXT;
        match column.kind {
            Kind::Text if is_small && first(bytes, is_special_or_not_ascii).is_none() => {
                self.write_key(true, out)?;
                out.write_all(bytes)?;
                Ok(out.write_all(b"\"")?)
            }
            Kind::Number | Kind::Bit => {
                self.write_key(false, out)?;
                write_number(bytes, out)
            }
            _ => {
                let len = bytes.len() as u64;
                let bytes = &mut bytes;
                self.value(column, Some(Value { len, bytes }), out)
            }
        }
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.column = 0;
        out.write_all(if self.is_lines { b"}\n" } else { b"}" })?;
        Ok(out.end_row()?)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.is_lines {
            return Ok(());
        }
        Ok(out.write_all(if self.rows == 0 { b"]\n" } else { b"\n]\n" })?)
    }

    fn break_off(&mut self, out: &mut Out) -> Result<(), Failure> {
        if std::mem::take(&mut self.column) == 0 && self.is_lines {
            return Ok(());
        }
        Ok(out.write_all(b"\n")?)
    }
}

impl Json {
    /// What stands before the next value, of a string with its quote.
    #[inline]
    fn write_key(&mut self, of_string: bool, out: &mut Out) -> Result<(), Failure> {
        if self.column == 0 {
            self.rows += 1;
            if !self.is_lines {
                out.write_all(if self.rows == 1 { b"\n" } else { b",\n" })?;
            }
        }
        let key = self.keys.get(self.column).map_or(&[][..], Vec::as_slice);
        self.column += 1;
        match (key, of_string) {
            ([key @ .., b'"'], false) => Ok(out.write_all(key)?),
            (key, _) => Ok(out.write_all(key)?),
        }
    }

    fn write_text(
        &mut self,
        column: &Column,
        value: Value<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if value.len > WHOLE_TEXT {
            return write_long_text(column, value, out);
        }
        let piece = value.bytes.fill_buf()?;
        if piece.len() as u64 == value.len && std::str::from_utf8(piece).is_ok() {
            let len = piece.len();
            write_string(piece, out)?;
            value.bytes.consume(len);
            return Ok(());
        }
        self.read_whole(value)?;
        match std::str::from_utf8(&self.whole) {
            Ok(_) => Ok(write_string(&self.whole, out)?),
            Err(_) => write_base64(
                Value {
                    len: self.whole.len() as u64,
                    bytes: &mut self.whole.as_slice(),
                },
                out,
            ),
        }
    }

    fn read_whole(&mut self, value: Value<'_>) -> Result<(), Failure> {
        self.whole.clear();
        value.bytes.read_to_end(&mut self.whole)?;
        Ok(())
    }
}

fn write_number(text: &[u8], out: &mut Out) -> Result<(), Failure> {
    match number(text) {
        Some((sign, digits)) => {
            out.write_all(sign)?;
            Ok(out.write_all(digits)?)
        }
        None => Ok(write_string(text, out)?),
    }
}

/// `{"id":"` for the first column, `,"name":"` for the others. A name that is there already gets its count: no parser
/// keeps two values of one name.
fn keys(columns: &[Column]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut taken: HashSet<String> = HashSet::new();
    let given: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let mut keys = Vec::with_capacity(columns.len());
    for column in columns {
        let count = counts.entry(&column.name).or_insert(0);
        *count += 1;
        let mut name = column.name.clone();
        if *count > 1 {
            name = format!("{}_{count}", column.name);
            while given.contains(name.as_str()) || taken.contains(&name) {
                *count += 1;
                name = format!("{}_{count}", column.name);
            }
        }
        let mut key = if keys.is_empty() {
            b"{".to_vec()
        } else {
            b",".to_vec()
        };
        write_string(name.as_bytes(), &mut key)?;
        key.extend_from_slice(b":\"");
        keys.push(key);
        taken.insert(name);
    }
    Ok(keys)
}

fn write_long_text(column: &Column, value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
    out.write_all(b"\"")?;
    let mut pieces = Pieces::default();
    let mut write = |part: Part<'_>| match part {
        Part::Text(text) => Ok(write_escaped(out, text.as_bytes(), is_special, escape)?),
        Part::Bad(_) => Err(Failure::other(format!(
            "column {} holds a long text that is not UTF-8, which JSON can't carry; CAST(... AS BINARY) makes it bytes",
            column.name
        ))),
    };
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            break;
        }
        pieces.feed(piece, &mut write)?;
        value.bytes.consume(len);
    }
    pieces.finish(&mut write)?;
    Ok(out.write_all(b"\"")?)
}

fn write_base64(value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
    out.write_all(b"{\"base64\":\"")?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            break;
        }
        encoder.write_all(piece)?;
        value.bytes.consume(len);
    }
    encoder.finish()?;
    drop(encoder);
    Ok(out.write_all(b"\"}")?)
}

#[cfg(test)]
mod tests;
