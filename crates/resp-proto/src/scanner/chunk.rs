//! Strings of unknown length: `$?`, then `;n` with n bytes each, until `;0`. They are joined where they lie.
//!
//! ```text
//!   pending:  | ... $? | joined so far |   spent headers   | ;5 | chunk |
//!                      start           end                 at
//!                                       <-- the chunk moves here ----
//! ```
//!
//! Each byte moves once at most, so that joining takes linear time. No server is known to send them.

use onecopy_wire::Buffers;

use super::body::Body;
use super::line::{Line, length};
use super::{Broken, Pause, Scanner};
use crate::Kind;
use crate::error::ErrorKind;

/// A string of unknown length, as far as it is joined: offsets within the frame, without meaning where it is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunks {
    start: usize,
    end: usize,
}

impl Chunks {
    pub(super) fn new(start: usize) -> Self {
        Self { start, end: start }
    }
}

impl Scanner {
    /// Takes the chunk at `at`, or the string's end. `None`: there may be more.
    pub(super) fn chunk(
        &mut self,
        buffers: &mut Buffers,
        Chunks { start, end }: Chunks,
    ) -> Result<Option<Pause>, Broken> {
        let bytes = buffers.pending();
        let (len, body) = match (bytes.get(self.at), bytes) {
            (Some(b';'), bytes) => match length(bytes, self.at) {
                Line::Length(len, body) => (len, body),
                Line::Short => return Ok(need(1)),
                _ => return Err(self.fail(ErrorKind::InvalidLength, bytes)),
            },
            (None, _) => return Ok(need(1)),
            _ => return Err(self.fail(ErrorKind::InvalidStream, bytes)),
        };
        if len == 0 {
            self.push(Kind::BulkString, start, end - start)?;
            self.at = body;
            return self.end_body();
        }
        let max = self.max_bulk;
        let total = len.saturating_add((end - start) as u64);
        if total > max {
            return Err(self.fail(ErrorKind::BulkTooLarge { len: total, max }, bytes));
        }
        self.count_string(len.saturating_add(body as u64), bytes)?;
        if self.skips {
            self.pass_chunk(buffers, body, len);
            return Ok(None);
        }
        #[allow(clippy::cast_possible_truncation)] // at most u32::MAX
        let len = len as usize;
        let Some(line_end) = bytes.get(body + len..body + len + 2) else {
            return Ok(need(body + len + 2 - bytes.len()));
        };
        if line_end != b"\r\n" {
            return Err(self.fail(ErrorKind::MissingLineEnd, bytes));
        }
        buffers.move_pending(body..body + len, end);
        self.at = body + len + 2;
        let end = end + len;
        self.body = Body::Chunks(Chunks { start, end });
        Ok(None)
    }
}

fn need(min: usize) -> Option<Pause> {
    Some(Pause::Need { min, until_end: 0 })
}
