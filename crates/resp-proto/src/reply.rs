//! A reply as a view: nothing is copied, numbers are read when they are asked for.

mod shape;

use onecopy_wire::{Buffers, Span, WireError};

use crate::node::Node;
use crate::scanner::{double, integer};
use crate::{Kind, OwnedReply};

/// Where the bytes of large bulks lie.
#[derive(Clone, Copy)]
pub(crate) enum Homes<'r> {
    /// In a connection's buffers.
    Buffers(&'r Buffers),
    /// In an owned reply, by the home's number less one.
    Owned(&'r Vec<Vec<u8>>),
}

impl<'r> Homes<'r> {
    /// The bytes of a node that lies in one of them.
    #[cold]
    pub(crate) fn bytes(self, node: &Node) -> &'r [u8] {
        match self {
            Self::Buffers(buffers) => buffers.bytes(Span::of_home(node.start, node.len)),
            Self::Owned(homes) => homes
                .get(node.start as usize - 1)
                .map_or(&[], Vec::as_slice),
        }
    }
}

/// Of a value without an attribute.
const NONE: u32 = u32::MAX;

/// One value, borrowed: of a connection, until its next read, or of an [`OwnedReply`](crate::OwnedReply).
#[derive(Clone, Copy)]
pub struct Reply<'r> {
    nodes: &'r [Node],
    frame: &'r [u8],
    pub(crate) homes: Homes<'r>,
    node: &'r Node,
    /// The node's index.
    index: u32,
    /// The node of the first attribute in front of it, or [`NONE`].
    attribute: u32,
}

/// The value that begins with the node at `index`, past its attributes: its node, where that is, and where the first
/// attribute's is or [`NONE`].
#[inline]
fn find(nodes: &[Node], index: u32) -> Option<(&Node, u32, u32)> {
    let node = nodes.get(index as usize)?;
    if node.kind == Kind::Attribute {
        return find_past_attributes(nodes, index);
    }
    Some((node, index, NONE))
}

#[cold]
fn find_past_attributes(nodes: &[Node], first: u32) -> Option<(&Node, u32, u32)> {
    let mut index = first;
    loop {
        let node = nodes.get(index as usize)?;
        if node.kind != Kind::Attribute {
            return Some((node, index, first));
        }
        index = node.next;
    }
}

impl<'r> Reply<'r> {
    /// The value of a frame: the first one past its attributes. Null by itself where there is none, which the scanner
    /// hands over no frame without.
    // Made in one place of what lies in registers: one that is built here or there is moved by way of memory, which has
    // cost more than all else that is done for a reply.
    #[inline]
    pub(crate) fn of_frame(nodes: &'r [Node], frame: &'r [u8], homes: Homes<'r>) -> Self {
        static NULL: [Node; 1] = [Node {
            kind: Kind::Null,
            is_large: false,
            start: 0,
            len: 0,
            next: 1,
        }];
        let (nodes, node, index, attribute) = match find(nodes, 0) {
            Some((node, index, attribute)) => (nodes, node, index, attribute),
            None => (&NULL[..], &NULL[0], 0, NONE),
        };
        Self {
            nodes,
            frame,
            homes,
            node,
            index,
            attribute,
        }
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.node.kind
    }

    /// Whether it is null: `_`, `$-1` or `*-1`.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The bytes of a value that holds no others: a line's text, a bulk's body, a verbatim string's text without its
    /// format. Empty for null and for aggregates.
    #[inline]
    pub fn bytes(&self) -> &'r [u8] {
        let bytes = self.raw();
        if self.kind() == Kind::VerbatimString {
            return bytes.get(4..).unwrap_or_default();
        }
        bytes
    }

    /// As [`bytes`](Self::bytes), with a verbatim string's format and colon.
    #[inline]
    pub(crate) fn raw(&self) -> &'r [u8] {
        self.bytes_of(self.node)
    }

    /// The bytes of one node.
    #[inline]
    fn bytes_of(&self, node: &Node) -> &'r [u8] {
        if node.kind.is_aggregate() {
            return &[];
        }
        if node.is_large {
            return self.homes.bytes(node);
        }
        let start = node.start as usize;
        &self.frame[start..start + node.len as usize]
    }

    /// The three bytes that tell a verbatim string's format, such as `txt` or `mkd`.
    pub fn format(&self) -> Option<&'r [u8]> {
        if self.kind() == Kind::VerbatimString {
            self.raw().get(..3)
        } else {
            None
        }
    }

    /// The text, where it is UTF-8. Costs a look at each byte.
    pub fn as_str(&self) -> Option<&'r str> {
        std::str::from_utf8(self.bytes()).ok()
    }

    /// An integer; or a text that is one, as RESP2 has for many.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        integer(self.bytes())
    }

    /// A double or an integer; or a text that is one.
    pub fn as_f64(&self) -> Option<f64> {
        double(self.bytes())
    }

    /// A boolean; or 0 and 1, as RESP2 has for them.
    pub fn as_bool(&self) -> Option<bool> {
        match (self.kind(), self.bytes()) {
            (Kind::Boolean, b"t") | (Kind::Integer, b"1") => Some(true),
            (Kind::Boolean, b"f") | (Kind::Integer, b"0") => Some(false),
            _ => None,
        }
    }

    /// The text of the server's error, where it is one. Its first word is the error's code.
    #[inline]
    pub fn as_error(&self) -> Option<&'r [u8]> {
        if self.kind().is_error() {
            Some(self.bytes())
        } else {
            None
        }
    }

    /// Elements of an aggregate, keys and values counted each; 0 for other values.
    #[inline]
    pub fn len(&self) -> usize {
        let node = self.node;
        if node.kind.is_aggregate() {
            node.len as usize
        } else {
            0
        }
    }

    /// Whether it holds no other values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of an aggregate, in order; keys and values in turn. None for other values.
    #[inline]
    pub fn children(&self) -> Children<'r> {
        Children {
            parent: *self,
            next: self.index + 1,
            #[allow(clippy::cast_possible_truncation)] // a node's
            left: self.len() as u32,
        }
    }

    /// Keys and values of a map; or of an array of them in turn, as RESP2 has for maps. A key without a value is left out.
    pub fn pairs(&self) -> Pairs<'r> {
        Pairs(self.children())
    }

    /// What the server said about it: a map's keys and values, to be asked for by [`pairs`](Self::pairs). The last one where
    /// it said [several](Self::attributes).
    pub fn attribute(&self) -> Option<Reply<'r>> {
        self.attributes().last()
    }

    /// All attributes in front of it, in order. Servers send one at most; a proxy that adds its own makes them several.
    pub fn attributes(&self) -> Attributes<'r> {
        Attributes {
            of: *self,
            next: self.attribute,
        }
    }

    /// A copy of the value and all it holds, which does not keep the rest of the reply: two allocations, and one more for
    /// each bulk that has memory of its own.
    ///
    /// # Errors
    /// Memory that could not be had.
    pub fn detach(&self) -> Result<OwnedReply, WireError> {
        OwnedReply::copy(self)
    }

    /// The nodes of the value and all it holds, its attributes in front.
    pub(crate) fn subtree(&self) -> &'r [Node] {
        &self.nodes[self.subtree_start() as usize..self.node.next as usize]
    }

    /// The index of the first of them.
    pub(crate) fn subtree_start(&self) -> u32 {
        self.index.min(self.attribute)
    }

    /// As [`subtree`](Self::subtree), without the attributes.
    fn own_subtree(&self) -> &'r [Node] {
        &self.nodes[self.index as usize..self.node.next as usize]
    }

    /// The bytes that the nodes lie in.
    pub(crate) fn frame(&self) -> &'r [u8] {
        self.frame
    }
}

/// The elements of an aggregate.
#[derive(Debug, Clone)]
pub struct Children<'r> {
    parent: Reply<'r>,
    next: u32,
    left: u32,
}

impl<'r> Iterator for Children<'r> {
    type Item = Reply<'r>;

    #[inline]
    fn next(&mut self) -> Option<Reply<'r>> {
        if self.left == 0 {
            return None;
        }
        let Reply {
            nodes,
            frame,
            homes,
            ..
        } = self.parent;
        let (node, index, attribute) = find(nodes, self.next)?;
        self.left -= 1;
        self.next = node.next;
        Some(Reply {
            nodes,
            frame,
            homes,
            node,
            index,
            attribute,
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Children<'_> {}

/// The attributes of a value.
#[derive(Debug, Clone)]
pub struct Attributes<'r> {
    of: Reply<'r>,
    /// The next one's node; none from the value's on.
    next: u32,
}

impl<'r> Iterator for Attributes<'r> {
    type Item = Reply<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.of.index {
            return None;
        }
        let attribute = Reply {
            node: self.of.nodes.get(self.next as usize)?,
            index: self.next,
            attribute: NONE,
            ..self.of
        };
        self.next = attribute.node.next;
        Some(attribute)
    }
}

/// Keys and values.
#[derive(Debug, Clone)]
pub struct Pairs<'r>(Children<'r>);

impl<'r> Iterator for Pairs<'r> {
    type Item = (Reply<'r>, Reply<'r>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let pairs = self.0.len() / 2;
        (pairs, Some(pairs))
    }
}

impl ExactSizeIterator for Pairs<'_> {}
