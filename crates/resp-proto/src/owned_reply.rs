//! A reply detached from its connection: its bytes, its nodes, and its large bulks, which are moved.

use std::fmt;

use onecopy_wire::{Buffers, Span, WireError};

use crate::node::Node;
use crate::reply::Homes;
use crate::scanner::Scanner;
use crate::{Frame, Kind, Reply};

/// One value that owns its bytes: they are copied once, in one piece, and large bulks are moved, not copied.
#[derive(Clone)]
pub struct OwnedReply {
    nodes: Vec<Node>,
    frame: Vec<u8>,
    homes: Vec<Vec<u8>>,
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
        let nodes = copied(scanner.nodes())?;
        let bytes = copied(scanner.bytes(frame, buffers))?;
        buffers.count_owned(bytes.len());
        let mut reply = Self {
            nodes,
            frame: bytes,
            homes: Vec::new(),
        };
        let large = reply.large_bulks();
        if large > 0 {
            reserve(&mut reply.homes, large)?;
            reply.take_homes(buffers);
        }
        Ok(reply)
    }

    /// Copies a part of a reply.
    pub(crate) fn copy(part: &Reply<'_>) -> Result<Self, WireError> {
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
                homes.push(copied(part.large(node))?);
                node.start = number(homes.len());
            } else {
                node.start -= start;
            }
        }
        Ok(Self {
            nodes,
            frame,
            homes,
        })
    }

    fn large_bulks(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_large).count()
    }

    #[cold]
    fn take_homes(&mut self, buffers: &mut Buffers) {
        for node in self.nodes.iter_mut().filter(|node| node.is_large) {
            let home = buffers.take_home(Span::of_home(node.start, node.len));
            self.homes.push(home.unwrap_or_default());
            node.start = number(self.homes.len());
        }
    }

    /// The view of it.
    #[inline]
    pub fn reply(&self) -> Reply<'_> {
        let homes = Homes::Owned(&self.homes);
        // A frame has a value always; else it would be null.
        Reply::at(&self.nodes, &self.frame, homes, 0).unwrap_or_else(|| Reply::null(homes))
    }

    /// Bytes that it holds: what it costs to keep.
    pub fn capacity(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.frame.capacity()
            + self.homes.iter().map(Vec::capacity).sum::<usize>()
    }

    /// The bytes of a single string, without a copy where it was large; one copy where not. An aggregate has none.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let is_bulk = self.reply().kind() == Kind::BulkString;
        // An attribute's bulks come before it.
        let is_large = self.nodes.last().is_some_and(|node| node.is_large);
        if is_bulk
            && is_large
            && let Some(home) = self.homes.pop()
        {
            return home;
        }
        self.reply().bytes().to_vec()
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
