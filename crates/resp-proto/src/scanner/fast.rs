//! What most values are, told by a few comparisons: leaves and headers that have come whole.
//!
//! "No" says nothing: the value is begun again by the slow path, which knows all the rest.

use onecopy_wire::Buffers;

use super::line::{ends_at, fast_integer, fast_length, fast_line};
use super::repeat::Last;
use super::{Broken, Frame, Scanner};
use crate::Kind;

/// A value that holds no others: where its bytes begin and end. Its line end is behind them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

const OK: &[u8] = b"+OK\r\n";

impl Scanner {
    /// The next reply, if it is to be lent, nothing of it was scanned, and it is a leaf that has come whole. `None` says
    /// nothing, and has changed nothing.
    #[inline(always)]
    pub(crate) fn fast_frame(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.is_fresh {
            return None;
        }
        let bytes = buffers.pending();
        let leaf = self.fast_leaf(bytes, 0, *bytes.first()?)?;
        if !self.nodes.set(leaf.kind, leaf.start, leaf.end - leaf.start) {
            return None;
        }
        let (memory, _) = buffers.pending_in_place();
        self.last = Last::of(memory, leaf);
        buffers.recycle_homes();
        let len = leaf.end + 2;
        self.count_frame();
        self.offset += len as u64;
        self.span = buffers.consume(len);
        Some(self.frame(false))
    }

    /// The same for the bulk of which only the beginning has come, as at the end of most reads, or for nothing at all: how
    /// many bytes are missing. It stays fresh, so that what is to come takes the fast way too. `None` says nothing.
    #[inline]
    pub(crate) fn fast_missing(&mut self, buffers: &mut Buffers) -> Option<usize> {
        let bytes = buffers.pending();
        let (missing, until_end) = match bytes.first() {
            _ if !self.is_fresh || self.wrong.is_some() => return None,
            None => (1, 0),
            Some(b'$') => {
                let (len, body) = fast_length(bytes, 0)?;
                let end = body + len;
                let is_plain = end as u64 <= self.near && len < self.limits.large;
                if !is_plain || bytes.len() >= end + 2 {
                    return None;
                }
                let missing = end + 2 - bytes.len();
                (missing, missing)
            }
            _ => return None,
        };
        // The frame that was handed over is gone; its node stays, for what is to come may be like it.
        self.count_frame();
        buffers.recycle_homes();
        buffers.need(missing, until_end);
        Some(missing)
    }

    /// What most values are: a leaf at `at` that has come whole. `None` says nothing.
    #[inline(always)]
    pub(super) fn fast_leaf(&self, bytes: &[u8], at: usize, first: u8) -> Option<Leaf> {
        let (kind, (start, end)) = match first {
            b'$' => (Kind::BulkString, self.fast_bulk(bytes, at)?),
            b':' => (Kind::Integer, fast_integer(bytes, at)?),
            // What nearly every command that writes is answered with.
            b'+' if bytes.get(at..at + OK.len()) == Some(OK) && self.limits.max_line >= 2 => {
                (Kind::SimpleString, (at + 1, at + OK.len() - 2))
            }
            b'+' => (Kind::SimpleString, self.simple_line(bytes, at)?),
            _ => return None,
        };
        Some(Leaf { kind, start, end })
    }

    /// A simple string that has come whole. Apart, as looking for its end takes registers that the others then have.
    #[inline(never)]
    fn simple_line(&self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        fast_line(bytes, at, self.searched, self.limits.max_line)
    }

    /// A bulk that has come whole.
    #[inline(always)]
    fn fast_bulk(&self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let (len, body) = fast_length(bytes, at)?;
        let end = body + len;
        let is_whole = ends_at(bytes, end) && end as u64 <= self.near;
        is_whole.then_some((body, end))
    }

    /// Opens an aggregate whose header has come whole and is within the limits. `false` says nothing.
    #[inline]
    pub(super) fn fast_aggregate(
        &mut self,
        bytes: &[u8],
        at: usize,
        kind: Kind,
    ) -> Result<bool, Broken> {
        let Some((count, next)) = fast_length(bytes, at) else {
            return Ok(false);
        };
        let count = if kind.is_pairs() { count * 2 } else { count };
        let is_plain = count > 0
            && self.claimed + count <= self.plain
            && at as u64 <= self.near
            && self.outer.len() < self.limits.max_depth.min(self.outer.capacity());
        if is_plain {
            self.claimed += count;
            self.open(kind, count, next)?;
        }
        Ok(is_plain)
    }
}
