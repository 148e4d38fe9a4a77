//! One value's place: 16 bytes, and the list of them, which is reused from reply to reply.
//!
//! ```text
//!   *2 | $1 a | *2 | :1 | :2            a frame's values in the order in which they come
//!    0     1     2    3    4
//!    next: 5     2    5    4    5       where the next value begins that is not inside this one
//! ```

use onecopy_wire::WireError;

use crate::Kind;

/// Where a value lies within its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Whether the bytes lie in a large-value buffer, whose number is then in `start`.
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

/// Nodes that are few enough for their list to be doubled: 16 KiB of them.
const LONG: usize = (16 << 10) / size_of::<Node>();

/// A frame's values in the order in which they come.
#[derive(Default)]
pub(crate) struct Nodes {
    /// Those behind `len` are of earlier frames: to write over one is cheaper than to append.
    list: Vec<Node>,
    len: usize,
}

impl Nodes {
    /// Nodes of what is passed over: from so many on the list is begun again and does not grow. 1 KiB.
    const PASSED: usize = 64;

    const EMPTY: Node = Node {
        kind: Kind::Null,
        is_large: false,
        start: 0,
        len: 0,
        next: 0,
    };

    /// Appends one; gives its index. `None`: it needs [more memory](Self::grow).
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the buffer and the elements are limited to u32::MAX
    pub(crate) fn push(&mut self, kind: Kind, start: usize, len: usize) -> Option<u32> {
        let index = self.len as u32;
        *self.list.get_mut(self.len)? = Node {
            kind,
            is_large: false,
            start: start as u32,
            len: len as u32,
            next: index + 1,
        };
        self.len += 1;
        Some(index)
    }

    /// Makes one leaf the only node. `false`: it needs [more memory](Self::grow), and nothing has changed.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // as in `push`
    pub(crate) fn set(&mut self, kind: Kind, start: usize, len: usize) -> bool {
        let Some(place) = self.list.first_mut() else {
            return false;
        };
        *place = Node {
            kind,
            is_large: false,
            start: start as u32,
            len: len as u32,
            next: 1,
        };
        self.len = 1;
        true
    }

    /// Makes room for more nodes: for `announced` in all, no more than as many again, and no more than `most`. A long list grows
    /// by an eighth at least, so that it moves seldom however little is announced at a time.
    #[cold]
    pub(crate) fn grow(&mut self, announced: usize, most: usize) -> Result<(), WireError> {
        let len = self.list.len();
        let least = if len < LONG { len } else { len / 8 };
        let more = announced.saturating_sub(len).clamp(least, len);
        let more = more.max(4).min(most.saturating_sub(len)).max(1);
        self.list
            .try_reserve_exact(more)
            .map_err(|_| WireError::OutOfMemory {
                bytes: (more * size_of::<Node>()) as u64,
            })?;
        self.list.resize(self.list.capacity(), Self::EMPTY);
        Ok(())
    }

    /// Whether there are as many as are made of what is passed over.
    pub(crate) fn is_long(&self) -> bool {
        self.len >= Self::PASSED
    }

    /// Bytes of memory that the list holds.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.list.len() * size_of::<Node>()
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Node] {
        &self.list[..self.len]
    }

    /// `None`: it was forgotten.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.list.get_mut(index as usize)
    }

    /// Gives all memory back. The nodes are gone.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }
}

/// Sizes only: it may be long.
impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.len, self.list.len())
    }
}
