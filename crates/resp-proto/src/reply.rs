//! A reply as a view: nothing is copied, numbers are read when they are asked for.

use std::fmt;

use onecopy_wire::{Buffers, Span};

use crate::Kind;
use crate::node::Node;
use crate::scanner::{double, integer};

/// Where the bytes of large bulks lie.
#[derive(Clone, Copy)]
pub(crate) enum Homes<'r> {
    /// In a connection's buffers.
    Buffers(&'r Buffers),
    /// In an owned reply, by the home's number less one.
    Owned(&'r [Vec<u8>]),
}

/// One value, lent: of a connection, until its next read, or of an [`OwnedReply`](crate::OwnedReply).
#[derive(Clone, Copy)]
pub struct Reply<'r> {
    nodes: &'r [Node],
    frame: &'r [u8],
    homes: Homes<'r>,
    /// The value's own node.
    index: usize,
    /// Its attribute's node, where it has one.
    attribute: Option<usize>,
}

impl<'r> Reply<'r> {
    /// The value that begins with the node at `index`, past its attributes. There is one: the scanner ends no frame
    /// behind an attribute.
    #[inline]
    pub(crate) fn at(
        nodes: &'r [Node],
        frame: &'r [u8],
        homes: Homes<'r>,
        mut index: usize,
    ) -> Option<Self> {
        let mut attribute = None;
        loop {
            let node = nodes.get(index)?;
            if node.kind != Kind::Attribute {
                return Some(Self {
                    nodes,
                    frame,
                    homes,
                    index,
                    attribute,
                });
            }
            attribute = Some(index);
            index = node.next as usize;
        }
    }

    /// Null by itself.
    #[cold]
    pub(crate) fn null(homes: Homes<'r>) -> Self {
        const NULL: [Node; 1] = [Node {
            kind: Kind::Null,
            is_large: false,
            start: 0,
            len: 0,
            next: 1,
        }];
        Self {
            nodes: &NULL,
            frame: &[],
            homes,
            index: 0,
            attribute: None,
        }
    }

    #[inline]
    fn node(&self) -> &'r Node {
        &self.nodes[self.index]
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.node().kind
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
        let node = self.node();
        if node.kind.is_aggregate() {
            return &[];
        }
        if node.is_large {
            return self.large(node);
        }
        let start = node.start as usize;
        &self.frame[start..start + node.len as usize]
    }

    #[cold]
    fn large(&self, node: &Node) -> &'r [u8] {
        match self.homes {
            Homes::Buffers(buffers) => buffers.bytes(Span::of_home(node.start, node.len)),
            Homes::Owned(homes) => homes
                .get(node.start as usize - 1)
                .map_or(&[], Vec::as_slice),
        }
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
        let node = self.node();
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
            left: self.len(),
        }
    }

    /// Keys and values of a map; or of an array of them in turn, as RESP2 has for maps. A key without a value is left out.
    pub fn pairs(&self) -> Pairs<'r> {
        Pairs(self.children())
    }

    /// What the server said about it: a map's keys and values, to be asked for by [`pairs`](Self::pairs).
    pub fn attribute(&self) -> Option<Reply<'r>> {
        Some(Self {
            index: self.attribute?,
            attribute: None,
            ..*self
        })
    }
}

/// Shows the value and all it holds, bytes escaped: for a look at it, not for logs.
impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind().is_aggregate() {
            write!(f, "{:?} ", self.kind())?;
            return f.debug_list().entries(self.children()).finish();
        }
        write!(f, "{:?}({})", self.kind(), self.raw().escape_ascii())
    }
}

/// The elements of an aggregate.
#[derive(Debug, Clone)]
pub struct Children<'r> {
    parent: Reply<'r>,
    next: usize,
    left: usize,
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
        let child = Reply::at(nodes, frame, homes, self.next)?;
        self.left -= 1;
        self.next = child.node().next as usize;
        Some(child)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Children<'_> {}

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
