//! A large row, borrowed: small values stay in the read buffer, large ones are read straight into memory of their own.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::Buffers;

use super::core::row_too_long;
use super::row::{Cell, binary_head, is_null};
use super::{Definitions, Limits};
use crate::Error;
use crate::codec::{DecodeError, DecodeErrorKind, Reader};
use crate::frame::{FrameReader, Large};

/// A row whose values are found while it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LargeRow {
    payload: Large,
    binary: bool,
    /// Values found so far.
    column: usize,
    /// Bytes of the payload that are found, those in homes included.
    position: u64,
    /// Bytes of the read buffer that are found: they are consumed all at once, at the end.
    cursor: usize,
    /// The last column's home is being filled.
    in_home: bool,
}

/// What a value's first bytes say.
pub(super) enum Prefix {
    /// Not all of them have arrived.
    Cut,
    Null,
    /// Bytes of the prefix itself, and of the value.
    Value(usize, u64),
}

impl LargeRow {
    pub(super) fn new(payload: Large, binary: bool) -> Self {
        Self {
            payload,
            binary,
            column: 0,
            position: 0,
            cursor: 0,
            in_home: false,
        }
    }

    /// Continues until the row is complete (`Some` of the bytes in the read buffer) or more must come (`None`).
    pub(super) fn advance(
        &mut self,
        buffers: &mut Buffers,
        frames: &mut FrameReader,
        definitions: &Definitions,
        cells: &mut [Cell],
        limits: &Limits,
        home_column: Option<usize>,
    ) -> Result<Option<usize>, Error> {
        self.payload.update(buffers, frames)?;
        if self.payload.known() > limits.max_row_bytes {
            return Err(row_too_long(self.payload.known(), limits));
        }
        if self.in_home {
            if buffers.home_missing() > 0 {
                self.check_end(self.position)?;
                return Ok(self.need(buffers, buffers.home_missing()));
            }
            let span = buffers.finish_home();
            if let Some(cell) = cells.get_mut(self.column) {
                *cell = Cell {
                    home: span.home(),
                    start: 0,
                    len: small(span.len()),
                };
            }
            self.column += 1;
            self.in_home = false;
        }
        if self.binary && self.position == 0 && !self.take_head(buffers, cells.len())? {
            return Ok(None);
        }
        while let Some(cell) = cells.get_mut(self.column) {
            let unparsed = self.unparsed(buffers);
            let have = unparsed.len();
            let found = if self.binary {
                let bitmap = buffers.pending().get(1..).unwrap_or_default();
                binary_prefix(bitmap, self.column, definitions.widths(), unparsed)
            } else {
                text_prefix(unparsed)
            };
            match found.map_err(|kind| self.malformed(kind))? {
                Prefix::Cut => {
                    self.check_end(self.position + have as u64 + 1)?;
                    return Ok(self.need(buffers, 1));
                }
                Prefix::Null => {
                    *cell = Cell::NULL;
                    self.pass(usize::from(!self.binary));
                    self.column += 1;
                }
                Prefix::Value(skip, len) => {
                    let end = self
                        .position
                        .saturating_add(skip as u64)
                        .saturating_add(len);
                    if end > limits.max_row_bytes {
                        return Err(row_too_long(end, limits));
                    }
                    self.check_end(end)?;
                    let len = usize::try_from(len).map_err(|_| row_too_long(end, limits))?;
                    if have >= skip + len {
                        *cell = Cell {
                            home: 0,
                            start: small(self.cursor + skip),
                            len: small(len),
                        };
                        self.pass(skip + len);
                        self.column += 1;
                    } else if len >= limits.large_value_bytes {
                        // A vector that the caller offered is for one column only.
                        let kept = if home_column == Some(self.column) {
                            None
                        } else {
                            buffers.withdraw_home()
                        };
                        let begun = buffers.begin_home(len, have - skip);
                        if let Some(kept) = kept {
                            buffers.offer_home(kept);
                        }
                        begun?;
                        self.cursor += skip;
                        self.position = end;
                        self.in_home = true;
                        return Ok(self.need(buffers, buffers.home_missing()));
                    } else {
                        return Ok(self.need(buffers, skip + len - have));
                    }
                }
            }
        }
        if !self.payload.is_last() {
            // An exact multiple of the packet's length: the empty packet behind it is still to come.
            return Ok(self.need(buffers, 1));
        }
        if self.position < self.payload.known() {
            return Err(self.malformed(DecodeErrorKind::Trailing).into());
        }
        Ok(Some(self.cursor))
    }

    /// The binary row's first byte and bitmap; they stay in the read buffer as the row's first bytes.
    fn take_head(&mut self, buffers: &mut Buffers, columns: usize) -> Result<bool, Error> {
        let head = binary_head(columns);
        let have = self.unparsed(buffers).len();
        if have < head {
            self.check_end(head as u64)?;
            self.need(buffers, head - have);
            return Ok(false);
        }
        if buffers.pending().first() != Some(&0) {
            return Err(self.malformed(DecodeErrorKind::BadValue).into());
        }
        self.pass(head);
        Ok(true)
    }

    /// `bytes` more of the read buffer are found.
    fn pass(&mut self, bytes: usize) {
        self.cursor += bytes;
        self.position += bytes as u64;
    }

    /// The row's bytes that have arrived and are not found yet.
    fn unparsed<'b>(&self, buffers: &'b Buffers) -> &'b [u8] {
        let pending = buffers.pending().get(self.cursor..).unwrap_or_default();
        let own = usize::try_from(self.payload.available(self.position)).unwrap_or(usize::MAX);
        pending.get(..own).unwrap_or(pending)
    }

    fn need(&self, buffers: &mut Buffers, min: usize) -> Option<usize> {
        buffers.need(min, self.payload.until_end());
        None
    }

    /// Refuses what would continue behind the end of the payload.
    fn check_end(&self, end: u64) -> Result<(), DecodeError> {
        if self.payload.is_last() && end > self.payload.known() {
            return Err(self.malformed(DecodeErrorKind::BadLength));
        }
        Ok(())
    }

    #[cold]
    fn malformed(&self, kind: DecodeErrorKind) -> DecodeError {
        let packet = if self.binary {
            "binary row"
        } else {
            "text row"
        };
        DecodeError {
            packet,
            field: "value",
            offset: u32::try_from(self.position).unwrap_or(u32::MAX),
            kind,
        }
    }
}

/// The length of a text value.
pub(super) fn text_prefix(bytes: &[u8]) -> Result<Prefix, DecodeErrorKind> {
    match bytes.first() {
        None => Ok(Prefix::Cut),
        Some(0xFB) => Ok(Prefix::Null),
        Some(_) => length_prefix(bytes),
    }
}

/// The length of a binary value; a NULL has no bytes at all.
pub(super) fn binary_prefix(
    bitmap: &[u8],
    column: usize,
    widths: &[u8],
    bytes: &[u8],
) -> Result<Prefix, DecodeErrorKind> {
    if is_null(bitmap, column) {
        return Ok(Prefix::Null);
    }
    match widths.get(column) {
        Some(0) | None if bytes.first() == Some(&0xFB) => Err(DecodeErrorKind::BadValue),
        Some(0) | None => length_prefix(bytes),
        Some(&width) => Ok(Prefix::Value(0, u64::from(width))),
    }
}

fn length_prefix(bytes: &[u8]) -> Result<Prefix, DecodeErrorKind> {
    let mut reader = Reader::new("row", bytes);
    match reader.lenenc("value") {
        Ok(len) => Ok(Prefix::Value(reader.offset(), len)),
        Err(error) if error.kind == DecodeErrorKind::Truncated => Ok(Prefix::Cut),
        Err(error) => Err(error.kind),
    }
}

/// Offsets and lengths within the read buffer or a home, both below 4 GiB.
#[allow(clippy::cast_possible_truncation)]
fn small(n: usize) -> u32 {
    n as u32
}
