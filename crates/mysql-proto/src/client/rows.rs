//! Rows: borrowed whole, borrowed value by value, streamed, or skipped.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span, Step, WireError};

use super::core::{ClientCore, Source, State, missing, row_too_long, unexpected};
use super::large_row::LargeRow;
use super::row::{scan_binary, scan_text};
use super::streamed_row::{Streamed, StreamedRow};
use super::{OkState, Reply, RowMode};
use crate::Error;
use crate::frame::{Frame, FrameError, HEADER_BYTES, split_header};
use crate::packet::{EofPacket, eof, err};

impl ClientCore {
    /// Returns whether the next row, or the end of the rows, is buffered as a whole: the state machine will return it without
    /// further input. `false` within a row that comes in parts.
    #[inline]
    pub fn has_row(&self, buffers: &Buffers) -> bool {
        let pending = buffers.pending();
        let header = pending.first_chunk::<HEADER_BYTES>();
        header.is_some_and(|header| pending.len() - HEADER_BYTES >= split_header(*header).0)
            && self.state == State::Rows
    }

    /// The next row, borrowed.
    #[inline]
    pub(super) fn next_row(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        buffers.recycle_homes();
        match self
            .frames
            .next(buffers, self.limits.contiguous_row_bytes)?
        {
            Frame::Whole(payload) => self.whole_row(buffers, payload),
            Frame::Missing(n) => Ok(Step::NeedInput(n)),
            Frame::Large(large) => {
                self.refuse_large_end(buffers, large.known())?;
                self.large = Some(LargeRow::new(large, self.is_binary()));
                self.state = State::LargeRow;
                self.step(buffers)
            }
        }
    }

    /// [`next_row`](Self::next_row) behind something else: apart, so that neither burdens the other.
    #[inline(never)]
    pub(super) fn row_after(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        self.next_row(buffers)
    }

    /// A large row continues. `None`: it was dropped, continue with the next.
    #[inline(never)]
    pub(super) fn large_row(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<Option<Step<Reply>>, Error> {
        let Some(large) = &mut self.large else {
            return Err(Error::Unsolicited);
        };
        let definitions = match self.source {
            Source::Text => &self.text,
            Source::Statement(id) => self.statements.definitions(id),
        };
        let (cells, home_column) = (&mut self.cells, self.home_column);
        let row = large.advance(
            buffers,
            &mut self.frames,
            definitions,
            cells,
            &self.limits,
            home_column,
        )?;
        let Some(bytes) = row else {
            return Ok(Some(missing(buffers)));
        };
        self.large = None;
        self.state = State::Rows;
        let row = buffers.consume(bytes);
        Ok((self.mode == RowMode::Borrow).then_some(Step::Message(Reply::Row(row))))
    }

    #[inline]
    pub(super) fn whole_row(
        &mut self,
        buffers: &mut Buffers,
        payload: Span,
    ) -> Result<Step<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        match (bytes.first(), self.source) {
            (Some(&err::HEADER), _) => self.error_in_rows(buffers, payload),
            (Some(&eof::HEADER), _) if self.ends_rows(bytes.len()) => {
                self.check_message(bytes.len())?;
                self.end_rows(buffers, payload)
            }
            (None, _) => Err(FrameError::Empty.into()),
            _ if bytes.len() as u64 > self.limits.max_row_bytes => {
                Err(row_too_long(bytes.len() as u64, &self.limits))
            }
            (_, Source::Text) => {
                scan_text(bytes, &mut self.cells)?;
                Ok(Step::Message(Reply::Row(payload)))
            }
            (_, Source::Statement(id)) => {
                scan_binary(
                    bytes,
                    self.statements.definitions(id).widths(),
                    &mut self.cells,
                )?;
                Ok(Step::Message(Reply::Row(payload)))
            }
        }
    }

    /// The next row in another mode than `Borrow`. `None`: continue.
    #[inline(never)]
    pub(super) fn next_unlent(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<Option<Step<Reply>>, Error> {
        let Some((first, length)) = self.frames.peek(buffers) else {
            return Ok(Some(missing(buffers)));
        };
        if first == err::HEADER || (first == eof::HEADER && self.ends_rows(length)) {
            let Some(payload) = self.whole(buffers)? else {
                return Ok(Some(missing(buffers)));
            };
            if first == err::HEADER && self.take_progress(buffers, payload)? {
                return Ok(None);
            }
            return self.whole_row(buffers, payload).map(Some);
        }
        match self.frames.head(buffers)? {
            Frame::Large(large) => {
                let mut row = StreamedRow::new(large, self.is_binary());
                let skip = self.mode == RowMode::Skip;
                if skip {
                    row.skip_row();
                }
                self.streamed = Some(row);
                self.state = State::StreamedRow;
                Ok((!skip).then_some(Step::Message(Reply::RowStart)))
            }
            Frame::Missing(_) | Frame::Whole(_) => Ok(Some(missing(buffers))),
        }
    }

    #[inline(never)]
    pub(super) fn streamed_row(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<Option<Step<Reply>>, Error> {
        let Some(row) = &mut self.streamed else {
            return Err(Error::Unsolicited);
        };
        let widths = match self.source {
            Source::Text => self.text.widths(),
            Source::Statement(id) => self.statements.definitions(id).widths(),
        };
        Ok(
            match row.advance(buffers, &mut self.frames, widths, &mut self.bitmap)? {
                Streamed::Missing => Some(missing(buffers)),
                Streamed::Value(len) => Some(Step::Message(Reply::Value(len))),
                Streamed::Piece(span) => Some(Step::Message(Reply::Piece(span))),
                Streamed::End { skipped } => {
                    self.streamed = None;
                    self.state = State::Rows;
                    (!skipped).then_some(Step::Message(Reply::RowEnd))
                }
            },
        )
    }

    /// Streamed rows: returns the number of bytes of the current value that were not returned yet.
    pub fn value_left(&self) -> u64 {
        self.streamed.as_ref().map_or(0, StreamedRow::value_left)
    }

    /// Streamed rows: returns the index of the next value, which is the number of values that [`Reply::Value`] has announced.
    pub fn streamed_column(&self) -> usize {
        self.streamed.as_ref().map_or(0, StreamedRow::column)
    }

    /// Streamed rows: discards the rest of the current value.
    pub fn skip_value(&mut self) {
        if let Some(row) = &mut self.streamed {
            row.skip_value();
        }
    }

    /// Streamed rows: returns whether the next bytes of the value can be read directly into the caller's slice, because none is
    /// buffered. Then read at most [`value_left`](Self::value_left) bytes, and call [`direct_read`](Self::direct_read).
    ///
    /// # Errors
    /// Fails like `advance`, on a continuation packet out of order.
    pub fn can_read_direct(&mut self, buffers: &mut Buffers) -> Result<bool, Error> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        match &mut self.streamed {
            Some(row) => match row.can_read_direct(buffers, &mut self.frames) {
                Ok(direct) => Ok(direct),
                Err(error) => Err(self.die(error)),
            },
            None => Ok(false),
        }
    }

    /// Streamed rows: reports that `n` bytes of the value were read directly into the caller's slice.
    pub fn direct_read(&mut self, n: usize) {
        if let Some(row) = &mut self.streamed {
            row.direct_read(n);
        }
    }

    pub(super) fn ends_rows(&self, payload_bytes: usize) -> bool {
        eof::ends_rows(eof::HEADER, payload_bytes as u64, self.session.capabilities)
    }

    /// What comes in a row's place and is none is under the limit of messages, not of rows.
    pub(super) fn check_message(&self, bytes: usize) -> Result<(), WireError> {
        let max = self.limits.max_message_bytes;
        if bytes > max {
            let (needed, max) = (bytes as u64, max as u64);
            return Err(WireError::LimitExceeded { needed, max });
        }
        Ok(())
    }

    /// A payload of several packets is a row: what ends rows is short.
    pub(super) fn refuse_large_end(&self, buffers: &Buffers, known: u64) -> Result<(), Error> {
        match buffers.pending() {
            [first @ err::HEADER, ..] => Err(unexpected("rows", &[*first])),
            _ if known > self.limits.max_row_bytes => Err(row_too_long(known, &self.limits)),
            _ => Ok(()),
        }
    }

    pub(super) fn end_rows(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Step<Reply>, Error> {
        if self.deprecates_eof() {
            self.take_ok(buffers, payload)?;
        } else {
            let packet = EofPacket::decode(buffers.bytes(payload))?;
            self.ok = OkState {
                status_flags: packet.status_flags,
                warnings: packet.warnings,
                ..OkState::default()
            };
            self.info.clear();
            self.changes.clear();
        }
        self.end_of_result();
        Ok(Step::Message(Reply::RowsEnd))
    }
}
