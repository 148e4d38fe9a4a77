//! Where frames may end in the stream of packets that a client sends.

use std::io::IoSlice;

use crate::compression::CompressionError;
use crate::frame::{HEADER_BYTES, MAX_BODY, split_header};
use crate::packet::CommandByte;

/// What a frame begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A command.
    Command { has_reply: bool },
    /// A packet that belongs to the exchange under way: data of a file, a login's response.
    Answer,
    /// The rest of what the frame before has begun.
    Middle,
}

/// Where the stream stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    /// Bytes up to the next header.
    left: usize,
    /// Of the last header.
    sequence: u8,
    length: usize,
}

impl Default for Walk {
    /// Before the first command.
    fn default() -> Self {
        Self {
            left: 0,
            sequence: 0,
            length: 0,
        }
    }
}

impl Walk {
    /// Passes what the next frame holds, at most `max` bytes: it ends where a command begins. Gives its length, and what it
    /// begins with.
    pub(super) fn frame(&mut self, mut pieces: Pieces<'_>, max: usize) -> (usize, Start) {
        let (mut len, mut start) = (0, Start::Middle);
        loop {
            let body = self.left.min(max - len).min(pieces.len());
            self.left -= body;
            len += body;
            pieces.pass(body);
            // A header is never split, so that it can be looked at.
            if self.left > 0 || max - len < HEADER_BYTES {
                return (len, start);
            }
            let (header, first) = pieces.peek();
            let Some(header) = header else {
                return (len, start);
            };
            let kind = self.kind(header, first);
            if len == 0 {
                start = kind;
            } else if matches!(kind, Start::Command { .. }) {
                return (len, start);
            }
            (self.length, self.sequence) = split_header(header);
            self.left = self.length;
            len += HEADER_BYTES;
            pieces.pass(HEADER_BYTES);
        }
    }

    /// What a packet is. Ids count on from 255 to 0, so such a packet continues something, unless the one before is empty and
    /// thereby its end.
    fn kind(&self, header: [u8; HEADER_BYTES], first: Option<u8>) -> Start {
        const NO_REPLY: [CommandByte; 3] = [
            CommandByte::QUIT,
            CommandByte::STMT_CLOSE,
            CommandByte::STMT_SEND_LONG_DATA,
        ];
        let (_, sequence) = split_header(header);
        let wraps = self.sequence == 0xFF && self.length > 0;
        if sequence == 0 && !wraps {
            let is_alone = first.is_some_and(|first| NO_REPLY.contains(&CommandByte(first)));
            return Start::Command {
                has_reply: !is_alone,
            };
        }
        if self.length == MAX_BODY {
            Start::Middle
        } else {
            Start::Answer
        }
    }
}

/// What is to be sent, in pieces.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    pieces: &'a [IoSlice<'a>],
    /// Bytes of the first piece that are behind.
    offset: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(pieces: &'a [IoSlice<'a>]) -> Self {
        Self { pieces, offset: 0 }
    }

    fn slices(&self) -> impl Iterator<Item = &'a [u8]> {
        let offset = self.offset;
        let all = self.pieces.iter().enumerate();
        all.map(move |(at, piece)| {
            let piece: &'a [u8] = piece;
            let behind = if at == 0 { offset } else { 0 };
            piece.get(behind..).unwrap_or_default()
        })
    }

    fn len(&self) -> usize {
        self.slices().map(<[u8]>::len).sum()
    }

    pub(super) fn pass(&mut self, mut bytes: usize) {
        while let [first, rest @ ..] = self.pieces {
            let left = first.len() - self.offset;
            if bytes < left {
                self.offset += bytes;
                return;
            }
            bytes -= left;
            (self.pieces, self.offset) = (rest, 0);
        }
    }

    /// The next packet's header and its first byte, as far as they are there.
    fn peek(&self) -> (Option<[u8; HEADER_BYTES]>, Option<u8>) {
        let mut bytes = self.slices().flatten().copied();
        let mut header = [0; HEADER_BYTES];
        for place in &mut header {
            match bytes.next() {
                Some(byte) => *place = byte,
                None => return (None, None),
            }
        }
        (Some(header), bytes.next())
    }

    /// The next `len` bytes, if they are in one piece.
    pub(super) fn contiguous(&self, len: usize) -> Option<&'a [u8]> {
        let first = self.slices().find(|slice| !slice.is_empty())?;
        first.get(..len)
    }

    /// Copies the next `len` bytes.
    pub(super) fn gather(
        &self,
        mut len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), CompressionError> {
        into.clear();
        let reserved = into.try_reserve_exact(len);
        reserved.map_err(|_| CompressionError::OutOfMemory)?;
        for slice in self.slices() {
            let part = slice.get(..len).unwrap_or(slice);
            into.extend_from_slice(part);
            len -= part.len();
        }
        Ok(())
    }
}
