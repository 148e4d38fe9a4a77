//! The head of a result: OK, ERR, or the columns of the rows that follow.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span, WireError};

use super::character_set::CharacterSet;
use super::core::{Asks, ClientCore, Source, State, unexpected};
use super::definitions::AcceptError;
use super::{Cell, Definitions, OkState, Reply};
use crate::codec::Reader;
use crate::owned;
use crate::packet::{OkPacket, eof, err, result_header};
use crate::{Error, StatusFlags};

impl ClientCore {
    /// The first packet of a reply. `None`: it has no reply of its own.
    #[inline(always)]
    pub(super) fn header(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        if buffers.bytes(payload).first() != Some(&0x00) {
            return self.result_header(buffers, payload);
        }
        self.take_ok(buffers, payload)?;
        self.end_of_result();
        if self.asks == Asks::Reset {
            self.forget_statements();
        }
        Ok(Some(Reply::Ok))
    }

    #[cold]
    fn forget_statements(&mut self) {
        self.asks = Asks::Reply;
        self.statements.forget_all();
        self.character_set = CharacterSet::default();
        self.gtids = String::new();
    }

    /// The same of what is not OK.
    #[inline(never)]
    fn result_header(&mut self, buffers: &Buffers, payload: Span) -> Result<Option<Reply>, Error> {
        const LOCAL_INFILE: u8 = 0xFB;
        let bytes = buffers.bytes(payload);
        match bytes.first() {
            Some(&err::HEADER) => {
                if self.take_progress(buffers, payload)? {
                    return Ok(None);
                }
                self.end_command();
                Ok(Some(Reply::Err(payload)))
            }
            Some(&LOCAL_INFILE) => self.local_infile_requested(payload),
            _ => {
                let (columns, follows) = self.column_count(bytes)?;
                self.start_result(columns, follows)
            }
        }
    }

    #[inline]
    pub(super) fn column_count(&self, bytes: &[u8]) -> Result<(u32, bool), Error> {
        let mut reader = Reader::new("result header", bytes);
        let count = reader.lenenc("column count")?;
        let max = self.limits.most_columns();
        let columns = u32::try_from(count).ok();
        let Some(columns) = columns.filter(|_| (1..=max).contains(&count)) else {
            let columns = count;
            return Err(Error::TooManyColumns { columns, max });
        };
        let tells = self
            .session
            .capabilities
            .intersects(result_header::TELLS_METADATA);
        let follows = !tells || reader.u8("metadata follows")? != 0;
        reader.finish()?;
        Ok((columns, follows))
    }

    pub(super) fn start_result(
        &mut self,
        columns: u32,
        follows: bool,
    ) -> Result<Option<Reply>, Error> {
        self.shared = None;
        if follows {
            self.definitions_mut().restart();
            self.state = State::Definitions { left: columns };
            return Ok(None);
        }
        // Of a statement only: the last text's columns are those of another statement.
        if self.source == Source::Text || self.definitions().len() != columns as usize {
            return Err(Error::MetadataMissing);
        }
        Ok(self.begin_rows(columns as usize)?.then_some(Reply::Columns))
    }

    pub(super) fn definitions_mut(&mut self) -> &mut Definitions {
        match self.source {
            Source::Text => &mut self.text,
            Source::Statement(id) => self.statements.definitions_mut(id),
        }
    }

    pub(super) fn accept(&mut self, buffers: &Buffers, payload: Span) -> Result<(), Error> {
        let capabilities = self.session.capabilities;
        let max = self.limits.max_metadata_bytes;
        if buffers.bytes(payload).first() == Some(&err::HEADER) {
            return Err(Error::Unexpected {
                during: "column definitions",
                byte: err::HEADER,
            });
        }
        self.definitions_mut()
            .accept(buffers, payload, capabilities, max)
            .map_err(|error| match error {
                AcceptError::Decode(error) => error.into(),
                AcceptError::Wire(error) => error.into(),
            })
    }

    /// All definitions are known, so that their number is more than a claim. Gives whether rows begin at once, without an EOF
    /// packet before them.
    pub(super) fn definitions_done(&mut self) -> Result<bool, Error> {
        let definitions = self.definitions_mut();
        definitions.finish();
        let count = definitions.len();
        self.begin_rows(count)
    }

    /// The result has `count` columns, which are known.
    #[inline]
    fn begin_rows(&mut self, count: usize) -> Result<bool, Error> {
        self.size_cells(count)?;
        if self.deprecates_eof() && self.asks != Asks::Cursor {
            self.state = State::Rows;
            return Ok(true);
        }
        self.state = if self.deprecates_eof() {
            State::CursorHead
        } else {
            State::DefinitionsEof
        };
        Ok(false)
    }

    /// As many places as a row has values.
    #[inline]
    pub(super) fn size_cells(&mut self, count: usize) -> Result<(), WireError> {
        if self.cells.len() == count {
            return Ok(());
        }
        self.make_cells(count)
    }

    #[cold]
    fn make_cells(&mut self, count: usize) -> Result<(), WireError> {
        self.cells.clear();
        let bytes = (count * size_of::<Cell>()) as u64;
        self.cells
            .try_reserve_exact(count)
            .map_err(|_| WireError::OutOfMemory { bytes })?;
        self.cells.resize(count, Cell::NULL);
        Ok(())
    }

    pub(super) fn definitions_eof(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        match buffers.bytes(payload) {
            [eof::HEADER, rest @ ..] if rest.len() < 8 => {
                self.state = State::Rows;
                if self.asks == Asks::Cursor {
                    self.note_cursor(buffers, payload)?;
                }
                Ok(Some(Reply::Columns))
            }
            // An error found while the rows were made ready, before the first of them.
            [err::HEADER, ..] => {
                if self.take_progress(buffers, payload)? {
                    return Ok(None);
                }
                self.end_command();
                Ok(Some(Reply::Err(payload)))
            }
            bytes => Err(unexpected("the end of column definitions", bytes)),
        }
    }

    pub(super) fn end_of_result(&mut self) {
        let more = self
            .ok
            .status_flags
            .contains(StatusFlags::MORE_RESULTS_EXISTS);
        if more {
            self.state = self.next_header();
        } else {
            self.end_command();
        }
    }

    #[inline(never)]
    pub(super) fn take_ok(&mut self, buffers: &Buffers, payload: Span) -> Result<(), Error> {
        let packet = OkPacket::decode(buffers.bytes(payload), self.session.capabilities)?;
        self.ok = OkState {
            affected_rows: packet.affected_rows,
            last_insert_id: packet.last_insert_id,
            status_flags: packet.status_flags,
            warnings: packet.warnings,
        };
        keep_text(buffers, &mut self.info, packet.info)?;
        keep(
            buffers,
            &mut self.changes,
            packet.session_track.as_encoded(),
        )?;
        if !self.changes.is_empty() {
            self.note_changes();
        }
        Ok(())
    }
}

/// Texts up to this size keep their memory for the next one: 4 KiB.
const KEPT: usize = 4 << 10;

/// Copies text that must outlive the next read. Empty in nearly every reply. What is no UTF-8 is replaced here, where
/// memory may be refused, and not where it is looked at.
#[inline]
fn keep_text(buffers: &Buffers, kept: &mut String, bytes: &[u8]) -> Result<(), Error> {
    kept.clear();
    if kept.capacity() > KEPT.max(bytes.len()) {
        *kept = String::new();
    }
    if !bytes.is_empty() {
        copy_text(kept, bytes)?;
        buffers.count_metadata(bytes.len());
    }
    Ok(())
}

#[cold]
fn copy_text(kept: &mut String, bytes: &[u8]) -> Result<(), Error> {
    let Ok(text) = core::str::from_utf8(bytes) else {
        *kept = owned::lossy_text(bytes)?;
        return Ok(());
    };
    let out_of_memory = |_| WireError::OutOfMemory {
        bytes: text.len() as u64,
    };
    kept.try_reserve(text.len()).map_err(out_of_memory)?;
    kept.push_str(text);
    Ok(())
}

/// The same for bytes.
#[inline]
fn keep(buffers: &Buffers, kept: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    kept.clear();
    if kept.capacity() > KEPT.max(bytes.len()) {
        *kept = Vec::new();
    }
    if !bytes.is_empty() {
        let out_of_memory = |_| WireError::OutOfMemory {
            bytes: bytes.len() as u64,
        };
        kept.try_reserve(bytes.len()).map_err(out_of_memory)?;
        kept.extend_from_slice(bytes);
        buffers.count_metadata(bytes.len());
    }
    Ok(())
}
