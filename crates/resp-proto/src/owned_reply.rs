//! A reply detached from its connection: its bytes, its nodes, and its large bulks, which are moved.

use std::fmt;

use onecopy_wire::{Buffers, Span, WireError};

use crate::node::Node;
use crate::reply::Homes;
use crate::scanner::Scanner;
use crate::{Frame, Kind, Reply};

/// One value that owns its bytes: they are copied once, in one piece, and large bulks are moved, not copied. A value that
/// holds no others has one allocation of just its bytes, or none.
#[derive(Clone)]
pub struct OwnedReply {
    nodes: Nodes,
    /// Of a single value its bytes and no more, wherever they lay.
    frame: Vec<u8>,
    homes: Vec<Vec<u8>>,
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
            Self::Many(nodes) => nodes,
        }
    }
}

impl OwnedReply {
    /// Detaches the frame that was scanned last. Afterwards its large bulks are no more in the buffers.
    ///
    /// # Errors
    /// Memory that could not be had; the frame is whole still then.
    pub(crate) fn detach(
        scanner: &Scanner,
        frame: Frame,
        buffers: &mut Buffers,
    ) -> Result<Self, WireError> {
        if let [node] = scanner.nodes() {
            return Self::detach_one(scanner, *node, frame, buffers);
        }
        let mut nodes = copied(scanner.nodes())?;
        let bytes = copied(scanner.bytes(frame, buffers))?;
        let large = nodes.iter().filter(|node| node.is_large).count();
        let mut homes = Vec::new();
        reserve(&mut homes, large)?;
        buffers.count_owned(bytes.len());
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

    #[inline]
    fn detach_one(
        scanner: &Scanner,
        node: Node,
        frame: Frame,
        buffers: &mut Buffers,
    ) -> Result<Self, WireError> {
        let bytes = if node.is_large {
            let home = buffers.take_home(Span::of_home(node.start, node.len));
            home.unwrap_or_default()
        } else if node.kind.is_aggregate() {
            Vec::new()
        } else {
            let frame = scanner.bytes(frame, buffers);
            let bytes = copied(&frame[node.start as usize..node.end() as usize])?;
            buffers.count_owned(bytes.len());
            bytes
        };
        Ok(Self::one(node, bytes))
    }

    /// A single value with its bytes.
    #[inline]
    fn one(mut node: Node, bytes: Vec<u8>) -> Self {
        node.is_large = false;
        node.start = 0;
        node.next = 1;
        Self {
            nodes: Nodes::One([node]),
            frame: bytes,
            homes: Vec::new(),
        }
    }

    /// Copies a part of a reply.
    pub(crate) fn copy(part: &Reply<'_>) -> Result<Self, WireError> {
        if let [node] = part.subtree() {
            return Ok(Self::one(*node, copied(part.raw())?));
        }
        let mut nodes = copied(part.subtree())?;
        let first_node = part.subtree_start();
        // What lies in the frame lies there in the nodes' order.
        let in_frame = || nodes.iter().filter(|node| !node.is_large);
        let start = in_frame().next().map_or(0, |node| node.start);
        let end = in_frame().next_back().map_or(0, Node::end);
        let frame = copied(&part.frame()[start as usize..end as usize])?;
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

    /// The view of it.
    #[inline]
    pub fn reply(&self) -> Reply<'_> {
        let homes = Homes::Owned(&self.homes);
        Reply::of_frame(self.nodes.as_slice(), &self.frame, homes)
    }

    /// Bytes that came for it, but for the headers of large bulks and of one that is all there is.
    #[inline]
    pub fn size(&self) -> usize {
        // Most have none.
        let homes = match self.homes.as_slice() {
            [] => 0,
            homes => homes.iter().map(Vec::len).sum(),
        };
        self.frame.len() + homes
    }

    /// Bytes that it holds: what it costs to keep.
    pub fn capacity(&self) -> usize {
        let nodes = match &self.nodes {
            Nodes::One(_) => 0,
            Nodes::Many(nodes) => nodes.capacity() * size_of::<Node>(),
        };
        nodes + self.frame.capacity() + self.homes.iter().map(Vec::capacity).sum::<usize>()
    }

    /// The bytes of a single value, without a copy unless an attribute came with it or it is a verbatim string. An aggregate
    /// has none.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let kind = self.reply().kind();
        match self.nodes.as_slice() {
            [_] if kind != Kind::VerbatimString => self.frame,
            // An attribute's bulks come before it.
            [.., node] if node.is_large && kind == Kind::BulkString => {
                self.homes.pop().unwrap_or_default()
            }
            _ => self.reply().bytes().to_vec(),
        }
    }
}

/// As the reply that it holds.
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
