//! One value's place: 16 bytes, in a list that is reused from reply to reply.
//!
//! ```text
//!   *2 | $1 a | *2 | :1 | :2            a frame's values in the order in which they come
//!    0     1     2    3    4
//!    next: 5     2    5    4    5       where the next value begins that is not inside this one
//! ```

use crate::Kind;

/// Where a value lies within its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Whether the bytes lie in a large home, whose number is then in `start`.
    pub(crate) is_large: bool,
    /// Offset of the first byte of the value within the frame.
    pub(crate) start: u32,
    /// Bytes of a leaf; elements of an aggregate, keys and values counted each.
    pub(crate) len: u32,
    /// Index of the first node behind this value and all that it holds; never 0.
    pub(crate) next: u32,
}

impl Node {
    /// Where the bytes of a leaf that lies in the frame end; where an aggregate begins.
    pub(crate) fn end(&self) -> u32 {
        if self.kind.is_aggregate() {
            self.start
        } else {
            self.start + self.len
        }
    }
}
