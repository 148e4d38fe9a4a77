//! The client's payloads: commands, and what belongs to the one before.

use super::core::{Carries, Relay, missing, next_packet};
use super::packets::{Start, Stop};
use super::pending::Pending;
use super::server::Awaited;
use super::{Event, Passage, RelayError, Side, Verdict};
use crate::frame::HEADER_BYTES;
use crate::packet::{ChangeUser, Close, CommandByte, CursorType};

/// The first byte of a replica's acknowledgement, which no command has: semi-synchronous replication.
const ACKNOWLEDGEMENT: u8 = 0xEF;

/// The most bytes of a COM_CHANGE_USER that is looked at: 64 KiB of attributes, and the names.
const CHANGE_USER_BYTES: usize = 68 << 10;

/// Bytes of COM_STMT_CLOSE.
const CLOSE_BYTES: usize = 5;

/// Bytes of COM_STMT_EXECUTE up to its flags.
const EXECUTE_BYTES: usize = 6;

impl Relay {
    pub(super) fn look_at_client(&mut self, bytes: &[u8]) -> Result<Passage, RelayError> {
        let mut at = self.client.take(bytes.len());
        loop {
            if self.client.left() > 0 {
                return Ok(self.client_passage(at, 1, None));
            }
            let Some((start, sequence)) = next_packet(bytes, at) else {
                return Ok(missing(bytes, at, HEADER_BYTES));
            };
            let is_first = !self.client.continues();
            let command = if is_first {
                match self.client_payload(start, sequence) {
                    Ok(command) => command,
                    Err(stop) => return self.client_stopped(bytes, at, stop, sequence),
                }
            } else {
                None
            };
            // What else begins no command is a part of an exchange.
            let acknowledges = is_first && command.is_none() && self.carries == Carries::Nothing;
            self.note_client_sequence(sequence.wrapping_add(1));
            self.client.begin(start.length());
            let header = at;
            at += HEADER_BYTES;
            at += self.client.take(bytes.len() - at);
            if let Some(command) = command {
                let event = Event::Command {
                    at: header,
                    command,
                };
                return Ok(self.client_passage(at, 0, Some(event)));
            }
            if acknowledges {
                let event = Event::Acknowledgement { at: header };
                return Ok(self.client_passage(at, 0, Some(event)));
            }
        }
    }

    /// A payload that has not come far enough, or one that is refused: then the error is the reply to it, unless a reply to
    /// an earlier command is due.
    #[cold]
    fn client_stopped(
        &mut self,
        bytes: &[u8],
        at: usize,
        stop: Stop,
        sequence: u8,
    ) -> Result<Passage, RelayError> {
        if matches!(stop, Stop::Failed(_)) && self.awaited == Awaited::Nothing {
            self.sequence = sequence.wrapping_add(1);
        }
        self.stopped(bytes, at, stop)
    }

    fn client_passage(&self, pass: usize, need: usize, event: Option<Event>) -> Passage {
        Passage {
            pass,
            need,
            until_end: self.client.left(),
            event,
        }
    }

    /// Whose reply the packet belongs to continues behind it.
    fn note_client_sequence(&mut self, sequence: u8) {
        match (self.carries, self.queue.last_mut()) {
            (Carries::Command, Some(last)) => last.sequence = sequence,
            (Carries::Command | Carries::Exchange, _) if self.awaited != Awaited::Nothing => {
                self.sequence = sequence;
            }
            _ => self.alone = sequence,
        }
    }

    /// A payload's first packet; gives the command that it begins.
    fn client_payload(
        &mut self,
        start: Start<'_>,
        sequence: u8,
    ) -> Result<Option<CommandByte>, Stop> {
        let first = start.first()?;
        if self.in_file {
            self.in_file = first.is_some();
            self.carries = Carries::Exchange;
            return Ok(None);
        }
        if self.in_authentication {
            self.carries = Carries::Exchange;
            return Ok(None);
        }
        let Some(first) = first else {
            let expected = "a command";
            let side = Side::Client;
            return Err(RelayError::Empty { side, expected }.into());
        };
        let dumps = self.awaited != Awaited::Nothing && self.current.is_binlog_dump();
        if dumps && first == ACKNOWLEDGEMENT {
            self.carries = Carries::Nothing;
            return Ok(None);
        }
        let command = CommandByte(first);
        if command == CommandByte::CHANGE_USER && self.guard.is_some() {
            self.guard_change_user(start)?;
        }
        let (mut closes, mut asks_for_cursor) = (None, false);
        match command {
            // One cut short closes nothing.
            CommandByte::STMT_CLOSE => closes = Close::decode(start.prefix(CLOSE_BYTES)?).ok(),
            CommandByte::STMT_EXECUTE => {
                // A shorter one is no execution: the server answers with an error.
                if let [_, _, _, _, _, flags] = *start.prefix(EXECUTE_BYTES)? {
                    asks_for_cursor = CursorType(flags).contains(CursorType::READ_ONLY);
                }
            }
            _ => {}
        }
        self.begin(Pending {
            command,
            sequence: sequence.wrapping_add(1),
            closes: closes.map(|close| close.statement_id),
            asks_for_cursor,
            has_out_parameters: false,
        })?;
        self.commands += 1;
        Ok(Some(command))
    }

    /// Looks at all of the command before any of it passes.
    #[cold]
    fn guard_change_user(&mut self, start: Start<'_>) -> Result<(), Stop> {
        let side = Side::Client;
        if start.length() > CHANGE_USER_BYTES {
            return Err(RelayError::BadLength { side }.into());
        }
        let payload = start.prefix(CHANGE_USER_BYTES)?;
        let change = ChangeUser::decode_authentication(payload, self.capabilities)
            .map_err(|error| RelayError::Decode { side, error })?;
        let Some(guard) = &mut self.guard else {
            return Ok(());
        };
        match guard.client(change.auth_plugin, change.auth_response) {
            Verdict::Pass => Ok(()),
            _ => Err(RelayError::PasswordExposed.into()),
        }
    }

    /// The command's turn is now, or behind those that came before.
    fn begin(&mut self, pending: Pending) -> Result<(), RelayError> {
        let awaits = pending.awaits();
        self.carries = match awaits {
            Some(_) => Carries::Command,
            None => Carries::Nothing,
        };
        if self.awaited != Awaited::Nothing {
            if awaits.is_some() || pending.closes.is_some() {
                self.queue.push(pending)?;
            }
        } else if let Some(awaited) = awaits {
            self.start(pending, awaited);
        } else if let Some(statement) = pending.closes {
            self.statements.close(statement);
        }
        Ok(())
    }

    fn start(&mut self, pending: Pending, awaited: Awaited) {
        self.current = pending;
        self.awaited = awaited;
        self.sequence = pending.sequence;
        self.begun = false;
    }

    /// A reply is over: the next command's turn.
    pub(super) fn start_next(&mut self) {
        self.awaited = Awaited::Nothing;
        self.in_authentication = false;
        self.begun = false;
        self.sequence = 0;
        while let Some(pending) = self.queue.pop() {
            if let Some(awaited) = pending.awaits() {
                return self.start(pending, awaited);
            }
            if let Some(statement) = pending.closes {
                self.statements.close(statement);
            }
        }
    }
}
