//! The client's state between packets.
//!
//! ```text
//!   Idle --command--> Header --count--> Definitions --> [Eof] --> Rows <--> LargeRow | StreamedRow
//!    ^                  | OK, ERR                                  | end
//!    +------------------+------------------------------------------+   (more results: Header again)
//! ```

use std::sync::Arc;

use onecopy_wire::{Buffers, Core, Span, Step};

use super::definitions::AcceptError;
use super::large_row::LargeRow;
use super::row::{scan_binary, scan_text};
use super::statement::{Preparing, Statements};
use super::streamed_row::{Streamed, StreamedRow};
use super::{Cell, Definitions, Limits, Session, StatementId};
use crate::codec::Reader;
use crate::frame::{Frame, FrameReader, HEADER_BYTES};
use crate::packet::{OkPacket, PrepareOk, eof, err};
use crate::{Capabilities, Error, StatusFlags};

pub(super) const HEADER: usize = HEADER_BYTES;

/// What the server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A command or result without rows is done; [`ClientCore::ok`] has its numbers.
    Ok,
    /// An ERR packet, whole: decode it with [`ErrPacket`](crate::packet::ErrPacket). The command is over.
    Err(Span),
    /// Rows begin; [`ClientCore::definitions`] has their columns.
    Columns,
    /// A row to be lent; [`ClientCore::cells`] says where its values are.
    Row(Span),
    /// Streamed rows: one begins. [`ClientCore`] goes on with its first value.
    RowStart,
    /// Streamed rows: the next value, with its length, or `None` for NULL.
    Value(Option<u64>),
    /// Streamed rows: the next bytes of the value.
    Piece(Span),
    /// Streamed rows: one is over.
    RowEnd,
    /// The rows are over; [`ClientCore::ok`] has the numbers behind them.
    RowsEnd,
    /// A statement is prepared.
    Prepared(StatementId),
}

/// How rows are handed over. May change between rows, and to `Skip` at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowMode {
    /// Each row whole, with random access.
    #[default]
    Lend,
    /// Values strictly in order and in pieces.
    Stream,
    /// Not at all: for what nobody reads any more.
    Skip,
}

/// The numbers of the last OK packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OkState {
    /// Rows that were changed.
    pub affected_rows: u64,
    /// First value that `AUTO_INCREMENT` gave.
    pub last_insert_id: u64,
    /// The server's state.
    pub status_flags: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Idle,
    /// OK or ERR, or the first packet of a result.
    Header,
    Definitions {
        left: u32,
    },
    DefinitionsEof,
    Rows,
    /// In the middle of a row that is parsed while it comes.
    LargeRow,
    StreamedRow,
    Prepare(Preparing),
    /// `dead` says why.
    Dead,
}

/// Which definitions the result under way has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    Text,
    Statement(StatementId),
}

/// The client's core behind the login: commands in, replies out.
#[derive(Debug)]
pub struct ClientCore {
    pub(super) session: Session,
    pub(super) limits: Limits,
    pub(super) frames: FrameReader,
    pub(super) state: State,
    pub(super) source: Source,
    pub(super) statements: Statements,
    mode: RowMode,
    /// Definitions of text results, of the last one until the next comes.
    text: Definitions,
    cells: Vec<Cell>,
    ok: OkState,
    /// Human-readable text and raw session changes of the last OK packet; reused.
    info: Vec<u8>,
    changes: Vec<u8>,
    large: Option<LargeRow>,
    streamed: Option<StreamedRow>,
    bitmap: Vec<u8>,
    /// The column that a vector of the caller's was offered for.
    home_column: Option<usize>,
    shared: Option<Arc<Definitions>>,
    dead: Option<Error>,
}

impl Core for ClientCore {
    type Message = Reply;
    type Error = Error;

    #[inline]
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        // The one path that is walked for every row, apart from all the others.
        let stepped = match self.state {
            State::Rows if self.mode == RowMode::Lend => self.next_row(buffers),
            _ => self.step(buffers),
        };
        match stepped {
            Ok(step) => Ok(step),
            Err(error) => Err(self.die(error)),
        }
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> Error {
        let during = if self.is_idle() && buffers.pending().is_empty() {
            "idleness"
        } else {
            self.during()
        };
        let error = Error::Closed { during };
        self.die(error)
    }
}

impl ClientCore {
    /// The core of a session that is logged in.
    pub fn new(session: Session, limits: Limits) -> Self {
        Self {
            session,
            limits,
            frames: FrameReader::default(),
            state: State::Idle,
            source: Source::Text,
            statements: Statements::default(),
            mode: RowMode::Lend,
            text: Definitions::default(),
            cells: Vec::new(),
            ok: OkState {
                status_flags: StatusFlags::AUTOCOMMIT,
                ..OkState::default()
            },
            info: Vec::new(),
            changes: Vec::new(),
            large: None,
            streamed: None,
            bitmap: Vec::new(),
            home_column: None,
            shared: None,
            dead: None,
        }
    }

    /// What the login agreed on.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether no reply is outstanding, so that a command may be sent.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Whether rows or their definitions are still to come.
    pub fn is_in_rows(&self) -> bool {
        matches!(
            self.state,
            State::Rows | State::LargeRow | State::StreamedRow
        )
    }

    /// The error that ended the conversation.
    pub fn dead(&self) -> Option<&Error> {
        self.dead.as_ref()
    }

    /// Ends the conversation: every further call gives `error`.
    pub fn kill(&mut self, error: Error) {
        self.die(error);
    }

    #[cold]
    fn die(&mut self, error: Error) -> Error {
        self.state = State::Dead;
        self.dead.get_or_insert(error).clone()
    }

    /// How rows are handed over from now on. In the middle of a streamed row, `Skip` drops the rest of it.
    #[inline]
    pub fn set_row_mode(&mut self, mode: RowMode) {
        self.mode = mode;
        if let (RowMode::Skip, Some(streamed)) = (mode, &mut self.streamed) {
            streamed.skip_row();
        }
    }

    /// How rows are handed over.
    pub fn row_mode(&self) -> RowMode {
        self.mode
    }

    /// The numbers of the last OK packet.
    #[inline]
    pub fn ok(&self) -> &OkState {
        &self.ok
    }

    /// The last OK packet's text for people, such as `Rows matched: 1`.
    pub fn info(&self) -> &[u8] {
        &self.info
    }

    /// The session's changes that the last OK packet told, in order.
    pub fn session_changes(&self) -> crate::packet::SessionTrack<'_> {
        crate::packet::SessionTrack::from_encoded(&self.changes)
    }

    /// Where the values of the lent row are.
    #[inline]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Only the large value of this column may use the vector that was offered to the buffers.
    pub fn set_home_column(&mut self, column: Option<usize>) {
        self.home_column = column;
    }

    /// Marks a value of the lent row as moved out of it; gives where it was.
    pub fn take_cell(&mut self, column: usize) -> Option<Cell> {
        let cell = self.cells.get_mut(column)?;
        let taken = *cell;
        if !taken.is_null() {
            *cell = Cell::TAKEN;
        }
        Some(taken)
    }

    pub(super) fn set_status(&mut self, status_flags: StatusFlags) {
        self.ok.status_flags = status_flags;
    }

    /// Withdraws a command of which no byte has left.
    pub fn withdraw(&mut self) {
        self.state = State::Idle;
    }

    /// Whether values have the binary protocol's form.
    #[inline]
    pub fn is_binary(&self) -> bool {
        matches!(self.source, Source::Statement(_))
    }

    /// The columns of the result under way, or of the last one.
    #[inline]
    pub fn definitions(&self) -> &Definitions {
        match self.source {
            Source::Text => &self.text,
            Source::Statement(id) => self.statements.definitions(id),
        }
    }

    /// The same, shared: copied once a result, for rows that outlive it.
    pub fn shared_definitions(&mut self, buffers: &Buffers) -> Arc<Definitions> {
        if let Some(shared) = &self.shared {
            return Arc::clone(shared);
        }
        let shared = Arc::new(self.definitions().clone());
        buffers.count_metadata(shared.raw_len());
        self.shared = Some(Arc::clone(&shared));
        shared
    }

    #[inline(never)]
    fn step(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        loop {
            match self.state {
                State::Rows if self.mode == RowMode::Lend => return self.row_after(buffers),
                State::Rows => {
                    buffers.recycle_homes();
                    if let Some(step) = self.next_unlent(buffers)? {
                        return Ok(step);
                    }
                }
                State::LargeRow => {
                    if let Some(step) = self.large_row(buffers)? {
                        return Ok(step);
                    }
                }
                State::StreamedRow => {
                    if let Some(step) = self.streamed_row(buffers)? {
                        return Ok(step);
                    }
                }
                State::Dead => return Err(self.dead.clone().unwrap_or(Error::Unsolicited)),
                State::Header => {
                    let Some(payload) = self.whole(buffers)? else {
                        return Ok(missing(buffers));
                    };
                    if let Some(reply) = self.header(buffers, payload)? {
                        return Ok(Step::Message(reply));
                    }
                }
                State::Definitions { left } => {
                    let Some(payload) = self.whole(buffers)? else {
                        return Ok(missing(buffers));
                    };
                    self.accept(buffers, payload)?;
                    self.state = State::Definitions { left: left - 1 };
                    if left == 1 && self.definitions_done() {
                        return Ok(Step::Message(Reply::Columns));
                    }
                }
                State::DefinitionsEof => {
                    let Some(payload) = self.whole(buffers)? else {
                        return Ok(missing(buffers));
                    };
                    if let Some(reply) = self.definitions_eof(buffers, payload)? {
                        return Ok(Step::Message(reply));
                    }
                }
                State::Prepare(preparing) => {
                    let Some(payload) = self.whole(buffers)? else {
                        return Ok(missing(buffers));
                    };
                    if let Some(reply) = self.preparing(preparing, buffers, payload)? {
                        return Ok(Step::Message(reply));
                    }
                }
                State::Idle => return self.idle(buffers),
            }
        }
    }

    /// A server may only speak when it is asked; its farewell (4031 and the like) is an error packet out of order.
    #[inline(never)]
    fn idle(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        if buffers.pending().is_empty() {
            buffers.need(1, 0);
            return Ok(Step::NeedInput(1));
        }
        self.frames.restart(0);
        match self.whole(buffers)? {
            None => Ok(missing(buffers)),
            Some(payload) if buffers.bytes(payload).first() == Some(&err::HEADER) => {
                Ok(Step::Message(Reply::Err(payload)))
            }
            Some(_) => Err(Error::Unsolicited),
        }
    }

    /// A whole payload that is not a row.
    #[inline]
    fn whole(&mut self, buffers: &mut Buffers) -> Result<Option<Span>, Error> {
        match self.frames.next(buffers, self.limits.max_message_bytes)? {
            Frame::Whole(payload) if payload.is_empty() => {
                Err(crate::frame::FrameError::Empty.into())
            }
            Frame::Whole(payload) => Ok(Some(payload)),
            Frame::Missing(_) => Ok(None),
            Frame::Large(large) => Err(onecopy_wire::WireError::LimitExceeded {
                needed: large.known(),
                max: self.limits.max_message_bytes as u64,
            }
            .into()),
        }
    }

    #[inline]
    fn header(&mut self, buffers: &Buffers, payload: Span) -> Result<Option<Reply>, Error> {
        const LOCAL_INFILE: u8 = 0xFB;
        let bytes = buffers.bytes(payload);
        match bytes.first() {
            Some(0x00) => {
                self.take_ok(buffers, payload)?;
                self.end_of_result();
                Ok(Some(Reply::Ok))
            }
            Some(&err::HEADER) => {
                self.state = State::Idle;
                Ok(Some(Reply::Err(payload)))
            }
            Some(&LOCAL_INFILE) => Err(Error::LocalInfileRefused),
            _ => {
                let (columns, follows) = self.column_count(bytes)?;
                self.start_result(columns, follows)
            }
        }
    }

    fn column_count(&self, bytes: &[u8]) -> Result<(u32, bool), Error> {
        let mut reader = Reader::new("result header", bytes);
        let count = reader.lenenc("column count")?;
        let columns = u32::try_from(count)
            .ok()
            .filter(|&count| count > 0 && count <= self.limits.max_columns);
        let Some(columns) = columns else {
            return Err(Error::TooManyColumns {
                columns: count,
                max: self.limits.max_columns,
            });
        };
        let cached = self
            .session
            .capabilities
            .contains(Capabilities::MARIADB_CACHE_METADATA);
        let follows = !cached || reader.u8("metadata follows")? != 0;
        reader.finish()?;
        Ok((columns, follows))
    }

    fn start_result(&mut self, columns: u32, follows: bool) -> Result<Option<Reply>, Error> {
        let count = columns as usize;
        self.shared = None;
        if self.cells.len() != count {
            self.cells.clear();
            let bytes = (count * size_of::<Cell>()) as u64;
            self.cells
                .try_reserve_exact(count)
                .map_err(|_| onecopy_wire::WireError::OutOfMemory { bytes })?;
            self.cells.resize(count, Cell::NULL);
        }
        if follows {
            self.definitions_mut().restart();
            self.state = State::Definitions { left: columns };
            return Ok(None);
        }
        if self.definitions().len() != count {
            return Err(Error::MetadataMissing);
        }
        self.state = State::Definitions { left: 0 };
        Ok(self.definitions_done().then_some(Reply::Columns))
    }

    fn definitions_mut(&mut self) -> &mut Definitions {
        match self.source {
            Source::Text => &mut self.text,
            Source::Statement(id) => self.statements.definitions_mut(id),
        }
    }

    fn accept(&mut self, buffers: &Buffers, payload: Span) -> Result<(), Error> {
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

    /// All definitions are known. Gives whether rows begin at once, without an EOF packet before them.
    fn definitions_done(&mut self) -> bool {
        self.definitions_mut().finish();
        let eof = !self.deprecates_eof();
        self.state = if eof {
            State::DefinitionsEof
        } else {
            State::Rows
        };
        !eof
    }

    fn definitions_eof(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        match buffers.bytes(payload) {
            [eof::HEADER, rest @ ..] if rest.len() < 8 => {
                self.state = State::Rows;
                Ok(Some(Reply::Columns))
            }
            // An error found while the rows were made ready, before the first of them.
            [err::HEADER, ..] => {
                self.state = State::Idle;
                Ok(Some(Reply::Err(payload)))
            }
            bytes => Err(unexpected("the end of column definitions", bytes)),
        }
    }

    /// The next row, lent.
    #[inline]
    fn next_row(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
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
    fn row_after(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        self.next_row(buffers)
    }

    /// A large row goes on. `None`: it was dropped, go on with the next.
    #[inline(never)]
    fn large_row(&mut self, buffers: &mut Buffers) -> Result<Option<Step<Reply>>, Error> {
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
        Ok((self.mode == RowMode::Lend).then_some(Step::Message(Reply::Row(row))))
    }

    #[inline]
    fn whole_row(&mut self, buffers: &mut Buffers, payload: Span) -> Result<Step<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        match (bytes.first(), self.source) {
            (Some(&err::HEADER), _) => {
                self.state = State::Idle;
                Ok(Step::Message(Reply::Err(payload)))
            }
            (Some(&eof::HEADER), _) if self.ends_rows(bytes.len()) => {
                self.end_rows(buffers, payload)
            }
            (None, _) => Err(crate::frame::FrameError::Empty.into()),
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

    /// The next row in another mode than `Lend`. `None`: go on.
    #[inline(never)]
    fn next_unlent(&mut self, buffers: &mut Buffers) -> Result<Option<Step<Reply>>, Error> {
        let Some((first, length)) = self.frames.peek(buffers) else {
            return Ok(Some(missing(buffers)));
        };
        if first == err::HEADER || (first == eof::HEADER && self.ends_rows(length)) {
            return Ok(Some(match self.whole(buffers)? {
                None => missing(buffers),
                Some(payload) => self.whole_row(buffers, payload)?,
            }));
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
    fn streamed_row(&mut self, buffers: &mut Buffers) -> Result<Option<Step<Reply>>, Error> {
        let Some(row) = &mut self.streamed else {
            return Ok(None);
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

    /// Streamed rows: bytes of the value under way that were not handed over yet.
    pub fn value_left(&self) -> u64 {
        self.streamed.as_ref().map_or(0, StreamedRow::value_left)
    }

    /// Streamed rows: the index of the next value, once [`Reply::Value`] was given the one behind it.
    pub fn streamed_column(&self) -> usize {
        self.streamed.as_ref().map_or(0, StreamedRow::column)
    }

    /// Streamed rows: drops what is left of the value under way.
    pub fn skip_value(&mut self) {
        if let Some(row) = &mut self.streamed {
            row.skip_value();
        }
    }

    /// Streamed rows: whether the value's next bytes can be read straight into the caller's slice, none of them being
    /// buffered. Follow it by a read into at most [`value_left`](Self::value_left) bytes and [`direct_read`](Self::direct_read).
    ///
    /// # Errors
    /// As `advance`: a continuation out of order.
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

    /// Streamed rows: `n` bytes of the value were read straight into the caller's slice.
    pub fn direct_read(&mut self, n: usize) {
        if let Some(row) = &mut self.streamed {
            row.direct_read(n);
        }
    }

    fn ends_rows(&self, payload_bytes: usize) -> bool {
        eof::ends_rows(eof::HEADER, payload_bytes as u64, self.session.capabilities)
    }

    /// A payload of several packets is a row: what ends rows is short.
    fn refuse_large_end(&self, buffers: &Buffers, known: u64) -> Result<(), Error> {
        match buffers.pending() {
            [first @ err::HEADER, ..] => Err(unexpected("rows", &[*first])),
            _ if known > self.limits.max_row_bytes => Err(row_too_long(known, &self.limits)),
            _ => Ok(()),
        }
    }

    fn end_rows(&mut self, buffers: &Buffers, payload: Span) -> Result<Step<Reply>, Error> {
        if self.deprecates_eof() {
            self.take_ok(buffers, payload)?;
        } else {
            let packet = crate::packet::EofPacket::decode(buffers.bytes(payload))?;
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

    fn end_of_result(&mut self) {
        let more = self
            .ok
            .status_flags
            .contains(StatusFlags::MORE_RESULTS_EXISTS);
        self.state = if more { State::Header } else { State::Idle };
    }

    #[inline(never)]
    fn take_ok(&mut self, buffers: &Buffers, payload: Span) -> Result<(), Error> {
        let packet = OkPacket::decode(buffers.bytes(payload), self.session.capabilities)?;
        self.ok = OkState {
            affected_rows: packet.affected_rows,
            last_insert_id: packet.last_insert_id,
            status_flags: packet.status_flags,
            warnings: packet.warnings,
        };
        keep(buffers, &mut self.info, packet.info)?;
        keep(
            buffers,
            &mut self.changes,
            packet.session_track.as_encoded(),
        )
    }

    pub(super) fn deprecates_eof(&self) -> bool {
        self.session
            .capabilities
            .contains(Capabilities::DEPRECATE_EOF)
    }

    #[inline(never)]
    fn preparing(
        &mut self,
        preparing: Preparing,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        let next = match preparing {
            Preparing::Header => match bytes.first() {
                Some(&err::HEADER) => {
                    self.state = State::Idle;
                    return Ok(Some(Reply::Err(payload)));
                }
                Some(0x00) => {
                    let ok = PrepareOk::decode(bytes, self.session.capabilities)?;
                    let id = self.statements.insert(&ok)?;
                    self.source = Source::Statement(id);
                    Preparing::Parameters {
                        id,
                        left: ok.parameters,
                        columns: ok.columns,
                    }
                }
                _ => return Err(unexpected("the reply to prepare", bytes)),
            },
            Preparing::Parameters { id, left, columns } => {
                // A parameter's definition tells nothing that execute needs; servers fill it with placeholders.
                Preparing::Parameters {
                    id,
                    left: left - 1,
                    columns,
                }
            }
            Preparing::ParametersEof { id, columns } => {
                expect_eof(bytes)?;
                Preparing::Columns { id, left: columns }
            }
            Preparing::Columns { id, left } => {
                self.accept(buffers, payload)?;
                if left == 1 {
                    self.definitions_mut().finish();
                }
                Preparing::Columns { id, left: left - 1 }
            }
            Preparing::ColumnsEof { id } => {
                expect_eof(bytes)?;
                Preparing::Done { id }
            }
            Preparing::Done { id } => Preparing::Done { id },
        };
        match next.settle(preparing, self.deprecates_eof()) {
            Preparing::Done { id } => {
                self.state = State::Idle;
                Ok(Some(Reply::Prepared(id)))
            }
            next => {
                self.state = State::Prepare(next);
                Ok(None)
            }
        }
    }

    fn during(&self) -> &'static str {
        match self.state {
            State::Idle => "an unsolicited packet",
            State::Header => "the wait for a reply",
            State::Definitions { .. } | State::DefinitionsEof => "column definitions",
            State::Rows | State::LargeRow | State::StreamedRow => "rows",
            State::Prepare(_) => "the reply to prepare",
            State::Dead => "an error",
        }
    }
}

fn expect_eof(bytes: &[u8]) -> Result<(), Error> {
    match bytes {
        [eof::HEADER, rest @ ..] if rest.len() < 8 => Ok(()),
        bytes => Err(unexpected("the reply to prepare", bytes)),
    }
}

fn unexpected(during: &'static str, bytes: &[u8]) -> Error {
    Error::Unexpected {
        during,
        byte: bytes.first().copied().unwrap_or_default(),
    }
}

#[cold]
pub(super) fn row_too_long(needed: u64, limits: &Limits) -> Error {
    onecopy_wire::WireError::LimitExceeded {
        needed,
        max: limits.max_row_bytes,
    }
    .into()
}

/// What the core asked the buffers for.
#[inline]
fn missing(buffers: &Buffers) -> Step<Reply> {
    Step::NeedInput(buffers.needed())
}

/// Copies text that must outlive the next read. Empty in nearly every reply.
#[inline]
fn keep(buffers: &Buffers, kept: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    kept.clear();
    if !bytes.is_empty() {
        let out_of_memory = |_| onecopy_wire::WireError::OutOfMemory {
            bytes: bytes.len() as u64,
        };
        kept.try_reserve(bytes.len()).map_err(out_of_memory)?;
        kept.extend_from_slice(bytes);
        buffers.count_metadata(bytes.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
