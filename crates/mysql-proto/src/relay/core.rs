//! What is known of one session, and what it is asked.
//!
//! ```text
//!   client --bytes--> commands --------------------> server
//!                        | awaited, queue
//!   client <-------- Done at the end of each <--bytes-- server
//! ```

use super::packets::{Packets, Start, Stop};
use super::pending::{Pending, Queue};
use super::server::{Awaited, Ending};
use super::statements::Statements;
use super::{Passage, PasswordGuard, RelayError};
use crate::frame::HEADER_BYTES;
use crate::packet::CommandByte;
use crate::{Capabilities, StatusFlags};

/// Follows the command phase of a client and a server whose bytes are forwarded unchanged.
///
/// It has no buffers and does no I/O: the proxy passes it the bytes that were received and not forwarded yet, and forwards as
/// many bytes as it says. It allocates memory for prepared statements, 4 bytes each, and for commands that are sent ahead of the
/// replies. An ordinary row costs about 14 instructions, whatever its size.
///
/// Sequence ids are recorded but not checked: the client and the server do that.
///
/// ```
/// use onecopy_mysql_proto::packet::CommandByte;
/// use onecopy_mysql_proto::relay::{Event, Relay};
/// use onecopy_mysql_proto::{Capabilities, StatusFlags};
///
/// let mut relay = Relay::new(Capabilities::PROTOCOL_41);
/// // COM_PING, and a byte of what follows.
/// let passage = relay.client(&[1, 0, 0, 0, 0x0E, 9])?;
/// assert_eq!(passage.pass, 5);
/// let command = CommandByte::PING;
/// assert_eq!(passage.event, Some(Event::Command { at: 0, command }));
///
/// let passage = relay.server(&[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])?;
/// assert_eq!(passage.pass, 11);
/// let status = StatusFlags::AUTOCOMMIT;
/// assert_eq!(passage.event, Some(Event::Done { command, failed: false, status }));
/// # Ok::<(), onecopy_mysql_proto::relay::RelayError>(())
/// ```
#[derive(Debug)]
pub struct Relay {
    pub(super) capabilities: Capabilities,
    pub(super) client: Packets,
    pub(super) server: Packets,
    /// The server's next payload.
    pub(super) awaited: Awaited,
    /// What happens at the end of the server's payload under way.
    pub(super) ending: Option<Ending>,
    /// Whose reply is awaited; without meaning while none is.
    pub(super) current: Pending,
    pub(super) queue: Queue,
    pub(super) statements: Statements,
    pub(super) status: StatusFlags,
    /// The sequence id of the next packet of the current exchange, from either side.
    pub(super) sequence: u8,
    /// Something of the reply under way has passed.
    pub(super) begun: bool,
    /// The client's payloads are a file, up to an empty one.
    pub(super) in_file: bool,
    /// The client's payloads answer the server's authentication.
    pub(super) in_authentication: bool,
    /// The last event of the binary log is one that the client acknowledges.
    pub(super) was_synced: bool,
    /// The id of the next packet of a command that has no reply.
    pub(super) alone: u8,
    /// What further packets of the client's payload belong to.
    pub(super) carries: Carries,
    /// Watches changes of user where the two sides are not alike.
    pub(super) guard: Option<PasswordGuard>,
    /// The end of a result is told where another follows.
    pub(super) tells_results: bool,
    /// Where what a server says of the session's state is told before it passes, and noted.
    pub(super) observed: Option<Box<Observed>>,
    pub(super) commands: u64,
    pub(super) tally: Tally,
    /// The number of the server's last error, and of how many commands the client had sent by then the lower half.
    pub(super) last_error: u16,
    pub(super) last_error_at: u32,
    /// The same error's SQLSTATE; zeros for none.
    pub(super) last_state: [u8; 5],
    pub(super) dead: Option<RelayError>,
}

/// What a relay notes that tells of the session's state.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// The packet that comes next was told of.
    pub(super) is_told: bool,
    pub(super) outcome: Outcome,
    /// A result had warnings since that was asked for.
    pub(super) has_warned: bool,
    /// A text is to come behind the reply to the command of this number, or in place of the rest of it.
    pub(super) rest_asked_of: u64,
}

/// The numbers of the packet that ended a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Affected rows; 0 for a result with rows.
    pub affected_rows: u64,
    /// The insert id; 0 for none.
    pub last_insert_id: u64,
    /// The number of warnings.
    pub warnings: u16,
}

/// What a server has sent, from one look at it to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows of results.
    pub rows: u64,
    /// Rows that were changed, as OK packets report it.
    pub affected_rows: u64,
    /// Warnings, as the packets report it that end results.
    pub warnings: u64,
}

/// What the client's payload under way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// The command that came last.
    Command,
    /// A part of the exchange under way.
    Exchange,
    /// Nothing that has a reply.
    Nothing,
}

impl Relay {
    /// Creates the state of a session after its login, in which client and server agreed on `capabilities`: both use the same
    /// ones.
    ///
    /// `MARIADB_COM_MULTI`, which only MariaDB 10.2 to 10.4 had, must not be among them, because the number of replies to its
    /// packets of several commands is unknown. [`login::greeting`](super::login::greeting) can remove it.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            client: Packets::default(),
            server: Packets::default(),
            awaited: Awaited::Nothing,
            ending: None,
            current: Pending {
                command: CommandByte::PING,
                sequence: 0,
                closes: None,
                asks_for_cursor: false,
                has_out_parameters: false,
            },
            queue: Queue::default(),
            statements: Statements::default(),
            status: StatusFlags::AUTOCOMMIT,
            sequence: 0,
            begun: false,
            in_file: false,
            in_authentication: false,
            was_synced: false,
            alone: 0,
            carries: Carries::Nothing,
            guard: None,
            tells_results: false,
            observed: None,
            commands: 0,
            tally: Tally::default(),
            last_error: 0,
            last_error_at: 0,
            last_state: [0; 5],
            dead: None,
        }
    }

    /// Sets the number of commands that the client has sent before, for a session that was followed elsewhere.
    pub fn set_commands(&mut self, commands: u64) {
        self.commands = commands;
    }

    /// Sets the server's status, as reported by the login's OK packet.
    #[must_use]
    pub fn with_status(mut self, status: StatusFlags) -> Self {
        self.status = status;
        self
    }

    /// Sets a guard for passwords, for a proxy of which only one side may be secure. A change of user that would pass the
    /// password itself from one side to the other is then an error, before any of it is forwarded.
    #[must_use]
    pub fn with_guard(mut self, guard: PasswordGuard) -> Self {
        self.guard = (!guard.is_idle()).then_some(guard);
        self
    }

    /// Enables [`Event::Result`](super::Event::Result) from now on. A proxy needs it if it compresses what it sends to the
    /// client.
    pub fn tell_results(&mut self) {
        self.tells_results = true;
    }

    /// Enables [`Event::StateChanged`](super::Event::StateChanged), [`Event::Prepared`](super::Event::Prepared) and
    /// [`outcome`](Self::outcome) from now on. A proxy needs them if it gives a session to another server connection.
    pub fn tell_state(&mut self) {
        self.observed.get_or_insert_default();
    }

    /// Returns what the last reply's OK or EOF packet reported, if [`tell_state`](Self::tell_state) was called.
    pub fn outcome(&self) -> Outcome {
        self.observed
            .as_ref()
            .map_or_else(Outcome::default, |observed| observed.outcome)
    }

    /// Returns whether any result since the last call had warnings: of several statements in one command,
    /// [`outcome`](Self::outcome) tells of the last one only.
    pub fn take_warned(&mut self) -> bool {
        (self.observed.as_mut()).is_some_and(|observed| std::mem::take(&mut observed.has_warned))
    }

    /// Returns what the server has sent since the last call. At [`Event::Done`](super::Event::Done) that is the whole reply, if this was
    /// also called at the one before it.
    #[inline]
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Returns the statement that was prepared last, by the server's number, if the client has prepared or closed none since. At the
    /// end of the reply to a prepare it is the new one.
    pub fn last_prepared(&self) -> Option<u32> {
        self.statements.last()
    }

    /// Replaces the status that the server reported last, for example when a new server connection takes over.
    pub fn set_status(&mut self, status: StatusFlags) {
        self.status = status;
    }

    /// Examines `bytes`: what the client has sent after the bytes that were already reported to pass.
    ///
    /// # Errors
    /// Fails if the conversation cannot be followed. The session is over, and each further call returns the same error.
    pub fn client(&mut self, bytes: &[u8]) -> Result<Passage, RelayError> {
        match self.dead {
            None => self.look_at_client(bytes).map_err(|error| self.die(error)),
            Some(dead) => Err(dead),
        }
    }

    /// Examines `bytes`: what the server has sent after the bytes that were already reported to pass.
    ///
    /// # Errors
    /// Fails if the conversation cannot be followed. The session is over, and each further call returns the same error.
    #[inline]
    pub fn server(&mut self, bytes: &[u8]) -> Result<Passage, RelayError> {
        match self.dead {
            None => self.look_at_server(bytes).map_err(|error| self.die(error)),
            Some(dead) => Err(dead),
        }
    }

    /// What stopped the look at the packet at `at`. What is right before it passes, so that the client knows how far the
    /// exchange is when it is told; the next call gives the error.
    #[cold]
    pub(super) fn stopped(
        &mut self,
        bytes: &[u8],
        at: usize,
        stop: Stop,
    ) -> Result<Passage, RelayError> {
        match stop {
            Stop::Need(payload) => Ok(missing(bytes, at, HEADER_BYTES + payload)),
            Stop::Told(event) => {
                if let Some(observed) = &mut self.observed {
                    observed.is_told = true;
                }
                Ok(Passage {
                    pass: at,
                    need: 0,
                    until_end: 0,
                    event: Some(event),
                })
            }
            Stop::Again => Ok(Passage {
                pass: at,
                need: 0,
                until_end: 0,
                event: None,
            }),
            Stop::Failed(error) if at == 0 => Err(error),
            Stop::Failed(error) => {
                self.dead = Some(error);
                Ok(Passage {
                    pass: at,
                    need: 0,
                    until_end: 0,
                    event: None,
                })
            }
        }
    }

    #[cold]
    fn die(&mut self, error: RelayError) -> RelayError {
        self.dead = Some(error);
        error
    }

    /// Returns the capabilities that client and server agreed on.
    #[inline]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Returns whether no reply is outstanding and both sides are between packets.
    pub fn is_idle(&self) -> bool {
        self.awaited == Awaited::Nothing
            && !self.in_file
            && self.server.is_between_payloads()
            && self.client.is_between_payloads()
    }

    /// Returns whether the server is sending a binary log: see [`Due::Log`](crate::compression::Due::Log).
    pub fn follows_binary_log(&self) -> bool {
        self.awaited != Awaited::Nothing && self.current.is_binlog_dump()
    }

    /// Returns whether the client's next byte begins a command, and is not part of a packet, a file or an authentication.
    #[inline]
    pub fn client_is_between_payloads(&self) -> bool {
        self.client.is_between_payloads() && !self.in_file && !self.in_authentication
    }

    /// Returns the number of bytes of the client's packet in progress that have not passed yet. 0 between packets, also within a payload.
    #[inline]
    pub fn client_left(&self) -> usize {
        self.client.left()
    }

    /// Returns the number of commands that the server has yet to answer, including the one whose reply is in progress.
    #[inline]
    pub fn outstanding(&self) -> usize {
        usize::from(self.awaited != Awaited::Nothing) + self.queue.with_reply()
    }

    /// Returns the command whose reply is outstanding or in progress.
    pub fn command(&self) -> Option<CommandByte> {
        (self.awaited != Awaited::Nothing).then_some(self.current.command)
    }

    /// Returns whether a transaction is open, according to the server's last status.
    pub fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANS)
    }

    /// Returns the server's last status.
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    /// Returns the number of commands that the client has sent.
    pub fn commands(&self) -> u64 {
        self.commands
    }

    /// Returns the number of the server's last error, if the client has sent no command since. If the server closes the
    /// connection now, this is the reason.
    pub fn last_error(&self) -> Option<u16> {
        let is_last = self.last_error_at == lower(self.commands);
        (self.last_error != 0 && is_last).then_some(self.last_error)
    }

    /// Returns the number and the SQLSTATE of the last error that the server has sent: behind an [`Event::Done`](super::Event::Done) that
    /// failed, those of its reply. `None` if there was none yet.
    pub fn error_sent(&self) -> Option<(u16, Option<[u8; 5]>)> {
        let state = (self.last_state != [0; 5]).then_some(self.last_state);
        (self.last_error != 0).then_some((self.last_error, state))
    }

    #[cold]
    pub(super) fn note_error(&mut self, code: u16, state: Option<[u8; 5]>) {
        (self.last_error, self.last_error_at) = (code, lower(self.commands));
        self.last_state = state.unwrap_or_default();
    }

    /// Returns the bytes of allocated memory: lists of prepared statements and of commands that were sent ahead.
    pub fn memory(&self) -> usize {
        self.statements.memory() + self.queue.memory()
    }

    /// Returns the size of the list of commands that were sent ahead, in bytes. It shrinks with each reply.
    pub fn sent_ahead_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Returns the number of open prepared statements.
    pub fn statements(&self) -> usize {
        self.statements.len()
    }

    /// Returns whether the server answers the command that the client began last.
    pub fn last_has_reply(&self) -> bool {
        self.carries == Carries::Command
    }

    /// Returns whether the client is sending a file that the server requested.
    pub fn in_file(&self) -> bool {
        self.in_file
    }

    /// Returns the sequence id that an ERR packet of the proxy to the client must have now: 0 while no reply is outstanding.
    /// `None` in the middle of a packet, for example in a row, where no other packet may follow. While the client is still
    /// sending a command of more than 16 MiB, it is the id after the current packet.
    pub fn error_sequence(&self) -> Option<u8> {
        self.server.is_between_payloads().then_some(self.sequence)
    }

    /// Returns whether any part of the current reply was forwarded.
    pub fn reply_begun(&self) -> bool {
        self.begun
    }
}

/// The lower half of a count.
fn lower(count: u64) -> u32 {
    let [a, b, c, d, ..] = count.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Where a look ends: a packet that has not come far enough, or all of the bytes.
#[cold]
pub(super) fn missing(bytes: &[u8], pass: usize, need: usize) -> Passage {
    let rest = bytes.get(pass..).unwrap_or_default();
    let length = rest
        .first_chunk()
        .map_or(0, |&header| crate::frame::split_header(header).0);
    let all = if rest.len() < HEADER_BYTES {
        0
    } else {
        HEADER_BYTES + length
    };
    Passage {
        pass,
        need,
        until_end: all.saturating_sub(rest.len()),
        event: None,
    }
}

/// The header of the next packet and what has arrived behind it; `Need` counts from the packet's first byte.
#[inline]
pub(super) fn next_packet(bytes: &[u8], at: usize) -> Option<(Start<'_>, u8)> {
    let (&header, behind) = bytes.get(at..)?.split_first_chunk::<HEADER_BYTES>()?;
    let (length, sequence) = crate::frame::split_header(header);
    Some((Start::new(behind, length), sequence))
}

#[cfg(test)]
mod tests;
