//! The next reply, where it is like the one before: most of a pipeline's are, as the same question is asked of many keys.
//!
//! ```text
//!   $1024\r\n <1024 bytes> \r\n      compared with the last: $1024\r\n, and \r\n where it must end
//!   +OK\r\n                          compared with the last: all of it
//! ```
//!
//! To read a length again takes longer than to compare it, and where the next reply begins hangs on it. A word is compared in place
//! where fewer bytes are pending too: the last `+OK` of a read is mostly one like the others.

use std::fmt;

use onecopy_wire::Buffers;

use super::fast::Leaf;
use super::line::ends_at;
use super::{Frame, Scanner};
use crate::Kind;

/// What the frame that was handed over last began with. It was a leaf, and its node is still the only one.
#[derive(Clone, Copy)]
pub(super) struct Last {
    /// Its first bytes: a bulk's header, or all of another leaf; up to 8, zeros behind them.
    head: u64,
    /// Which bits of a word those are.
    mask: u64,
    /// Where its line end is.
    end: usize,
}

impl Last {
    /// There was none, or it may not be compared with.
    pub(super) const NONE: Self = Self {
        head: 1,
        mask: 0,
        end: 0,
    };

    /// The frame that is the leaf at the beginning of `memory`.
    #[inline]
    pub(super) fn of(memory: &[u8], leaf: Leaf) -> Self {
        let len = if leaf.kind == Kind::BulkString {
            leaf.start
        } else {
            leaf.end + 2
        };
        match memory.first_chunk() {
            Some(word) if len <= 8 => {
                let mask = u64::MAX >> (64 - 8 * len);
                Self {
                    head: u64::from_le_bytes(*word) & mask,
                    mask,
                    end: leaf.end,
                }
            }
            _ => Self::NONE,
        }
    }
}

/// Never the bytes.
impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Last").finish_non_exhaustive()
    }
}

impl Scanner {
    /// The next reply, if it is to be borrowed, and is like the frame that was handed over last: of the same type and length, a
    /// line of the same text. `None` says nothing, and has changed nothing.
    // Whether the scanner is fresh, the limits and homes of large bulks need no look: where one of them changes the last frame
    // is forgotten.
    #[inline(always)]
    pub(crate) fn repeated_frame(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        let Last { head, mask, end } = self.last;
        let (memory, pending) = buffers.pending_in_place();
        let word = u64::from_le_bytes(*memory.first_chunk()?);
        // What is compared lies before the end, and so in what is pending where that does.
        if word & mask != head || end + 2 > pending || !ends_at(memory, end) {
            return None;
        }
        debug_assert!(self.is_fresh && self.nodes.as_slice().len() == 1);
        self.count_frame();
        let len = end + 2;
        self.offset += len as u64;
        self.span = buffers.consume(len);
        Some(self.frame(false))
    }
}
