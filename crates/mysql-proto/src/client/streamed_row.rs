//! A row whose values are handed out strictly in order and in pieces, in constant memory.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span, WireError};

use super::large_row::{Prefix, binary_prefix, text_prefix};
use super::row::binary_head;
use crate::Error;
use crate::codec::{DecodeError, DecodeErrorKind};
use crate::frame::{FrameReader, Large};

/// A value up to this size is handed out in one piece, so that numbers and dates can be decoded: 4 KiB.
const ONE_PIECE: u64 = 4 << 10;

/// How far a streamed row is.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamedRow {
    payload: Large,
    binary: bool,
    /// Values whose length was told.
    column: usize,
    /// Bytes of the payload that were handed out or dropped.
    position: u64,
    value_left: u64,
    skip_value: bool,
    skip_row: bool,
}

pub(super) enum Streamed {
    Missing,
    Value(Option<u64>),
    Piece(Span),
    End { skipped: bool },
}

impl StreamedRow {
    pub(super) fn new(payload: Large, binary: bool) -> Self {
        Self {
            payload,
            binary,
            column: 0,
            position: 0,
            value_left: 0,
            skip_value: false,
            skip_row: false,
        }
    }

    pub(super) fn value_left(&self) -> u64 {
        if self.skip_value { 0 } else { self.value_left }
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn skip_value(&mut self) {
        self.skip_value = self.value_left > 0;
    }

    pub(super) fn skip_row(&mut self) {
        self.skip_row = true;
    }

    pub(super) fn advance(
        &mut self,
        buffers: &mut Buffers,
        frames: &mut FrameReader,
        widths: &[u8],
        bitmap: &mut Vec<u8>,
    ) -> Result<Streamed, Error> {
        self.payload.update(buffers, frames)?;
        if self.skip_row {
            return Ok(self.skip_rest(buffers));
        }
        loop {
            if self.value_left > 0 {
                if let Some(streamed) = self.piece(buffers)? {
                    return Ok(streamed);
                }
                continue;
            }
            self.skip_value = false;
            if self.binary
                && self.position == 0
                && !self.take_head(buffers, widths.len(), bitmap)?
            {
                return Ok(Streamed::Missing);
            }
            if self.column == widths.len() {
                return self.end(buffers);
            }
            let unparsed = self.unparsed(buffers);
            let have = unparsed.len();
            let found = if self.binary {
                binary_prefix(bitmap, self.column, widths, unparsed)
            } else {
                text_prefix(unparsed)
            };
            match found.map_err(|kind| self.malformed(kind))? {
                Prefix::Cut => {
                    self.check_end(have as u64 + 1)?;
                    return Ok(self.missing(buffers, 1));
                }
                Prefix::Null => {
                    self.take(buffers, usize::from(!self.binary));
                    self.column += 1;
                    return Ok(Streamed::Value(None));
                }
                Prefix::Value(skip, len) => {
                    self.check_end((skip as u64).saturating_add(len))?;
                    let whole = skip as u64 + len.min(ONE_PIECE);
                    if len <= ONE_PIECE && (have as u64) < whole {
                        return Ok(self.missing(
                            buffers,
                            usize::try_from(whole).unwrap_or(usize::MAX) - have,
                        ));
                    }
                    self.take(buffers, skip);
                    self.column += 1;
                    self.value_left = len;
                    return Ok(Streamed::Value(Some(len)));
                }
            }
        }
    }

    /// The next bytes of the value. `None`: they were dropped.
    fn piece(&mut self, buffers: &mut Buffers) -> Result<Option<Streamed>, Error> {
        let have = self.unparsed(buffers).len();
        if have == 0 {
            self.check_end(self.value_left)?;
            return Ok(Some(self.missing(buffers, 1)));
        }
        let len = have.min(usize::try_from(self.value_left).unwrap_or(usize::MAX));
        let span = self.take(buffers, len);
        self.value_left -= len as u64;
        Ok((!self.skip_value).then_some(Streamed::Piece(span)))
    }

    /// The binary row's first byte and bitmap. The bitmap is kept: a bit for each column.
    fn take_head(
        &mut self,
        buffers: &mut Buffers,
        columns: usize,
        bitmap: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let head = binary_head(columns);
        let unparsed = self.unparsed(buffers);
        let Some((first, rest)) = unparsed.get(..head).and_then(<[u8]>::split_first) else {
            let missing = head - unparsed.len();
            self.check_end(head as u64)?;
            self.missing(buffers, missing);
            return Ok(false);
        };
        if *first != 0 {
            return Err(self.malformed(DecodeErrorKind::BadValue).into());
        }
        bitmap.clear();
        let out_of_memory = |_| WireError::OutOfMemory {
            bytes: rest.len() as u64,
        };
        bitmap.try_reserve(rest.len()).map_err(out_of_memory)?;
        bitmap.extend_from_slice(rest);
        buffers.count_metadata(rest.len());
        self.take(buffers, head);
        Ok(true)
    }

    fn end(&mut self, buffers: &mut Buffers) -> Result<Streamed, Error> {
        if !self.payload.is_last() {
            // An exact multiple of the packet's length: the empty packet behind it is still to come.
            return Ok(self.missing(buffers, 1));
        }
        if self.position < self.payload.known() {
            return Err(self.malformed(DecodeErrorKind::Trailing).into());
        }
        Ok(Streamed::End { skipped: false })
    }

    fn skip_rest(&mut self, buffers: &mut Buffers) -> Streamed {
        let have = self.unparsed(buffers).len();
        self.take(buffers, have);
        if self.payload.is_complete() && self.position == self.payload.known() {
            return Streamed::End { skipped: true };
        }
        self.missing(buffers, 1)
    }

    /// Whether the value's next bytes can go straight to the caller: none is buffered. Plans the cut and the need.
    pub(super) fn can_read_direct(
        &mut self,
        buffers: &mut Buffers,
        frames: &mut FrameReader,
    ) -> Result<bool, Error> {
        self.payload.update(buffers, frames)?;
        if self.skip_value
            || self.skip_row
            || self.value_left == 0
            || !self.unparsed(buffers).is_empty()
        {
            return Ok(false);
        }
        self.check_end(self.value_left)?;
        self.missing(buffers, 1);
        Ok(true)
    }

    pub(super) fn direct_read(&mut self, n: usize) {
        self.position += n as u64;
        self.value_left = self.value_left.saturating_sub(n as u64);
    }

    fn take(&mut self, buffers: &mut Buffers, n: usize) -> Span {
        self.position += n as u64;
        buffers.consume_piece(n)
    }

    fn unparsed<'b>(&self, buffers: &'b Buffers) -> &'b [u8] {
        let pending = buffers.pending();
        let own = usize::try_from(self.payload.available(self.position)).unwrap_or(usize::MAX);
        pending.get(..own).unwrap_or(pending)
    }

    fn missing(&self, buffers: &mut Buffers, min: usize) -> Streamed {
        buffers.need(min, self.payload.until_end());
        Streamed::Missing
    }

    /// Refuses what would continue for `bytes` behind the end of the payload.
    fn check_end(&self, bytes: u64) -> Result<(), DecodeError> {
        if self.payload.is_last() && self.position.saturating_add(bytes) > self.payload.known() {
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
