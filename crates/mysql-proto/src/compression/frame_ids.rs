//! The sequence ids of the frames on one side of a relay.
//!
//! Frames are counted like packets: from 0 at the start of a command, continuing in the reply and in everything else that belongs
//! to the same exchange, whichever side sends it. MySQL and MariaDB check these ids as servers; libmysqlclient, go-sql-driver and
//! `mysql_common` check them as clients. The ids of the packets inside are checked only by `mysql_common`, see
//! [`PacketIds`](super::PacketIds). Commands that are sent ahead have counts of their own:
//!
//! ```text
//!   client:  A 0   B 0 1                     B waits in `ahead` with 2, which its reply begins with
//!   server:              A's 1 2 3   B's 2 3
//! ```
//!
//! If the reply to a command has not begun, more of the command's frames may follow, so its count continues while it waits.

use std::collections::VecDeque;

use super::CompressionError;

/// A longer list is given back when it is empty.
const KEPT: usize = 16;

/// Counts the frames between a client and a server, one of which is a relay.
#[derive(Debug, Default)]
pub struct FrameIds {
    /// The id of the next frame of the current exchange, from either side.
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

/// What the server's next frame may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The reply continues.
    Reply,
    /// The reply begins. A server that was killed in the meantime may not have counted the command.
    Start,
    /// A binary log continues. After an event that a replica acknowledges (semi-synchronous replication), MariaDB and MySQL
    /// continue from 1, like the replica after its acknowledgement, and do not wait for it.
    Log,
    /// Nothing is expected, so it can only be the server's final error packet, whose id has no meaning.
    Nothing,
}

impl FrameIds {
    /// Creates counters for two sides that are between commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a command. `has_reply` says whether the server answers it; `is_next` says whether it is the next one to be
    /// answered, or waits behind others. Its frames are announced by [`begin`](Self::begin), or are those that were already
    /// received.
    ///
    /// # Errors
    /// Fails if memory for the list of commands sent ahead cannot be allocated.
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

    /// Assigns the client's frames to the command that was counted last, from its first frame on. For a relay that sends them.
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

    /// Assigns the client's frames like [`begin`](Self::begin), for a relay that has already received some of them.
    pub fn begin_heard(&mut self, has_reply: bool) {
        self.begin(has_reply);
        *self.of_client() = self.heard;
        self.is_announced = true;
        self.is_flushed |= self.asking == Asking::Current;
    }

    /// Returns the id of the next frame to the server.
    pub fn to_server(&mut self) -> u8 {
        take(self.of_client())
    }

    /// Returns the id of the next frame to the client.
    pub fn to_client(&mut self) -> u8 {
        take(&mut self.current)
    }

    /// Checks a frame from the client. `is_between` says whether everything before it was complete commands.
    ///
    /// # Errors
    /// Fails with `Sequence`.
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

    /// Checks a frame from the server.
    ///
    /// # Errors
    /// Fails with `Sequence`.
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

    /// Reports that a server would flush here: a result is over, and another one of the same reply follows.
    pub fn flush(&mut self) {
        self.is_flushed = true;
    }

    /// Returns whether the next frame to the client is the first one after a flush, or after something that the client has sent.
    /// Call it once for each such frame, before its id is taken.
    pub fn begins_count(&mut self) -> bool {
        core::mem::take(&mut self.is_flushed)
    }

    /// Reports that the current reply is over, so that the next command is current.
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

    /// Reports that the relay itself answers the last received command, which it does not forward. No other command may be
    /// waiting.
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
