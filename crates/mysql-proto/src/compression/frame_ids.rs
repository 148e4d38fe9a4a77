//! Sequence ids of the frames on one side of a relay.
//!
//! Frames count as packets do: from 0 where a command begins, on in the reply, and on in what belongs to the same exchange,
//! whoever speaks. MySQL and MariaDB check them as servers, libmysqlclient, go-sql-driver and `mysql_common` as clients; those
//! of the packets inside are checked by the last one only, see [`PacketIds`](super::PacketIds). Commands that are sent ahead
//! have counts of their own:
//!
//! ```text
//!   client:  A 0   B 0 1                     B waits in `ahead` with 2, which its reply begins with
//!   server:              A's 1 2 3   B's 2 3
//! ```
//!
//! A command whose reply was not begun may be in the middle of its frames, so its count goes on where it waits.

use std::collections::VecDeque;

use super::CompressionError;

/// A longer list is given back when it is empty.
const KEPT: usize = 16;

/// Counts the frames between a client and a server, of which a relay is one.
#[derive(Debug, Default)]
pub struct FrameIds {
    /// The next frame's in the exchange under way, whoever sends it.
    current: u8,
    /// The same of commands behind it that have a reply.
    ahead: VecDeque<u8>,
    asking: Asking,
    /// Behind the last frame that was heard of the client.
    heard: u8,
    /// Whether that frame is the command's that was begun last.
    is_announced: bool,
    /// Whether a server would have flushed behind what it sent last.
    is_flushed: bool,
}

/// Which command the client's frames belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Asking {
    /// The one under way.
    #[default]
    Current,
    /// One ahead. More may have been counted behind it, whose frames are not begun.
    Ahead(usize),
    /// One that nobody answers.
    Alone(u8),
}

/// What the next frame of the server may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The reply goes on.
    Reply,
    /// The reply begins. A server that was killed meanwhile may not have counted the command.
    Start,
    /// A binary log goes on. Behind an event that a replica acknowledges (semi-synchronous replication) MariaDB and MySQL go on from
    /// 1, as the replica does behind its acknowledgement, and wait for none.
    Log,
    /// Nothing is due, so that it can only be a farewell, with an id of no meaning.
    Nothing,
}

impl FrameIds {
    /// Both sides are between commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// A command has to be counted: it has a `reply` or none, and it is the `next` to be answered or one that waits behind
    /// others. Its frames are announced by [`begin`](Self::begin), or are those that were heard.
    ///
    /// # Errors
    /// No memory for the list of commands ahead.
    pub fn command(&mut self, has_reply: bool, is_next: bool) -> Result<(), CompressionError> {
        if has_reply && is_next {
            self.current = 0;
        } else if has_reply {
            let reserved = self.ahead.try_reserve(1);
            reserved.map_err(|_| CompressionError::OutOfMemory)?;
            self.ahead.push_back(0);
        }
        Ok(())
    }

    /// The client's frames are those of the command that was counted last, from the first one on, for a relay that sends
    /// them.
    pub fn begin(&mut self, has_reply: bool) {
        self.asking = match has_reply {
            false => Asking::Alone(0),
            true => match self.ahead.len().checked_sub(1) {
                Some(last) => Asking::Ahead(last),
                None => Asking::Current,
            },
        };
        *self.of_client() = 0;
    }

    /// The same for a relay that has heard frames of it already.
    pub fn begin_heard(&mut self, has_reply: bool) {
        self.begin(has_reply);
        *self.of_client() = self.heard;
        self.is_announced = true;
        self.is_flushed |= self.asking == Asking::Current;
    }

    /// The id of the next frame to the server.
    pub fn to_server(&mut self) -> u8 {
        take(self.of_client())
    }

    /// The id of the next frame to the client.
    pub fn to_client(&mut self) -> u8 {
        take(&mut self.current)
    }

    /// A frame of the client's has come; `is_between` is whether all that came before it were whole commands.
    ///
    /// # Errors
    /// `Sequence`.
    pub fn from_client(&mut self, sequence: u8, is_between: bool) -> Result<(), CompressionError> {
        if is_between {
            // Behind a frame of no bytes it is still the same command.
            if self.is_announced || sequence != self.heard {
                check(sequence, 0)?;
            }
            self.heard = sequence.wrapping_add(1);
            self.is_announced = false;
            return Ok(());
        }
        // In an exchange the server's frames count as well.
        let is_current = self.is_announced && self.asking == Asking::Current;
        if !(is_current && sequence == self.current) {
            check(sequence, self.heard)?;
        }
        self.heard = sequence.wrapping_add(1);
        if self.is_announced {
            *self.of_client() = self.heard;
            self.is_flushed |= self.asking == Asking::Current;
        }
        Ok(())
    }

    /// A frame of the server's has come.
    ///
    /// # Errors
    /// `Sequence`.
    pub fn from_server(&mut self, sequence: u8, due: Due) -> Result<(), CompressionError> {
        let missed_one = sequence.wrapping_add(1) == self.current;
        let goes_on = match due {
            Due::Reply => true,
            Due::Start => !missed_one,
            Due::Log => sequence != 1,
            Due::Nothing => false,
        };
        if goes_on {
            check(sequence, self.current)?;
        }
        self.current = sequence.wrapping_add(1);
        Ok(())
    }

    /// A server flushes here: a result is over, and another one of the same reply follows.
    pub fn flush(&mut self) {
        self.is_flushed = true;
    }

    /// Whether the next frame to the client is the first one behind a flush, or behind something that the client has said. To be
    /// asked once for each such frame, before its id.
    pub fn begins_count(&mut self) -> bool {
        core::mem::take(&mut self.is_flushed)
    }

    /// The reply under way is over: the next command's turn.
    pub fn done(&mut self) {
        self.is_flushed = true;
        self.current = self.ahead.pop_front().unwrap_or_default();
        if self.ahead.is_empty() && self.ahead.capacity() > KEPT {
            self.ahead = VecDeque::new();
        }
        self.asking = match self.asking {
            Asking::Ahead(0) => Asking::Current,
            Asking::Ahead(at) => Asking::Ahead(at - 1),
            asking => asking,
        };
    }

    /// The command that was heard last is answered by the relay itself: nobody else hears of it. No other one waits.
    pub fn answer(&mut self) {
        self.current = self.heard;
        self.is_flushed = true;
    }

    fn of_client(&mut self) -> &mut u8 {
        match &mut self.asking {
            Asking::Alone(next) => next,
            Asking::Ahead(at) => self.ahead.get_mut(*at).unwrap_or(&mut self.current),
            Asking::Current => &mut self.current,
        }
    }
}

fn take(next: &mut u8) -> u8 {
    let id = *next;
    *next = id.wrapping_add(1);
    id
}

fn check(found: u8, expected: u8) -> Result<(), CompressionError> {
    match found == expected {
        true => Ok(()),
        false => Err(CompressionError::Sequence { expected, found }),
    }
}
