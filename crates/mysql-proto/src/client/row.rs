//! Where a row's values lie.
//!
//! A text row is one length-encoded string a column, 0xFB for NULL. A binary row:
//!
//! | bytes       | field       | note                                                         |
//! |-------------|-------------|--------------------------------------------------------------|
//! | 1           | header      | always 0x00                                                  |
//! | (n + 9) / 8 | null bitmap | bit i + 2 for column i                                       |
//! | ...         | values      | of the columns that are not NULL: fixed, or behind a length  |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
#![deny(clippy::indexing_slicing)]

use onecopy_wire::Span;

use crate::codec::{DecodeError, DecodeErrorKind, Reader};

/// The position of a value: an offset in the row's bytes, or a large value's own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// 0: `start` counts in the row; else the home's number.
    pub(super) home: u32,
    pub(super) start: u32,
    /// `NULL` for SQL's NULL.
    pub(super) len: u32,
}

impl Cell {
    /// No value is that long: spans end at 4 GiB - 1, and a home starts at 0.
    const NULL_LEN: u32 = u32::MAX;
    const TAKEN_LEN: u32 = u32::MAX - 1;
    pub(super) const NULL: Self = Self {
        home: 0,
        start: 0,
        len: Self::NULL_LEN,
    };

    /// Returns whether the value is NULL.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.len == Self::NULL_LEN
    }

    pub(super) const TAKEN: Self = Self {
        home: 0,
        start: 0,
        len: Self::TAKEN_LEN,
    };

    /// Returns whether the value was moved out of the row.
    #[inline]
    pub const fn is_taken(self) -> bool {
        self.len == Self::TAKEN_LEN
    }

    /// Returns the value's bytes if they are part of the row's bytes. Returns `None` for NULL, moved and large values.
    #[inline]
    pub fn within(self, row: &[u8]) -> Option<&[u8]> {
        // NULL and taken lie beyond every row, so that one comparison finds them too.
        if self.home == 0 {
            row.get(self.start as usize..self.start as usize + self.len as usize)
        } else {
            None
        }
    }

    /// Returns the span of a large value.
    #[inline]
    pub fn home(self) -> Option<Span> {
        (self.home != 0).then(|| Span::of_home(self.home, self.len))
    }

    /// Returns the span of the value's bytes; `row` is the span of the row. It is empty for NULL and moved values.
    #[inline]
    pub fn span(self, row: Span) -> Span {
        match self.home {
            0 => row.slice(self.start, u32::try_from(self.len()).unwrap_or(0)),
            home => Span::of_home(home, self.len),
        }
    }

    /// Returns the length of the value in bytes, 0 for NULL.
    #[inline]
    pub const fn len(self) -> usize {
        if self.len >= Self::TAKEN_LEN {
            0
        } else {
            self.len as usize
        }
    }

    /// Returns whether the value has no bytes, as also for NULL.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns whether the value has its own memory.
    #[inline]
    pub const fn is_large(self) -> bool {
        self.home != 0
    }
}

const TEXT: &str = "text row";
const BINARY: &str = "binary row";

/// Bytes of a binary row before its values.
pub(super) const fn binary_head(columns: usize) -> usize {
    1 + (columns + 9) / 8
}

/// Whether the bitmap, which is `head` without its first byte, marks the column NULL.
#[inline]
pub(super) fn is_null(bitmap: &[u8], column: usize) -> bool {
    let bit = column + 2;
    bitmap
        .get(bit / 8)
        .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

/// Finds the values of a whole text row.
#[inline]
pub(super) fn scan_text(row: &[u8], cells: &mut [Cell]) -> Result<(), DecodeError> {
    let mut at = 0usize;
    for cell in cells {
        match row.get(at) {
            Some(&short @ 0..=0xFA) => {
                *cell = Cell {
                    home: 0,
                    start: position(at + 1),
                    len: u32::from(short),
                };
                at += 1 + usize::from(short);
            }
            Some(0xFB) => {
                *cell = Cell::NULL;
                at += 1;
            }
            _ => at = scan_long(TEXT, row, at, cell)?,
        }
    }
    end(TEXT, row, at)
}

/// Finds the values of a whole binary row; `widths` has one entry a column.
#[inline]
pub(super) fn scan_binary(
    row: &[u8],
    widths: &[u8],
    cells: &mut [Cell],
) -> Result<(), DecodeError> {
    let head = binary_head(cells.len());
    let (Some(bitmap), Some(0)) = (row.get(1..head), row.first()) else {
        return Err(bad_head(row));
    };
    let mut at = head;
    let places = cells.iter_mut().zip(widths);
    // Most rows have no NULL, and then there is no bit to look at.
    if bitmap.iter().all(|&eight| eight == 0) {
        for (cell, &width) in places {
            at = find_binary(row, at, width, cell)?;
        }
        return end(BINARY, row, at);
    }
    // The first two bits of the bitmap are of no column.
    let (mut nulls, mut bit) = (bitmap.iter(), 2u8);
    let mut eight = nulls.next().copied().unwrap_or(0) >> 2;
    for (cell, &width) in places {
        if bit == 8 {
            eight = nulls.next().copied().unwrap_or(0);
            bit = 0;
        }
        if eight & 1 == 1 {
            *cell = Cell::NULL;
        } else {
            at = find_binary(row, at, width, cell)?;
        }
        eight >>= 1;
        bit += 1;
    }
    end(BINARY, row, at)
}

/// Finds a binary value that is not NULL; gives where the next one begins.
#[inline(always)]
fn find_binary(row: &[u8], at: usize, width: u8, cell: &mut Cell) -> Result<usize, DecodeError> {
    if width != 0 {
        *cell = Cell {
            home: 0,
            start: position(at),
            len: u32::from(width),
        };
        return Ok(at + usize::from(width));
    }
    if let Some(&short @ 0..=0xFA) = row.get(at) {
        *cell = Cell {
            home: 0,
            start: position(at + 1),
            len: u32::from(short),
        };
        return Ok(at + 1 + usize::from(short));
    }
    let next = scan_long(BINARY, row, at, cell)?;
    if cell.is_null() {
        return Err(error(BINARY, row, next - 1, DecodeErrorKind::BadValue));
    }
    Ok(next)
}

/// A length of more than one byte, and what is none.
#[cold]
fn scan_long(
    packet: &'static str,
    row: &[u8],
    at: usize,
    cell: &mut Cell,
) -> Result<usize, DecodeError> {
    let mut reader = Reader::new(packet, row.get(at..).unwrap_or_default());
    match reader
        .long_lenenc_or_null("value")
        .map_err(|found| error(packet, row, at, found.kind))?
    {
        None => {
            *cell = Cell::NULL;
            Ok(at + 1)
        }
        Some(len) => {
            let start = at + reader.offset();
            let Some(end) = usize::try_from(len)
                .ok()
                .and_then(|len| start.checked_add(len))
                .filter(|&end| end <= row.len())
            else {
                return Err(error(packet, row, at, DecodeErrorKind::BadLength));
            };
            *cell = Cell {
                home: 0,
                start: position(start),
                len: position(end - start),
            };
            Ok(end)
        }
    }
}

/// The last value ends where the row ends: what is longer or shorter is malformed.
#[inline]
fn end(packet: &'static str, row: &[u8], at: usize) -> Result<(), DecodeError> {
    if at == row.len() {
        return Ok(());
    }
    let kind = if at > row.len() {
        DecodeErrorKind::Truncated
    } else {
        DecodeErrorKind::Trailing
    };
    Err(error(packet, row, at.min(row.len()), kind))
}

#[cold]
fn bad_head(row: &[u8]) -> DecodeError {
    let kind = if matches!(row.first(), None | Some(0)) {
        DecodeErrorKind::Truncated
    } else {
        DecodeErrorKind::BadValue
    };
    DecodeError {
        packet: BINARY,
        field: "null bitmap",
        offset: 0,
        kind,
    }
}

#[cold]
fn error(packet: &'static str, row: &[u8], at: usize, kind: DecodeErrorKind) -> DecodeError {
    DecodeError {
        packet,
        field: "value",
        // A value that continues behind the row's end shows with the next column, or at the end.
        offset: position(at.min(row.len())),
        kind,
    }
}

/// Rows that are scanned whole are far below 4 GiB.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn position(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
mod tests;
