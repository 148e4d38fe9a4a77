//! INSERT statements, each of many rows.

use std::io::Write;

use super::escape::write_escaped;
use super::{Column, Format, Kind, Out, Value};
use crate::failure::Failure;

/// A statement of this many bytes is ended: 512 KiB, below the smallest `max_allowed_packet` that servers have by default.
const STATEMENT: u64 = 512 << 10;

/// Values up to this size, which nearly all are, have a shorter way: 64 KiB.
const SMALL: usize = 64 << 10;

/// Values as literals: numbers as they are, text in quotes, bytes as `0x...`.
pub(super) struct Inserts {
    /// The table, quoted.
    into: String,
    create: Option<String>,
    /// `INSERT INTO t (a, b) VALUES` with the columns' names.
    head: Vec<u8>,
    /// Of the statement that is open.
    bytes: u64,
    column: usize,
}

impl Inserts {
    pub(super) fn new(into: String, create: Option<String>) -> Self {
        Self {
            into,
            create,
            head: Vec::new(),
            bytes: 0,
            column: 0,
        }
    }

    /// What stands in front of a value.
    #[inline]
    fn begin_value(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.column += 1;
        if self.column > 1 {
            return self.put(out, b",");
        }
        if self.bytes > 0 {
            return self.put(out, b",\n(");
        }
        self.bytes += self.head.len() as u64;
        out.write_all(&self.head)?;
        self.put(out, b"\n(")
    }

    #[inline]
    fn put(&mut self, out: &mut Out, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes += bytes.len() as u64;
        Ok(out.write_all(bytes)?)
    }
}

impl Format for Inserts {
    fn begin(&mut self, columns: &[Column], out: &mut Out) -> Result<(), Failure> {
        let names: Vec<String> = columns
            .iter()
            .map(|column| crate::table::quoted(&column.name))
            .collect();
        self.head = format!("INSERT INTO {} ({}) VALUES", self.into, names.join(", ")).into_bytes();
        out.write_all(BEGIN.as_bytes())?;
        if let Some(create) = &self.create {
            out.write_all(create.as_bytes())?;
            out.write_all(b";\n")?;
        }
        Ok(())
    }

    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.begin_value(out)?;
        let Some(value) = value else {
            return self.put(out, b"NULL");
        };
        self.bytes += value.len;
        match column.kind {
            Kind::Number | Kind::Bit => write_plain(value, out),
            // A hexadecimal literal of nothing is none.
            Kind::Bytes if value.len > 0 => write_hex(value, out),
            Kind::Text | Kind::Bytes => write_text(value, out),
        }
    }

    fn bytes(&mut self, column: &Column, mut bytes: &[u8], out: &mut Out) -> Result<(), Failure> {
        let is_hex = column.kind == Kind::Bytes && !bytes.is_empty();
        if is_hex || bytes.len() > SMALL {
            let len = bytes.len() as u64;
            let bytes = &mut bytes;
            return self.value(column, Some(Value { len, bytes }), out);
        }
        self.begin_value(out)?;
        self.bytes += bytes.len() as u64;
        if matches!(column.kind, Kind::Number | Kind::Bit) {
            return Ok(out.write_all(bytes)?);
        }
        out.write_all(b"'")?;
        write_escaped(out, bytes, is_special, escape)?;
        Ok(out.write_all(b"'")?)
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.column = 0;
        self.put(out, b")")?;
        if self.bytes >= STATEMENT {
            self.bytes = 0;
            out.write_all(b";\n")?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.bytes > 0 {
            out.write_all(b";\n")?;
        }
        Ok(out.write_all(END.as_bytes())?)
    }
}

/// Makes the literals mean the same in every session: no time zone, no generated id for 0, backslashes as escapes.
const BEGIN: &str = "\
SET NAMES utf8mb4;
SET @onecopy_time_zone = @@time_zone, @onecopy_sql_mode = @@sql_mode;
SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
";

const END: &str = "SET time_zone = @onecopy_time_zone, sql_mode = @onecopy_sql_mode;\n";

fn write_plain(value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            return Ok(());
        }
        out.write_all(piece)?;
        value.bytes.consume(len);
    }
}

fn write_text(value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
    out.write_all(b"'")?;
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            return Ok(out.write_all(b"'")?);
        }
        write_escaped(out, piece, is_special, escape)?;
        value.bytes.consume(len);
    }
}

/// A line feed too: a row stays on its line.
#[inline(always)]
fn is_special(byte: u8) -> bool {
    matches!(byte, b'\'' | b'\\' | b'\n' | b'\r' | 0)
}

fn escape(special: u8) -> &'static [u8] {
    match special {
        b'\'' => b"\\'",
        b'\\' => b"\\\\",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        _ => b"\\0",
    }
}

fn write_hex(value: Value<'_>, out: &mut Out) -> Result<(), Failure> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut digits = [0; 1 << 10];
    out.write_all(b"0x")?;
    loop {
        let piece = value.bytes.fill_buf()?;
        let len = piece.len();
        if len == 0 {
            return Ok(());
        }
        for part in piece.chunks(digits.len() / 2) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(part) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 0x0F)];
            }
            out.write_all(&digits[..2 * part.len()])?;
        }
        value.bytes.consume(len);
    }
}
