//! The server's state between a client's packets.
//!
//! ```text
//!   Command --whole payload--> (replies are queued) --> Command
//!      ^                           | expect_packet
//!      +------ Packet <------------+
//! ```

use onecopy_wire::{Buffers, Core, Span, Step, WireError};

use super::statement::Statements;
use super::{ServerError, ServerLimits, ServerSession, ServerStatement};
use crate::Capabilities;
use crate::frame::{Frame, FrameError, FrameReader, HEADER_BYTES, Large};
use crate::packet::{Close, Command, CommandByte, Execute, SendLongData, StmtReset};

/// A message from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerMessage {
    /// The complete payload of a command: read it with [`ServerCore::command`].
    Command(Span),
    /// The payload that was [expected](ServerCore::expect_packet); it may be empty.
    Packet(Span),
}

/// What the client is expected to send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Command,
    /// A packet that continues with the sequence ids of the command under way.
    Packet,
}

/// A payload over several packets, or too large for the read buffer.
#[derive(Debug, Clone, Copy)]
struct Joining {
    payload: Large,
    /// Bytes that its home has room for.
    room: u64,
}

/// The server's state machine after the login: commands in, replies out.
///
/// Replies are queued in the buffers with the sequence ids that belong to the command; the I/O driver sends them. A command that
/// arrives before the previous reply is queued waits until `advance` is called again.
#[derive(Debug)]
pub struct ServerCore {
    pub(super) session: ServerSession,
    limits: ServerLimits,
    pub(super) frames: FrameReader,
    pub(super) statements: Statements,
    /// The statement that is being executed.
    executing: Option<u32>,
    expected: Expected,
    joining: Option<Joining>,
    dead: Option<ServerError>,
}

impl Core for ServerCore {
    type Message = ServerMessage;
    type Error = ServerError;

    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<ServerMessage>, ServerError> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        self.step(buffers)
            .inspect_err(|error| self.dead = Some(error.clone()))
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> ServerError {
        let during = match self.expected {
            Expected::Command if self.joining.is_none() && buffers.pending().is_empty() => "idle",
            Expected::Command => "a command",
            Expected::Packet => "the wait for a packet",
        };
        self.dead
            .get_or_insert(ServerError::Closed { during })
            .clone()
    }
}

impl ServerCore {
    /// Creates the state machine of a client that is logged in.
    pub fn new(session: ServerSession, limits: ServerLimits) -> Self {
        Self {
            session,
            limits,
            frames: FrameReader::default(),
            statements: Statements::default(),
            executing: None,
            expected: Expected::Command,
            joining: None,
            dead: None,
        }
    }

    /// Returns what the login agreed on.
    pub fn session(&self) -> &ServerSession {
        &self.session
    }

    /// Returns the capabilities of both sides.
    #[inline]
    pub fn capabilities(&self) -> Capabilities {
        self.session.capabilities
    }

    /// Returns an open prepared statement.
    pub fn statement(&self, id: u32) -> Option<&ServerStatement> {
        self.statements.find(id)
    }

    /// Returns the sequence id of the next packet, whichever side sends it.
    pub fn sequence(&self) -> u8 {
        self.frames.sequence()
    }

    /// Decodes a command. If this fails, the client made an error; the connection continues after an ERR.
    ///
    /// # Errors
    /// Fails like the decoder of the command.
    pub fn command<'b>(
        &self,
        buffers: &'b Buffers,
        payload: Span,
    ) -> Result<Command<'b>, ServerError> {
        Ok(Command::decode(
            buffers.bytes(payload),
            self.capabilities(),
        )?)
    }

    /// Declares that the client's next payload is not a command but continues the current one: a piece of a file, an answer to a
    /// change of user. This applies to one packet.
    pub fn expect_packet(&mut self) {
        self.expected = Expected::Packet;
    }

    /// The conversation is over; its first error stays.
    pub(super) fn die(&mut self, error: ServerError) {
        self.dead.get_or_insert(error);
    }

    fn step(&mut self, buffers: &mut Buffers) -> Result<Step<ServerMessage>, ServerError> {
        if self.joining.is_none() {
            buffers.recycle_homes();
            if let Some(id) = self.executing.take() {
                self.statements.forget_long_data(id);
            }
            if self.expected == Expected::Command {
                self.frames.restart(0);
            }
            self.check_sequence(buffers)?;
            match self.frames.next(buffers, self.limits.contiguous_bytes)? {
                Frame::Missing(n) => {
                    self.check_claim(buffers)?;
                    return Ok(Step::NeedInput(n));
                }
                Frame::Whole(payload) => {
                    self.check_length(payload.len() as u64)?;
                    return self.hand_over(buffers, payload);
                }
                Frame::Large(large) => self.join(buffers, large)?,
            }
        }
        match self.joined(buffers)? {
            Some(payload) => self.hand_over(buffers, payload),
            None => Ok(Step::NeedInput(buffers.needed())),
        }
    }

    /// The frames take an ERR packet with any sequence id; a client has none to send.
    fn check_sequence(&self, buffers: &Buffers) -> Result<(), FrameError> {
        match buffers.pending().get(HEADER_BYTES - 1) {
            Some(&found) if found != self.frames.sequence() => Err(FrameError::Sequence {
                expected: self.frames.sequence(),
                found,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a header's claim before memory is made ready for it.
    fn check_claim(&self, buffers: &Buffers) -> Result<(), WireError> {
        match buffers.pending() {
            [a, b, c, _, ..] => self.check_length(u64::from(u32::from_le_bytes([*a, *b, *c, 0]))),
            _ => Ok(()),
        }
    }

    fn check_length(&self, needed: u64) -> Result<(), WireError> {
        let max = self.limits.max_command_bytes;
        if needed > max {
            return Err(WireError::LimitExceeded { needed, max });
        }
        Ok(())
    }

    /// A payload gets memory of its own: as much as its first packet claims, and more with each further packet.
    fn join(&mut self, buffers: &mut Buffers, payload: Large) -> Result<(), ServerError> {
        self.check_length(payload.known())?;
        let total = usize::try_from(payload.known()).unwrap_or(usize::MAX);
        buffers.begin_home(total, buffers.pending().len())?;
        self.joining = Some(Joining {
            payload,
            room: payload.known(),
        });
        Ok(())
    }

    fn joined(&mut self, buffers: &mut Buffers) -> Result<Option<Span>, ServerError> {
        let Some(Joining { payload, room }) = &mut self.joining else {
            return Ok(None);
        };
        payload.update(buffers, &mut self.frames)?;
        let (payload, known) = (*payload, payload.known());
        if known > *room {
            let more = usize::try_from(known - *room).unwrap_or(usize::MAX);
            *room = known;
            self.check_length(known)?;
            buffers.extend_home(more)?;
        }
        let missing = buffers.home_missing();
        if missing > 0 || !payload.is_last() {
            buffers.need(missing.max(1), missing);
            return Ok(None);
        }
        self.joining = None;
        Ok(Some(buffers.finish_home()))
    }

    fn hand_over(
        &mut self,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Step<ServerMessage>, ServerError> {
        if self.expected == Expected::Packet {
            self.expected = Expected::Command;
            return Ok(Step::Message(ServerMessage::Packet(payload)));
        }
        let bytes = buffers.bytes(payload);
        let Some(&first) = bytes.first() else {
            return Err(FrameError::Empty.into());
        };
        self.note(CommandByte(first), bytes)?;
        Ok(Step::Message(ServerMessage::Command(payload)))
    }

    /// Keeps count of the statements. The reader of a malformed command reports it.
    fn note(&mut self, command: CommandByte, bytes: &[u8]) -> Result<(), WireError> {
        match command {
            CommandByte::STMT_CLOSE => {
                if let Ok(close) = Close::decode(bytes) {
                    self.statements.close(close);
                }
            }
            CommandByte::STMT_SEND_LONG_DATA => {
                if let Ok(piece) = SendLongData::decode(bytes) {
                    self.statements.note_long_data(piece)?;
                }
            }
            CommandByte::STMT_RESET => {
                if let Ok(reset) = StmtReset::decode(bytes) {
                    self.statements.reset(reset);
                }
            }
            CommandByte::STMT_EXECUTE => {
                self.executing = Execute::decode(bytes)
                    .ok()
                    .map(|execute| execute.statement_id);
            }
            CommandByte::RESET_CONNECTION | CommandByte::CHANGE_USER => {
                self.statements.forget_all()
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
