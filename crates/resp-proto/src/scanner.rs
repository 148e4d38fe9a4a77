//! Replies, from bytes to a flat list of nodes: incremental, iterative, in linear time.
//!
//! ```text
//!   pending:  |  frame: scanned so far  | not scanned |
//!             0                         at
//! ```
//!
//! What is scanned is never looked at again, however the bytes are cut; the one line that has not come whole is searched
//! on from where the search ended. A frame stays pending until it is complete, so that all of it is contiguous; bulks of
//! [`Limits::large`] bytes and more that have not come whole are taken out of it, into homes of their own. What is passed
//! over or handed out in pieces does not stay.
//!
//! Each value is first tried as what most are, whole and in order, by a few comparisons; all else, errors too, is told by
//! the slow path of [`value`], which begins with the same value again.

mod body;
mod chunk;
mod line;
mod value;

use onecopy_wire::{Buffers, Span, WireError};

use crate::error::{ErrorKind, ProtocolError};
use crate::node::Node;
use crate::reply::Homes;
use crate::{Kind, Limits, Reply};
use body::Body;
pub(crate) use line::{double, integer};
use line::{fast_integer, fast_length, fast_line};

/// Most elements of one reply, whatever the limit: what is left of them fits in 31 bits.
const MAX_ELEMENTS: usize = i32::MAX as usize;

/// Bytes of a bulk that is passed over or streamed: the protocol's own limit, 2^63 - 1.
const MAX_STREAMED: u64 = i64::MAX as u64;

/// One whole reply or push, with all that it holds; valid until the next one is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub(crate) span: Span,
    pub(crate) is_push: bool,
}

impl Frame {
    /// Whether it came out of band.
    #[inline]
    pub fn is_push(self) -> bool {
        self.is_push
    }
}

/// What becomes of a reply. Pushes are lent in any mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyMode {
    /// It is lent whole.
    Lend,
    /// If it is a bulk string or a verbatim string it is handed out in pieces, up to 2^63 - 1 bytes, in constant memory; if
    /// not, or if it has an attribute, it is lent.
    Stream,
    /// It is passed over in constant memory.
    Skip,
    /// There is none to come: its first byte is an error.
    Refuse,
}

/// What a scan ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// A whole value.
    Frame(Frame),
    /// At least so many bytes are missing; the buffers know.
    NeedInput(usize),
    /// A whole reply was passed over.
    Skipped,
    /// A string of so many bytes begins, which comes in pieces.
    Bulk(u64),
    /// The string's next bytes.
    Piece(Span),
    /// The string is over.
    BulkEnd,
}

/// An aggregate whose elements have not all come; or the frame, which has one.
#[derive(Debug, Clone, Copy)]
struct Open {
    node: u32,
    /// Elements that are missing. Of a streamed one, whose number is not known, `u32::MAX` less those that have come: as
    /// an `i32` that is below 0.
    left: u32,
    kind: Kind,
}

impl Open {
    const FRAME: Self = Self {
        node: u32::MAX,
        left: 1,
        kind: Kind::Null,
    };

    /// Whether an end must come, whose distance is not known.
    #[inline]
    fn is_streamed(&self) -> bool {
        self.left > i32::MAX as u32
    }
}

/// Where the pending bytes ended.
#[derive(Debug, Clone, Copy)]
enum Pause {
    /// The frame is complete.
    Complete,
    /// `min` bytes are missing at least, `until_end` until the value under way ends (0: not known).
    Need { min: usize, until_end: usize },
    /// A bulk of `len` bytes whose body begins at `body` does not come into the frame.
    Large { kind: Kind, len: u64, body: usize },
    /// A string of unknown length begins behind `self.at`.
    Chunks,
    /// A push follows what was passed over: an attribute.
    PushBehind,
}

/// Scans replies out of a connection's buffers.
#[derive(Debug)]
pub struct Scanner {
    nodes: Vec<Node>,
    /// The innermost aggregate that is open, and those around it.
    inner: Open,
    outer: Vec<Open>,
    /// Bytes of the frame that are scanned and pending.
    at: usize,
    /// Bytes behind the first of the line under way that are known not to hold its end.
    searched: usize,
    /// The value under way whose bytes do not lie in the frame as they came.
    body: Body,
    /// Whether the frame was handed over: the next scan begins a new one.
    is_over: bool,
    /// Whether the frame under way is a push.
    is_push: bool,
    /// Whether the frame under way is passed over.
    skips: bool,
    /// Elements that the frame has claimed.
    claimed: usize,
    /// Bytes of the stream in front of the frame.
    offset: u64,
    /// Bytes of the frame that are no more pending: in homes, passed over or handed out.
    gone: u64,
    /// Where the last attribute ended, in the stream: a value has to follow.
    attribute_end: u64,
    /// `Limits::max_bulk`, as far as a node can tell its length.
    max_bulk: u64,
    limits: Limits,
}

impl Scanner {
    /// A scanner that holds no memory yet.
    pub fn new(limits: Limits) -> Self {
        let mut scanner = Self {
            nodes: Vec::new(),
            inner: Open::FRAME,
            outer: Vec::new(),
            at: 0,
            searched: 0,
            body: Body::None,
            is_over: false,
            is_push: false,
            skips: false,
            claimed: 0,
            offset: 0,
            gone: 0,
            attribute_end: 0,
            max_bulk: 0,
            limits,
        };
        scanner.set_limits(limits);
        scanner
    }

    /// What comes from now on is held to `limits`.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.max_bulk = limits.max_bulk.min(u64::from(u32::MAX));
        self.limits = Limits {
            max_elements: limits.max_elements.min(MAX_ELEMENTS),
            ..limits
        };
    }

    /// The nodes of the frame that was scanned last.
    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether a value has begun to come and is not complete.
    #[inline]
    pub fn is_inside(&self) -> bool {
        !self.is_over && (self.at > 0 || self.searched > 0 || self.gone > 0)
    }

    /// Bytes of the stream in front of the value under way.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Scans on until a value is complete or input is missing. The frame before it is gone.
    ///
    /// A value that is passed over may be so from its middle on; one that was begun in another mode is not streamed.
    ///
    /// # Errors
    /// What the peer did wrong, or a limit. The connection is of no more use.
    #[inline]
    pub fn scan(
        &mut self,
        buffers: &mut Buffers,
        mode: ReplyMode,
    ) -> Result<Scanned, ProtocolError> {
        if self.is_over {
            self.begin(buffers);
        }
        if mode != ReplyMode::Lend || self.body != Body::None || self.skips {
            return self.scan_odd(buffers, mode);
        }
        match self.values(buffers.pending())? {
            Pause::Complete => Ok(Scanned::Frame(self.complete(buffers))),
            Pause::Need { min, until_end } => {
                buffers.need(min, until_end);
                Ok(Scanned::NeedInput(min))
            }
            pause => {
                self.leave_frame(buffers, pause)?;
                self.scan_odd(buffers, mode)
            }
        }
    }

    /// A view of the frame that was scanned last.
    #[inline]
    pub fn reply<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Reply<'r> {
        let homes = Homes::Buffers(buffers);
        // A frame has a value always; else it would be null.
        Reply::at(&self.nodes, buffers.bytes(frame.span), homes, 0)
            .unwrap_or_else(|| Reply::null(homes))
    }

    /// Gives back what long replies have made the lists grow to.
    pub fn release(&mut self) {
        const KEPT: usize = 64;
        if self.is_over || !self.is_inside() {
            if self.nodes.capacity() > KEPT {
                self.nodes = Vec::new();
            }
            if self.outer.capacity() > KEPT {
                self.outer = Vec::new();
            }
        }
    }

    /// Forgets the frame that was handed over.
    #[inline]
    fn begin(&mut self, buffers: &mut Buffers) {
        self.offset += self.at as u64 + self.gone;
        self.nodes.clear();
        self.inner = Open::FRAME;
        self.at = 0;
        self.gone = 0;
        self.claimed = 0;
        self.is_over = false;
        self.is_push = false;
        self.skips = false;
        buffers.recycle_homes();
    }

    #[inline]
    fn complete(&mut self, buffers: &mut Buffers) -> Frame {
        self.is_over = true;
        Frame {
            span: buffers.consume(self.at),
            is_push: self.is_push,
        }
    }

    /// Scans from `at` to the end of `bytes`, which begin where the frame does.
    #[inline]
    fn values(&mut self, bytes: &[u8]) -> Result<Pause, ProtocolError> {
        loop {
            let at = self.at;
            let Some(&first) = bytes.get(at) else {
                return Ok(Pause::Need {
                    min: 1,
                    until_end: 0,
                });
            };
            // What most values are: a leaf that has come whole. Kind, first byte, length and what follows.
            let leaf = match first {
                b'$' => self.fast_bulk(bytes, at),
                b'+' => fast_line(bytes, at, self.searched, self.limits.max_line)
                    .map(|end| (Kind::SimpleString, at + 1, end - at - 1, end + 2)),
                b':' => fast_integer(bytes, at)
                    .map(|end| (Kind::Integer, at + 1, end - at - 1, end + 2)),
                _ => None,
            };
            let Some((kind, start, len, next)) = leaf else {
                match self.value(bytes, first)? {
                    Some(pause) => return Ok(pause),
                    None => continue,
                }
            };
            self.searched = 0;
            self.push(kind, start, len)?;
            self.at = next;
            if let Some(pause) = self.close()? {
                return Ok(pause);
            }
        }
    }

    #[inline]
    fn fast_bulk(&self, bytes: &[u8], at: usize) -> Option<(Kind, usize, usize, usize)> {
        let (len, body) = fast_length(bytes, at)?;
        if len as u64 > self.max_bulk {
            return None;
        }
        let end = body + len;
        let is_whole = bytes.get(end..end + 2)? == b"\r\n";
        is_whole.then_some((Kind::BulkString, body, len, end + 2))
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, len: usize) -> Result<u32, ProtocolError> {
        if self.nodes.len() == self.nodes.capacity() {
            self.grow()?;
        }
        #[allow(clippy::cast_possible_truncation)]
        // the buffer and the elements are limited to u32::MAX
        let (index, start, len) = (self.nodes.len() as u32, start as u32, len as u32);
        self.nodes.push(Node {
            kind,
            is_large: false,
            start,
            len,
            next: index + 1,
        });
        Ok(index)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), ProtocolError> {
        /// Nodes are kept of what is passed over only so that there is one way of scanning.
        const SKIPPED: usize = 64;
        if self.skips && self.nodes.capacity() >= SKIPPED {
            self.nodes.clear();
            return Ok(());
        }
        let more = self.nodes.capacity().max(4);
        self.nodes
            .try_reserve_exact(more)
            .map_err(|_| no_memory(more * size_of::<Node>()))
    }

    /// An element of the innermost aggregate is complete.
    #[inline]
    fn close(&mut self) -> Result<Option<Pause>, ProtocolError> {
        self.inner.left = self.inner.left.wrapping_sub(1);
        #[allow(clippy::cast_possible_wrap)] // what is streamed is below 0
        let is_open = self.inner.left as i32 > 0;
        if is_open { Ok(None) } else { self.ascend() }
    }

    /// The innermost aggregate is complete, or counts what comes; so may be those around it.
    fn ascend(&mut self) -> Result<Option<Pause>, ProtocolError> {
        loop {
            if self.inner.is_streamed() {
                self.claim(1)?;
                return Ok(None);
            }
            if self.inner.left > 0 {
                return Ok(None);
            }
            let Some(outer) = self.outer.pop() else {
                return Ok(Some(Pause::Complete));
            };
            let inner = std::mem::replace(&mut self.inner, outer);
            #[allow(clippy::cast_possible_truncation)] // as in `push`
            let next = self.nodes.len() as u32;
            // Of what is passed over the nodes may be gone.
            if let Some(node) = self.nodes.get_mut(inner.node as usize) {
                node.next = next;
            }
            // It belongs to the value behind it, and counts as none.
            if inner.kind == Kind::Attribute {
                self.attribute_end = self.position();
                return Ok(None);
            }
            self.inner.left = self.inner.left.wrapping_sub(1);
        }
    }

    /// Counts elements that have come or are announced.
    fn claim(&mut self, elements: u64) -> Result<(), ProtocolError> {
        let max = self.limits.max_elements as u64;
        let claimed = elements.saturating_add(self.claimed as u64);
        if claimed > max {
            return Err(self.error(ErrorKind::TooManyElements { claimed, max }, &[]));
        }
        #[allow(clippy::cast_possible_truncation)] // at most `max_elements`
        let claimed = claimed as usize;
        self.claimed = claimed;
        Ok(())
    }

    /// Bytes of the stream in front of `at`.
    fn position(&self) -> u64 {
        self.offset + self.gone + self.at as u64
    }

    /// What is wrong with the value at `at`, of which `bytes` have come, from the frame's first on.
    #[cold]
    fn error(&self, kind: ErrorKind, bytes: &[u8]) -> ProtocolError {
        ProtocolError::new(kind, self.position(), bytes.get(self.at..).unwrap_or(&[]))
    }
}

#[cold]
fn no_memory(bytes: usize) -> ProtocolError {
    WireError::OutOfMemory {
        bytes: bytes as u64,
    }
    .into()
}
