//! A reply as a view: nothing is copied, and numbers are parsed on access.

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

/// A borrowed value: of a connection, until its next read, or of an [`OwnedReply`](crate::OwnedReply).
///
/// # Example
/// ```
/// use onecopy_resp_proto::{Kind, Reply};
///
/// /// Prints any reply in one line.
/// fn show(reply: Reply<'_>) -> String {
///     match reply.kind() {
///         Kind::Null => "nothing".into(),
///         Kind::Integer => format!("{:?}", reply.as_i64()),
///         Kind::Array | Kind::Set => reply.children().map(show).collect::<Vec<_>>().join(", "),
///         Kind::Map => {
///             let pairs = reply.pairs().map(|(key, value)| format!("{}: {}", show(key), show(value)));
///             pairs.collect::<Vec<_>>().join(", ")
///         }
///         _ => String::from_utf8_lossy(reply.bytes()).into_owned(),
///     }
/// }
/// ```
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

    /// Returns the type of the value.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.node.kind
    }

    /// Returns whether the value is null: `_`, `$-1` or `*-1`.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the bytes of a single value: the text of a line, the body of a bulk string, or the text of a verbatim string
    /// without its format. Empty for null and for aggregates.
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

    /// Returns the format of a verbatim string: three bytes, such as `txt` or `mkd`.
    pub fn format(&self) -> Option<&'r [u8]> {
        if self.kind() == Kind::VerbatimString {
            self.raw().get(..3)
        } else {
            None
        }
    }

    /// Returns the text if it is UTF-8. Costs a check of each byte.
    pub fn as_str(&self) -> Option<&'r str> {
        std::str::from_utf8(self.bytes()).ok()
    }

    /// Returns the integer, also if the value is a text that contains one, as often in RESP2.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        integer(self.bytes())
    }

    /// Returns the double or integer as a double, also if the value is a text that contains one.
    pub fn as_f64(&self) -> Option<f64> {
        double(self.bytes())
    }

    /// Returns the boolean, also if the value is 0 or 1, as RESP2 sends booleans.
    pub fn as_bool(&self) -> Option<bool> {
        match (self.kind(), self.bytes()) {
            (Kind::Boolean, b"t") | (Kind::Integer, b"1") => Some(true),
            (Kind::Boolean, b"f") | (Kind::Integer, b"0") => Some(false),
            _ => None,
        }
    }

    /// Returns the text of a server error. Its first word is the error code.
    #[inline]
    pub fn as_error(&self) -> Option<&'r [u8]> {
        if self.kind().is_error() {
            Some(self.bytes())
        } else {
            None
        }
    }

    /// Returns the number of elements of an aggregate; keys and values are counted separately. 0 for other values.
    #[inline]
    pub fn len(&self) -> usize {
        let node = self.node;
        if node.kind.is_aggregate() {
            node.len as usize
        } else {
            0
        }
    }

    /// Returns whether it contains no other values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an iterator over the elements of an aggregate, in order; keys and values alternate. Empty for other values.
    #[inline]
    pub fn children(&self) -> Children<'r> {
        Children {
            parent: *self,
            next: self.index + 1,
            #[allow(clippy::cast_possible_truncation)] // a node's
            left: self.len() as u32,
        }
    }

    /// Returns an iterator over the keys and values of a map, or of an array in which they alternate, as RESP2 sends maps. A key
    /// without a value is left out.
    pub fn pairs(&self) -> Pairs<'r> {
        Pairs(self.children())
    }

    /// Returns the attribute of the value: a map, whose keys and values [`pairs`](Self::pairs) returns. If there are
    /// [several](Self::attributes), returns the last one.
    pub fn attribute(&self) -> Option<Reply<'r>> {
        self.attributes().last()
    }

    /// Returns an iterator over all attributes before the value, in order. Servers send at most one; a proxy that adds its own
    /// makes them several.
    pub fn attributes(&self) -> Attributes<'r> {
        Attributes {
            of: *self,
            next: self.attribute,
        }
    }

    /// Copies the value and everything it contains. The copy does not keep the rest of the reply alive. Costs two allocations,
    /// and one more for each bulk string with an allocation of its own.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated.
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

/// An iterator over the elements of an aggregate.
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

/// An iterator over the attributes of a value.
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

/// An iterator over keys and values.
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
