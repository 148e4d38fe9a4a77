//! What most values are, told by a few comparisons: leaves and headers that have arrived completely.
//!
//! "No" says nothing: the value is begun again by the slow path, which knows all the rest.

use onecopy_wire::Buffers;

use super::line::{
    ends_at, fast_count, fast_double, fast_integer, fast_length, fast_line, fast_small_integer,
};
use super::repeat::Last;
use super::{Frame, Scanner};
use crate::Kind;

/// A value that holds no others: where its bytes begin and end. Its line end is behind them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

const OK: &[u8; 5] = b"+OK\r\n";

impl Scanner {
    /// The next reply, if it is to be borrowed, nothing of it was scanned, and it is a leaf that has arrived completely. `None` says
    /// nothing, and has changed nothing.
    #[inline(always)]
    pub(crate) fn fast_frame(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.is_fresh {
            return None;
        }
        let (memory, pending) = buffers.pending_in_place();
        let bytes = memory.get(..pending)?;
        let first = *bytes.first()?;
        let leaf = match self.fast_leaf(bytes, 0, first) {
            Some(leaf) => leaf,
            None if matches!(first, b'$' | b'*' | b'%' | b'~' | b'>') => return None,
            None => {
                let (kind, end) = self.odd_leaf(bytes, 0, first);
                let (kind, start) = (kind?, 1);
                Leaf { kind, start, end }
            }
        };
        if !self.nodes.set(leaf.kind, leaf.start, leaf.end - leaf.start) {
            return None;
        }
        self.last = Last::of(memory, leaf);
        buffers.recycle_homes();
        let len = leaf.end + 2;
        self.count_frame();
        self.offset += len as u64;
        self.span = buffers.consume(len);
        Some(self.frame(false))
    }

    /// The same for the bulk of which only the beginning has arrived, as at the end of most reads, or for nothing at all: how
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

    /// What most values are: a leaf at `at` that has arrived completely. `None` says nothing.
    // No jump by a table: where the next value begins would wait for it. So the first byte is asked for two types alone.
    #[inline(always)]
    pub(super) fn fast_leaf(&self, bytes: &[u8], at: usize, first: u8) -> Option<Leaf> {
        let (kind, (start, end)) = if first == b'$' {
            match self.fast_bulk(bytes, at) {
                Some(body) => (Kind::BulkString, body),
                None if starts_with(bytes, at, b"$-1\r\n") => (Kind::Null, (at + 3, at + 3)),
                None => return None,
            }
        } else if first == b':' {
            (Kind::Integer, fast_small_integer(bytes, at)?)
        } else if starts_with(bytes, at, OK) && self.limits.max_line >= 2 {
            // What nearly every command that writes is answered with.
            (Kind::SimpleString, (at + 1, at + OK.len() - 2))
        } else if starts_with(bytes, at, b"_\r\n") {
            (Kind::Null, (at + 1, at + 1))
        } else {
            return None;
        };
        Some(Leaf { kind, start, end })
    }

    /// The same of an element among others.
    // Here a jump by a table is the faster one: elements of a reply are of several types, and mostly in the same order.
    #[inline(always)]
    pub(super) fn fast_element(&self, bytes: &[u8], at: usize, first: u8) -> Option<Leaf> {
        let (kind, (start, end)) = match first {
            b'$' => match self.fast_bulk(bytes, at) {
                Some(body) => (Kind::BulkString, body),
                None if starts_with(bytes, at, b"$-1\r\n") => (Kind::Null, (at + 3, at + 3)),
                None => return None,
            },
            b':' => (Kind::Integer, fast_integer(bytes, at)?),
            b'+' if starts_with(bytes, at, OK) && self.limits.max_line >= 2 => {
                (Kind::SimpleString, (at + 1, at + OK.len() - 2))
            }
            b'_' if ends_at(bytes, at + 1) => (Kind::Null, (at + 1, at + 1)),
            _ => return None,
        };
        Some(Leaf { kind, start, end })
    }

    /// The other leaves, where they have arrived completely, but for those that are rare: what they are and where they end. `None` says
    /// nothing. Apart, as looking for their ends takes registers that the others then have.
    #[inline(never)]
    pub(super) fn odd_leaf(&self, bytes: &[u8], at: usize, first: u8) -> (Option<Kind>, usize) {
        let max = self.limits.max_line;
        let start = at + 1;
        let (kind, end) = match first {
            b',' => (Kind::Double, fast_double(bytes, at, max)),
            b'#' => (Kind::Boolean, fast_boolean(bytes, start)),
            b'+' => (Kind::SimpleString, fast_line(bytes, at, self.searched, max)),
            b'-' => (Kind::SimpleError, fast_line(bytes, at, self.searched, max)),
            _ => return (None, 0),
        };
        match end {
            Some(end) => (Some(kind), end),
            None => (None, 0),
        }
    }

    /// A bulk that has arrived completely.
    #[inline(always)]
    pub(super) fn fast_bulk(&self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let (len, body) = fast_length(bytes, at)?;
        let end = body + len;
        let is_whole = ends_at(bytes, end) && end as u64 <= self.near;
        is_whole.then_some((body, end))
    }

    /// Opens an aggregate whose header has arrived completely and is within the limits. `false` says nothing.
    #[inline(always)]
    pub(super) fn fast_aggregate(&mut self, bytes: &[u8], at: usize, first: u8) -> bool {
        let kind = match first {
            b'*' => Kind::Array,
            b'%' => Kind::Map,
            b'~' => Kind::Set,
            // Nothing may hold it, and it is not passed over.
            b'>' if at == 0 && !self.skips => Kind::Push,
            _ => return false,
        };
        let Some((count, next)) = fast_count(bytes, at) else {
            return false;
        };
        let count = if kind.is_pairs() { count * 2 } else { count };
        let claimed = self.claimed + count;
        let is_plain = count > 0
            && claimed <= self.plain
            && at as u64 <= self.near
            && self.outer.len() < self.limits.max_depth.min(self.outer.capacity());
        if !is_plain {
            return false;
        }
        let Some(node) = self.nodes.push(kind, at, count) else {
            return false;
        };
        self.claimed = claimed;
        self.is_push |= kind == Kind::Push;
        self.open(node, kind, count, next);
        true
    }
}

/// Whether `line` is at `at`.
#[inline(always)]
fn starts_with<const N: usize>(bytes: &[u8], at: usize, line: &[u8; N]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(line))
}

/// Where a boolean that begins at `start` ends.
fn fast_boolean(bytes: &[u8], start: usize) -> Option<usize> {
    let is_plain = matches!(bytes.get(start)?, b't' | b'f') && ends_at(bytes, start + 1);
    is_plain.then_some(start + 1)
}
