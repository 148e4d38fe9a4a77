//! The client's state between packets.
//!
//! ```text
//!   Idle --command--> Header --count--> Definitions --> [Eof] --> Rows <--> LargeRow | StreamedRow
//!    ^                  | OK, ERR                                  | end
//!    +------------------+------------------------------------------+   (more results: Header again)
//! ```
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::sync::Arc;

use onecopy_wire::{Buffers, Core, Span, Step, WireError};

use super::ahead::Ahead;
use super::change_user::Login;
use super::character_set::CharacterSet;
use super::large_row::LargeRow;
use super::progress::ProgressListener;
use super::query_attributes::QueryAttributes;
use super::statement::{Preparing, Statements};
use super::streamed_row::StreamedRow;
use super::{Cell, Definitions, Limits, OkState, Reply, RowMode, Session, StatementId};
use crate::auth::ClientAuth;
use crate::frame::{Frame, FrameError, FrameReader, HEADER_BYTES};
use crate::packet::err;
use crate::{Capabilities, Error, StatusFlags};

pub(super) const HEADER: usize = HEADER_BYTES;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Idle,
    /// A command is over, and replies to those sent ahead are to come. Next to `Idle`: both are one comparison.
    Between,
    /// OK or ERR, or the first packet of a result.
    Header,
    /// The same, or the text that comes in its place where the result was left out.
    HeaderOrRest,
    Definitions {
        left: u32,
    },
    DefinitionsEof,
    Rows,
    /// In the middle of a row that is parsed while it comes.
    LargeRow,
    StreamedRow,
    Prepare(Preparing),
    /// OK, which is not returned.
    Prelude,
    /// ERR: the statement to be executed was not prepared.
    Refusal,
    /// The text in place of a result that was left out.
    LeftOut,
    /// The text behind a reply of which nothing was left out.
    Rest,
    /// The server waits for a file's data.
    LocalInfile,
    /// Rows, or their end where they are to be fetched.
    CursorHead,
    /// `auth` says where it stands.
    ChangeUser,
    /// `dead` says why.
    Dead,
}

/// What a command asks for beside its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Reply,
    /// The server forgets all statements.
    Reset,
    /// The server opens a cursor.
    Cursor,
}

/// Which definitions the result under way has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    Text,
    Statement(StatementId),
}

/// The client's state machine after the login: commands in, replies out.
///
/// # Example
/// ```no_run
/// use std::io::{IoSlice, Read, Write};
/// use std::net::TcpStream;
///
/// use onecopy_mysql_proto::client::{Handshake, HandshakeConfig, HandshakeReply, Limits, Reply};
/// use onecopy_wire::{Buffers, Core, Step};
///
/// /// Runs a core until it returns a message. This is all I/O that a driver without TLS needs.
/// fn drive<C: Core>(core: &mut C, buffers: &mut Buffers, stream: &mut TcpStream) -> Result<C::Message, Box<dyn std::error::Error>>
/// where
///     C::Error: std::error::Error + 'static,
/// {
///     loop {
///         match core.advance(buffers)? {
///             Step::Message(message) => return Ok(message),
///             Step::StartTls => unreachable!("TLS was not requested"),
///             Step::NeedInput(_) => {
///                 while buffers.has_output() {
///                     let mut slices = [IoSlice::new(&[]); 8];
///                     let count = buffers.output_slices(&(), &mut slices);
///                     let n = stream.write_vectored(&slices[..count])?;
///                     buffers.commit_output(n);
///                 }
///                 buffers.prepare()?;
///                 match stream.read_vectored(buffers.targets().as_mut())? {
///                     0 => return Err(core.handle_eof(buffers).into()),
///                     n => {
///                         buffers.commit(n);
///                     }
///                 }
///             }
///         }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut stream = TcpStream::connect("127.0.0.1:3306")?;
/// let limits = Limits::default();
/// let mut buffers = Buffers::new(limits.buffer_config());
/// let config = HandshakeConfig { user: b"shop".to_vec(), ..HandshakeConfig::default() };
/// let mut handshake = Handshake::new(config, limits);
/// let HandshakeReply::Done = drive(&mut handshake, &mut buffers, &mut stream)? else {
///     return Err("the server refused the login".into());
/// };
/// let mut core = handshake.into_core();
/// core.query(&mut buffers, b"SELECT name FROM product")?;
/// loop {
///     match drive(&mut core, &mut buffers, &mut stream)? {
///         Reply::Row(row) => {
///             let name = core.cells()[0];
///             println!("{}", String::from_utf8_lossy(buffers.bytes(name.span(row))));
///         }
///         Reply::Columns => println!("{} columns", core.definitions().len()),
///         Reply::RowsEnd | Reply::Ok | Reply::Err(_) => break,
///         _ => unreachable!("rows are borrowed"),
///     }
/// }
/// # Ok(()) }
/// ```
pub struct ClientCore {
    pub(super) session: Session,
    pub(super) limits: Limits,
    pub(super) frames: FrameReader,
    pub(super) state: State,
    pub(super) source: Source,
    pub(super) statements: Statements,
    pub(super) mode: RowMode,
    /// Definitions of text results, of the last one until the next comes.
    pub(super) text: Definitions,
    pub(super) cells: Vec<Cell>,
    pub(super) ok: OkState,
    /// Human-readable text and raw session changes of the last OK packet; reused.
    pub(super) info: String,
    pub(super) changes: Vec<u8>,
    /// Of the session's last transaction that had any.
    pub(super) gtids: String,
    /// What the server takes the client's text for.
    pub(super) character_set: CharacterSet,
    pub(super) large: Option<LargeRow>,
    pub(super) streamed: Option<StreamedRow>,
    pub(super) bitmap: Vec<u8>,
    /// The column that a vector of the caller's was offered for.
    pub(super) home_column: Option<usize>,
    /// What the command under way asks for beside its reply.
    pub(super) asks: Asks,
    /// Commands behind the one under way.
    pub(super) ahead: Ahead,
    /// The command under way may answer a request for a file.
    pub(super) allows_local_infile: bool,
    pub(super) shared: Option<Arc<Definitions>>,
    /// Of each statement, where the server takes them.
    pub(super) attributes: Option<Box<QueryAttributes>>,
    pub(super) progress: Option<ProgressListener>,
    /// What a change of user continues with; its part of the authentication while it is under way.
    pub(super) login: Box<Login>,
    pub(super) auth: Option<Box<ClientAuth>>,
    pub(super) dead: Option<Error>,
}

impl Core for ClientCore {
    type Message = Reply;
    type Error = Error;

    #[inline(always)] // a call for each row and piece otherwise
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        // The one path that is walked for every row, apart from all the others.
        let stepped = match self.state {
            State::Rows if self.mode == RowMode::Borrow => self.next_row(buffers),
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

/// Shows the state, and no text from the server.
impl fmt::Debug for ClientCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCore")
            .field("session", &self.session)
            .field("state", &self.state)
            .field("mode", &self.mode)
            .field("ok", &self.ok)
            .field("columns", &self.definitions().len())
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

impl ClientCore {
    /// Creates the state machine of a session that is logged in.
    pub fn new(session: Session, limits: Limits) -> Self {
        Self {
            session,
            limits,
            frames: FrameReader::default(),
            state: State::Idle,
            source: Source::Text,
            statements: Statements::default(),
            mode: RowMode::Borrow,
            text: Definitions::default(),
            cells: Vec::new(),
            ok: OkState {
                status_flags: StatusFlags::AUTOCOMMIT,
                ..OkState::default()
            },
            info: String::new(),
            changes: Vec::new(),
            gtids: String::new(),
            character_set: CharacterSet::default(),
            large: None,
            streamed: None,
            bitmap: Vec::new(),
            home_column: None,
            asks: Asks::Reply,
            ahead: Ahead::default(),
            allows_local_infile: false,
            shared: None,
            attributes: None,
            progress: None,
            login: Box::default(),
            auth: None,
            dead: None,
        }
    }

    /// Returns what the login agreed on.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the limits in effect.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns whether no reply is outstanding, so that a command may be sent.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Returns whether the session is being reset, so that its statements are closed with the reply.
    pub fn is_resetting(&self) -> bool {
        self.asks == Asks::Reset && !self.is_idle()
    }

    /// Returns whether rows, or the packet that ends them, are still to come. Column definitions do not count.
    pub fn is_in_rows(&self) -> bool {
        matches!(
            self.state,
            State::Rows | State::LargeRow | State::StreamedRow
        )
    }

    /// Returns the error that ended the conversation.
    pub fn dead(&self) -> Option<&Error> {
        self.dead.as_ref()
    }

    /// Ends the conversation: every further call returns `error`.
    pub fn kill(&mut self, error: Error) {
        self.die(error);
    }

    #[cold]
    pub(super) fn die(&mut self, error: Error) -> Error {
        self.state = State::Dead;
        self.dead.get_or_insert(error).clone()
    }

    /// Sets how rows are returned from now on. In the middle of a streamed row, `Skip` discards the rest of it.
    #[inline]
    pub fn set_row_mode(&mut self, mode: RowMode) {
        self.mode = mode;
        if let (RowMode::Skip, Some(streamed)) = (mode, &mut self.streamed) {
            streamed.skip_row();
        }
    }

    /// Returns how rows are returned.
    pub fn row_mode(&self) -> RowMode {
        self.mode
    }

    /// Returns the numbers of the last OK packet.
    #[inline]
    pub fn ok(&self) -> &OkState {
        &self.ok
    }

    /// Returns the human-readable text of the last OK packet, such as `Rows matched: 1`. Bytes that are not UTF-8 are replaced.
    pub fn info(&self) -> &str {
        &self.info
    }

    /// Returns the session state changes of the last OK packet, in order.
    pub fn session_changes(&self) -> crate::packet::SessionTrack<'_> {
        crate::packet::SessionTrack::from_encoded(&self.changes)
    }

    /// Returns the positions of the values in the borrowed row.
    #[inline]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Restricts the vector that was offered to the buffers to the large value of this column.
    pub fn set_home_column(&mut self, column: Option<usize>) {
        self.home_column = column;
    }

    /// Returns whether a large row has been read in part, so that its values are being stored in their own memory.
    pub fn is_in_large_row(&self) -> bool {
        self.state == State::LargeRow
    }

    /// Releases what is kept of finished results: columns of text results, texts of OK packets. Has no effect while a reply is
    /// outstanding.
    pub fn release(&mut self) {
        if self.is_idle() {
            self.text = Definitions::default();
            self.shared = None;
            self.info = String::new();
            self.changes = Vec::new();
            self.cells = Vec::new();
        }
    }

    /// Marks a value of the borrowed row as moved out of it. Returns its position.
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

    /// Withdraws the command under way and all behind it, of which no byte was sent.
    pub fn withdraw(&mut self) {
        self.auth = None;
        self.ahead.clear();
        self.state = State::Idle;
    }

    /// Returns whether values are in the form of the binary protocol.
    #[inline]
    pub fn is_binary(&self) -> bool {
        matches!(self.source, Source::Statement(_))
    }

    /// Returns the columns of the current result, or of the last one.
    #[inline]
    pub fn definitions(&self) -> &Definitions {
        match self.source {
            Source::Text => &self.text,
            Source::Statement(id) => self.statements.definitions(id),
        }
    }

    /// Returns the [`definitions`](Self::definitions), shared. They are copied once per result, for rows that outlive it.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`; the result can still be read.
    pub fn shared_definitions(&mut self, buffers: &Buffers) -> Result<Arc<Definitions>, Error> {
        if let Some(shared) = &self.shared {
            return Ok(Arc::clone(shared));
        }
        let shared = Arc::new(self.definitions().copy().map_err(Error::of_call)?);
        buffers.count_metadata(shared.raw_len());
        self.shared = Some(Arc::clone(&shared));
        Ok(shared)
    }

    #[inline(never)]
    pub(super) fn step(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        loop {
            match self.state {
                State::Rows if self.mode == RowMode::Borrow => return self.row_after(buffers),
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
                State::Idle => return self.idle(buffers),
                State::Between => self.start_next(),
                State::CursorHead => match self.cursor_head(buffers)? {
                    Some(reply) => return Ok(Step::Message(reply)),
                    None => return Ok(missing(buffers)),
                },
                State::ChangeUser => return self.changing_user(buffers),
                State::LocalInfile => return self.in_local_infile(buffers),
                State::Definitions { left } => {
                    if let Some(step) = self.read_definitions(left, buffers)? {
                        return Ok(step);
                    }
                }
                State::Header => {
                    let Some(payload) = self.whole(buffers)? else {
                        return Ok(missing(buffers));
                    };
                    if let Some(reply) = self.header(buffers, payload)? {
                        return Ok(Step::Message(reply));
                    }
                }
                State::HeaderOrRest
                | State::DefinitionsEof
                | State::Prepare(_)
                | State::Prelude
                | State::Refusal
                | State::LeftOut
                | State::Rest => {
                    if let Some(step) = self.rare(buffers)? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// Reads the definitions that are there, of the `left` that are still to come. `None`: they are complete, and their end has no
    /// reply of its own.
    #[inline(never)] // what the loop needs in registers would be saved for every step
    fn read_definitions(
        &mut self,
        mut left: u32,
        buffers: &mut Buffers,
    ) -> Result<Option<Step<Reply>>, Error> {
        while left > 0 {
            let Some(payload) = self.whole(buffers)? else {
                self.state = State::Definitions { left };
                return Ok(Some(missing(buffers)));
            };
            self.accept(buffers, payload)?;
            left -= 1;
        }
        let is_begun = self.definitions_done()?;
        Ok(is_begun.then_some(Step::Message(Reply::Columns)))
    }

    /// A packet that is no row, no definition and no header. `None`: it has no reply of its own.
    #[inline(never)] // else the replies of every statement pay for them
    fn rare(&mut self, buffers: &mut Buffers) -> Result<Option<Step<Reply>>, Error> {
        if self.state == State::HeaderOrRest {
            return Ok(self.header_or_rest(buffers));
        }
        let Some(payload) = self.whole(buffers)? else {
            return Ok(Some(missing(buffers)));
        };
        let reply = match self.state {
            State::DefinitionsEof => self.definitions_eof(buffers, payload)?,
            State::Prepare(preparing) => self.preparing(preparing, buffers, payload)?,
            State::Prelude => self.prelude_reply(buffers, payload)?,
            State::LeftOut | State::Rest => Some(self.rest()),
            _ => self.refusal(buffers, payload)?,
        };
        Ok(reply.map(Step::Message))
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
    pub(super) fn whole(&mut self, buffers: &mut Buffers) -> Result<Option<Span>, Error> {
        match self
            .frames
            .message(buffers, self.limits.max_message_bytes)?
        {
            Frame::Whole(payload) if payload.is_empty() => Err(FrameError::Empty.into()),
            Frame::Whole(payload) => Ok(Some(payload)),
            Frame::Missing(_) => Ok(None),
            Frame::Large(large) => Err(WireError::LimitExceeded {
                needed: large.known(),
                max: self.limits.max_message_bytes as u64,
            }
            .into()),
        }
    }

    pub(super) fn deprecates_eof(&self) -> bool {
        self.session
            .capabilities
            .contains(Capabilities::DEPRECATE_EOF)
    }

    fn during(&self) -> &'static str {
        match self.state {
            State::Idle => "an unsolicited packet",
            State::Header
            | State::HeaderOrRest
            | State::LeftOut
            | State::Rest
            | State::Prelude
            | State::Refusal
            | State::Between => "the wait for a reply",
            State::Definitions { .. } | State::DefinitionsEof => "column definitions",
            State::Rows | State::CursorHead | State::LargeRow | State::StreamedRow => "rows",
            State::Prepare(_) => "the reply to prepare",
            State::LocalInfile => "the transfer of a local file",
            State::ChangeUser => "the change of user",
            State::Dead => "an error",
        }
    }
}

pub(super) fn unexpected(during: &'static str, bytes: &[u8]) -> Error {
    Error::Unexpected {
        during,
        byte: bytes.first().copied().unwrap_or_default(),
    }
}

#[cold]
pub(super) fn row_too_long(needed: u64, limits: &Limits) -> Error {
    WireError::LimitExceeded {
        needed,
        max: limits.max_row_bytes,
    }
    .into()
}

/// What the core asked the buffers for.
#[inline]
pub(super) fn missing(buffers: &Buffers) -> Step<Reply> {
    Step::NeedInput(buffers.needed())
}

#[cfg(test)]
mod tests;
