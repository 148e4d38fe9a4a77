//! The sequence ids of a client's frames, and those that are due from the server.
//!
//! Only commands are known here, and not where replies end. A frame of the server may therefore continue the reply that it last
//! sent a frame of, or begin the reply to a command that waits for one, at the id behind the command's last frame.

use std::collections::VecDeque;

use super::FIRST_BYTE;
use crate::compression::CompressionError;

/// A longer list is given back when it is empty.
const KEPT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct ClientIds {
    /// The next id in the exchange that the server has answered last; none before it has answered.
    exchange: Option<u8>,
    /// Of each command whose reply may not have begun, the id behind its last frame.
    ahead: VecDeque<u8>,
    asking: Asking,
}

/// What the client's frames belong to.
#[derive(Debug, Default)]
enum Asking {
    /// The command that is last in `ahead`.
    #[default]
    Ahead,
    /// The exchange that the server has answered in: an answer to its question.
    Exchange,
    /// A command without a reply.
    Alone(u8),
}

/// A frame whose id was not due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    pub(super) error: CompressionError,
    /// Bytes up to the first one of its first packet.
    pub(super) until_first: usize,
}

impl ClientIds {
    /// A command begins with the next frame.
    pub(super) fn begin(&mut self, has_reply: bool) -> Result<(), CompressionError> {
        self.asking = Asking::Alone(0);
        if has_reply {
            let reserved = self.ahead.try_reserve(1);
            reserved.map_err(|_| CompressionError::OutOfMemory)?;
            self.ahead.push_back(0);
            self.asking = Asking::Ahead;
        }
        Ok(())
    }

    /// An answer to a question of the server's begins with the next frame.
    pub(super) fn answer(&mut self) {
        self.asking = Asking::Exchange;
    }

    /// The id of the next frame to the server.
    pub(super) fn next_id(&mut self) -> u8 {
        let next = match &mut self.asking {
            Asking::Ahead => match self.ahead.back_mut() {
                Some(next) => next,
                None => self.exchange.get_or_insert_default(),
            },
            Asking::Exchange => self.exchange.get_or_insert_default(),
            Asking::Alone(next) => next,
        };
        let id = *next;
        *next = id.wrapping_add(1);
        id
    }

    /// Checks the id of the server's next frame. Where a reply is due, an ERR packet in its place may have any id, as that of a
    /// server that has not counted the command.
    ///
    /// # Errors
    /// The id is not due.
    pub(super) fn check(&mut self, id: u8) -> Result<Option<Late>, CompressionError> {
        let expected = self.exchange.or(self.ahead.front().copied());
        let next = self.exchange.replace(id.wrapping_add(1));
        // With nothing outstanding it is the server's last word, whose id has no meaning.
        let Some(expected) = expected else {
            return Ok(None);
        };
        if next == Some(id) {
            return Ok(None);
        }
        if let Some(at) = self.ahead.iter().position(|&first| first == id) {
            self.ahead.drain(..=at);
            return Ok(None);
        }
        let error = CompressionError::Sequence {
            expected,
            found: id,
        };
        // In the middle of a reply there is no packet to look at.
        self.ahead.pop_front().ok_or(error)?;
        Ok(Some(Late {
            error,
            until_first: FIRST_BYTE,
        }))
    }

    /// Nothing is outstanding.
    pub(super) fn settle(&mut self) {
        self.exchange = None;
        self.ahead.clear();
    }

    pub(super) fn release(&mut self) {
        if self.ahead.is_empty() && self.ahead.capacity() > KEPT {
            self.ahead = VecDeque::new();
        }
    }
}
