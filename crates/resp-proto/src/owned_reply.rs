//! A reply detached from its connection: its bytes, its nodes, and its large bulk strings, which are moved.

use std::fmt;

use onecopy_wire::{Buffers, Span, WireError};

use crate::node::Node;
use crate::reply::Homes;
use crate::scanner::Scanner;
use crate::{Frame, Kind, Reply};

/// A value that owns its bytes. They are copied once, contiguously; large bulk strings are moved, not copied. A value that is not
/// an aggregate has one allocation of exactly its bytes, or none if it has at most 15 bytes.
#[derive(Clone)]
pub struct OwnedReply {
    nodes: Nodes,
    /// Of a single value its bytes and no more, wherever they lay.
    frame: Bytes,
    homes: Vec<Vec<u8>>,
}

/// Bytes that are held in place: no more than make them no larger than a vector.
const SHORT: usize = 15;

/// Most replies are short: `OK`, a number, null.
#[derive(Clone)]
enum Bytes {
    /// The last byte is how many of the others count.
    Short([u8; SHORT + 1]),
    Long(Vec<u8>),
}

const _: () = assert!(size_of::<Bytes>() == size_of::<Vec<u8>>());

impl Bytes {
    /// A copy of the first `len` bytes of a word, at most [`SHORT`].
    // Made of a word: bytes that are written one by one, and then moved together, are waited for until they have left the
    // processor's store buffer, which takes longer than an allocation.
    #[inline(always)]
    fn short(word: &[u8; SHORT + 1], len: usize) -> Self {
        let mask = (1_u128 << (8 * len)) - 1;
        let last = (len as u128) << (8 * SHORT);
        let word = u128::from_le_bytes(*word) & mask | last;
        Self::Short(word.to_le_bytes())
    }

    fn copy(slice: &[u8]) -> Result<Self, WireError> {
        if slice.len() > SHORT {
            return Ok(Self::Long(copied(slice)?));
        }
        Ok(Self::copy_short(slice))
    }

    /// A copy of at most [`SHORT`] bytes.
    #[cold]
    fn copy_short(slice: &[u8]) -> Self {
        let mut word = [0; SHORT + 1];
        word.iter_mut()
            .zip(slice)
            .for_each(|(to, from)| *to = *from);
        Self::short(&word, slice.len())
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Short(word) => &word[..usize::from(word[SHORT]).min(SHORT)],
            Self::Long(bytes) => bytes,
        }
    }

    fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Long(bytes) => bytes,
            short => short.as_slice().to_vec(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Self::Short(_) => 0,
            Self::Long(bytes) => bytes.capacity(),
        }
    }
}

/// Most replies are one value, which needs no list.
#[derive(Clone)]
enum Nodes {
    One([Node; 1]),
    Many(Vec<Node>),
}

impl Nodes {
    #[inline]
    fn as_slice(&self) -> &[Node] {
        match self {
            Self::One(node) => node,
            Self::Many(nodes) => slice(nodes),
        }
    }
}

/// Apart: else the vector's pointer would be read from where a single node was just written in parts, before it is known which of
/// them it is, and that would be waited for.
#[inline(never)]
fn slice(nodes: &[Node]) -> &[Node] {
    nodes
}

impl OwnedReply {
    /// Detaches the frame that was scanned last. Afterwards its large bulks are no more in the buffers.
    ///
    /// # Errors
    /// Memory that could not be had; the frame is whole still then.
    // In place, so that what it is made of is not moved from one place to the next.
    #[inline(always)]
    pub(crate) fn detach(
        scanner: &Scanner,
        frame: Frame,
        buffers: &mut Buffers,
    ) -> Result<Self, WireError> {
        let [node] = scanner.nodes() else {
            return Self::detach_whole(scanner, frame, buffers);
        };
        if node.is_large {
            return Self::detach_whole(scanner, frame, buffers);
        }
        // An aggregate is one node where it has no elements, and so no bytes either.
        let (start, len) = (node.start as usize, node.len as usize);
        let memory = scanner.bytes_in_place(frame, buffers);
        let memory = memory.get(start..).unwrap_or_default();
        if let Some(word) = memory.first_chunk()
            && len <= SHORT
        {
            buffers.count_owned(len);
            return Ok(Self::one(node.kind, node.len, Bytes::short(word, len)));
        }
        Self::detach_long(node.kind, memory, len, buffers)
    }

    /// The same of a single value of the first `len` bytes of a memory.
    #[inline(never)]
    fn detach_long(
        kind: Kind,
        memory: &[u8],
        len: usize,
        buffers: &Buffers,
    ) -> Result<Self, WireError> {
        let bytes = memory.get(..len).unwrap_or_default();
        let bytes = if len > SHORT {
            Bytes::Long(copied(bytes)?)
        } else {
            Bytes::copy_short(bytes)
        };
        buffers.count_owned(len);
        #[allow(clippy::cast_possible_truncation)] // a node's
        Ok(Self::one(kind, len as u32, bytes))
    }

    /// The same of several values, or of a large bulk.
    #[inline(never)]
    fn detach_whole(
        scanner: &Scanner,
        frame: Frame,
        buffers: &mut Buffers,
    ) -> Result<Self, WireError> {
        if let [node] = scanner.nodes() {
            let home = buffers.take_home(Span::of_home(node.start, node.len));
            let bytes = Bytes::Long(home.unwrap_or_default());
            return Ok(Self::one(node.kind, node.len, bytes));
        }
        let mut nodes = copied(scanner.nodes())?;
        let bytes = Bytes::copy(scanner.bytes(frame, buffers))?;
        let large = nodes.iter().filter(|node| node.is_large).count();
        let mut homes = Vec::new();
        reserve(&mut homes, large)?;
        buffers.count_owned(bytes.as_slice().len());
        for node in nodes.iter_mut().filter(|node| node.is_large) {
            let home = buffers.take_home(Span::of_home(node.start, node.len));
            homes.push(home.unwrap_or_default());
            node.start = number(homes.len());
        }
        Ok(Self {
            nodes: Nodes::Many(nodes),
            frame: bytes,
            homes,
        })
    }

    /// A single value with its bytes.
    // Not by a copy of the scanner's node: that was written field by field just now, and would be read as one.
    #[inline(always)]
    fn one(kind: Kind, len: u32, bytes: Bytes) -> Self {
        let node = Node {
            kind,
            is_large: false,
            start: 0,
            len,
            next: 1,
        };
        Self {
            nodes: Nodes::One([node]),
            frame: bytes,
            homes: Vec::new(),
        }
    }

    /// Copies a part of a reply.
    pub(crate) fn copy(part: &Reply<'_>) -> Result<Self, WireError> {
        if let [node] = part.subtree() {
            let bytes = Bytes::copy(part.raw())?;
            return Ok(Self::one(node.kind, node.len, bytes));
        }
        let mut nodes = copied(part.subtree())?;
        let first_node = part.subtree_start();
        // What lies in the frame lies there in the nodes' order.
        let in_frame = || nodes.iter().filter(|node| !node.is_large);
        let start = in_frame().next().map_or(0, |node| node.start);
        let end = in_frame().next_back().map_or(0, Node::end);
        let frame = Bytes::copy(&part.frame()[start as usize..end as usize])?;
        let large = nodes.iter().filter(|node| node.is_large).count();
        let mut homes = Vec::new();
        reserve(&mut homes, large)?;
        for node in &mut nodes {
            node.next -= first_node;
            if node.is_large {
                homes.push(copied(part.homes.bytes(node))?);
                node.start = number(homes.len());
            } else {
                node.start -= start;
            }
        }
        Ok(Self {
            nodes: Nodes::Many(nodes),
            frame,
            homes,
        })
    }

    /// Returns a view of the value.
    #[inline]
    pub fn reply(&self) -> Reply<'_> {
        let homes = Homes::Owned(&self.homes);
        Reply::of_frame(self.nodes.as_slice(), self.frame.as_slice(), homes)
    }

    /// Returns the number of bytes received for it, without the headers of large bulk strings, and without the header of a value
    /// that is the whole reply.
    #[inline]
    pub fn size(&self) -> usize {
        // Most have none.
        let homes = match self.homes.as_slice() {
            [] => 0,
            homes => homes.iter().map(Vec::len).sum(),
        };
        self.frame.as_slice().len() + homes
    }

    /// Returns the bytes of memory that it holds.
    pub fn capacity(&self) -> usize {
        let nodes = match &self.nodes {
            Nodes::One(_) => 0,
            Nodes::Many(nodes) => nodes.capacity() * size_of::<Node>(),
        };
        nodes + self.frame.capacity() + self.homes.iter().map(Vec::capacity).sum::<usize>()
    }

    /// Returns the bytes of a single value. Values of more than 15 bytes are copied only if they have an attribute or are a
    /// verbatim string. The result is empty for an aggregate.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let kind = self.reply().kind();
        match self.nodes.as_slice() {
            [_] if kind != Kind::VerbatimString => self.frame.into_vec(),
            // An attribute's bulks come before it.
            [.., node] if node.is_large && kind == Kind::BulkString => {
                self.homes.pop().unwrap_or_default()
            }
            _ => self.reply().bytes().to_vec(),
        }
    }
}

/// Compares like the [`Reply`] that it contains.
impl PartialEq for OwnedReply {
    fn eq(&self, other: &Self) -> bool {
        self.reply() == other.reply()
    }
}

impl Eq for OwnedReply {}

impl fmt::Debug for OwnedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reply().fmt(f)
    }
}

/// A home's number. There are no more homes than nodes.
#[allow(clippy::cast_possible_truncation)]
fn number(count: usize) -> u32 {
    count as u32
}

fn copied<T: Copy>(slice: &[T]) -> Result<Vec<T>, WireError> {
    let mut copy = Vec::new();
    reserve(&mut copy, slice.len())?;
    copy.extend_from_slice(slice);
    Ok(copy)
}

fn reserve<T>(vec: &mut Vec<T>, count: usize) -> Result<(), WireError> {
    vec.try_reserve_exact(count)
        .map_err(|_| WireError::OutOfMemory {
            bytes: (count * size_of::<T>()) as u64,
        })
}
