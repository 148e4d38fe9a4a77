//! INSERT statements, each of many rows.

use std::io::Write;

use super::escape::write_escaped;
use super::{Column, Format, Kind, Out, Value};
use crate::failure::Failure;

/// A statement of this many bytes is ended: 512 KiB, below the smallest `max_allowed_packet` that servers have by default.
const STATEMENT: u64 = 512 << 10;

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
        if self.column > 0 {
            self.put(out, b",")?;
        } else if self.bytes == 0 {
            let head = std::mem::take(&mut self.head);
            self.put(out, &head)?;
            self.head = head;
            self.put(out, b"\n(")?;
        } else {
            self.put(out, b",\n(")?;
        }
        self.column += 1;
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

/// What the literals mean, whoever runs them: no time zone, no generated id for 0, backslashes as escapes.
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
        write_escaped(out, piece, escape)?;
        value.bytes.consume(len);
    }
}

/// A line feed too: a row stays on its line.
fn escape(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'\'' => Some(b"\\'"),
        b'\\' => Some(b"\\\\"),
        b'\n' => Some(b"\\n"),
        b'\r' => Some(b"\\r"),
        0 => Some(b"\\0"),
        _ => None,
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
