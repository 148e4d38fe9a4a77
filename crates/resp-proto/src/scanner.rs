//! Replies, from bytes to a flat list of nodes: incremental, iterative, in linear time.
//!
//! ```text
//!   pending:  |  frame: scanned so far  | not scanned |
//!             0                         at
//! ```
//!
//! What is scanned is never looked at again, however the bytes are cut; the one line that has not come whole is searched
//! on from where the search ended. A frame stays pending until it is complete, so that all of it is contiguous; bulks of
//! [`Limits::large`] bytes and more that have not come whole are taken out of it, into homes of their own.

mod line;

use onecopy_wire::{Buffers, Span};

use crate::error::{ErrorKind, ProtocolError};
use crate::node::Node;
use crate::reply::Homes;
use crate::{Kind, Limits, Reply};
use line::{Line, find_end, length, text};
pub(crate) use line::{double, integer};

/// One whole reply or push, with all that it holds; valid until the next one is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub(crate) span: Span,
}

/// An aggregate whose elements have not all come.
#[derive(Debug, Clone, Copy)]
struct Open {
    node: u32,
    /// Elements that are missing.
    left: u32,
}

/// What a scan ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// A whole value.
    Frame(Frame),
    /// At least so many bytes are missing; the buffers know.
    NeedInput(usize),
}

/// Where the pending bytes ended.
enum Pause {
    /// The frame is complete.
    Complete,
    /// `min` bytes are missing at least, `until_end` until the value under way ends (0: not known).
    Need { min: usize, until_end: usize },
    /// A bulk of `len` bytes whose body begins at `self.at` goes to a home.
    Large { kind: Kind, len: usize },
}

/// The bulk under way whose bytes do not stay in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    None,
    /// In its home; its CR LF goes to the side slot.
    Home(Kind),
}

/// What became of a bulk in its home.
enum Home {
    /// Bytes of it are missing.
    Missing,
    /// It is complete, and what holds it is not.
    Inside,
    /// The frame is complete with it.
    Last,
}

/// Scans replies out of a connection's buffers.
#[derive(Debug)]
pub struct Scanner {
    nodes: Vec<Node>,
    open: Vec<Open>,
    /// Bytes of the frame that are scanned.
    at: usize,
    /// Bytes behind `at` that are known not to hold the end of their line.
    searched: usize,
    body: Body,
    /// Whether the frame was handed over: the next scan begins a new one.
    is_over: bool,
    /// Elements that the frame has claimed.
    claimed: usize,
    /// Bytes of the stream in front of the frame.
    offset: u64,
    /// Bytes of the frame that went to homes.
    homed: u64,
    limits: Limits,
}

impl Scanner {
    /// A scanner that holds no memory yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            nodes: Vec::new(),
            open: Vec::new(),
            at: 0,
            searched: 0,
            body: Body::None,
            is_over: false,
            claimed: 0,
            offset: 0,
            homed: 0,
            limits,
        }
    }

    /// What comes from now on is held to `limits`.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The nodes of the frame that was scanned last.
    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether a value has begun to come and is not complete.
    #[inline]
    pub fn is_inside(&self) -> bool {
        !self.is_over && (self.at > 0 || self.searched > 0 || self.homed > 0)
    }

    /// Bytes of the stream in front of the value under way.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Scans on until a value is complete or input is missing. The frame before it is gone.
    ///
    /// # Errors
    /// What the peer did wrong, or a limit. The connection is of no more use.
    #[inline]
    pub fn scan(&mut self, buffers: &mut Buffers) -> Result<Scanned, ProtocolError> {
        if self.is_over {
            self.begin(buffers);
        }
        loop {
            if self.body != Body::None {
                match self.finish_home(buffers)? {
                    Home::Missing => return Ok(Scanned::NeedInput(buffers.needed())),
                    Home::Last => return Ok(Scanned::Frame(self.complete(buffers))),
                    Home::Inside => {}
                }
            }
            match self.scan_pending(buffers.pending())? {
                Pause::Complete => return Ok(Scanned::Frame(self.complete(buffers))),
                Pause::Need { min, until_end } => {
                    buffers.need(min, until_end);
                    return Ok(Scanned::NeedInput(min));
                }
                Pause::Large { kind, len } => self.begin_home(buffers, kind, len)?,
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
            if self.open.capacity() > KEPT {
                self.open = Vec::new();
            }
        }
    }

    /// Forgets the frame that was handed over.
    #[inline]
    fn begin(&mut self, buffers: &mut Buffers) {
        self.offset += self.at as u64 + self.homed;
        self.nodes.clear();
        self.at = 0;
        self.homed = 0;
        self.claimed = 0;
        self.is_over = false;
        buffers.recycle_homes();
    }

    #[inline]
    fn complete(&mut self, buffers: &mut Buffers) -> Frame {
        self.is_over = true;
        Frame {
            span: buffers.consume(self.at),
        }
    }

    /// Scans from `at` to the end of `bytes`, which begin where the frame does.
    #[inline]
    fn scan_pending(&mut self, bytes: &[u8]) -> Result<Pause, ProtocolError> {
        loop {
            let Some(&first) = bytes.get(self.at) else {
                return Ok(Pause::Need {
                    min: 1,
                    until_end: 0,
                });
            };
            let pause = match first {
                b'$' => self.bulk(bytes, Kind::BulkString)?,
                b'+' => self.line(bytes, Kind::SimpleString)?,
                b':' => self.line(bytes, Kind::Integer)?,
                b'*' => self.aggregate(bytes, Kind::Array)?,
                _ => self.rare(bytes, first)?,
            };
            if let Some(pause) = pause {
                return Ok(pause);
            }
        }
    }

    /// The types that few replies have.
    fn rare(&mut self, bytes: &[u8], first: u8) -> Result<Option<Pause>, ProtocolError> {
        match first {
            b'-' => self.line(bytes, Kind::SimpleError),
            b'_' => self.line(bytes, Kind::Null),
            b'#' => self.line(bytes, Kind::Boolean),
            b',' => self.line(bytes, Kind::Double),
            b'(' => self.line(bytes, Kind::BigNumber),
            b'!' => self.bulk(bytes, Kind::BulkError),
            b'=' => self.bulk(bytes, Kind::VerbatimString),
            b'%' => self.aggregate(bytes, Kind::Map),
            b'~' => self.aggregate(bytes, Kind::Set),
            b'>' if self.open.is_empty() => self.aggregate(bytes, Kind::Push),
            b'>' => Err(self.error(ErrorKind::PushInside, bytes)),
            b'|' => self.aggregate(bytes, Kind::Attribute),
            _ => Err(self.error(ErrorKind::UnknownType(first), bytes)),
        }
    }

    /// A value that is one line.
    #[inline]
    fn line(&mut self, bytes: &[u8], kind: Kind) -> Result<Option<Pause>, ProtocolError> {
        let start = self.at + 1;
        let Some(end) = find_end(bytes, start + self.searched) else {
            return self.unfinished_line(bytes, start);
        };
        if end - start > self.limits.max_line {
            return Err(self.line_too_long(bytes));
        }
        if bytes[end] == b'\n' {
            return Err(self.error(ErrorKind::LoneLineEnd, bytes));
        }
        match bytes.get(end + 1) {
            Some(b'\n') => {}
            Some(_) => return Err(self.error(ErrorKind::LoneLineEnd, bytes)),
            None => {
                self.searched = end - start;
                return Ok(Some(Pause::Need {
                    min: 1,
                    until_end: 1,
                }));
            }
        }
        if kind != Kind::SimpleString
            && let Err(wrong) = text(kind, &bytes[start..end])
        {
            return Err(self.error(wrong, bytes));
        }
        self.searched = 0;
        self.leaf(kind, start, end - start, end + 2)
    }

    #[cold]
    fn unfinished_line(
        &mut self,
        bytes: &[u8],
        start: usize,
    ) -> Result<Option<Pause>, ProtocolError> {
        self.searched = bytes.len() - start;
        if self.searched > self.limits.max_line {
            return Err(self.line_too_long(bytes));
        }
        Ok(Some(Pause::Need {
            min: 1,
            until_end: 0,
        }))
    }

    /// A value of a length that is told before it.
    #[inline]
    fn bulk(&mut self, bytes: &[u8], kind: Kind) -> Result<Option<Pause>, ProtocolError> {
        let (len, body) = match length(bytes, self.at) {
            Line::Length(len, body) => (len, body),
            other => return self.odd_length(bytes, kind, &other),
        };
        if len > self.limits.max_bulk.min(u64::from(u32::MAX)) {
            return Err(self.bulk_too_large(bytes, len));
        }
        if kind == Kind::VerbatimString && len < 4 {
            return Err(self.error(ErrorKind::InvalidVerbatim, bytes));
        }
        #[allow(clippy::cast_possible_truncation)] // at most u32::MAX
        let len = len as usize;
        let end = body + len;
        if bytes.len() < end + 2 {
            let missing = end + 2 - bytes.len();
            if len >= self.limits.large && bytes.len() < end {
                self.at = body;
                return Ok(Some(Pause::Large { kind, len }));
            }
            return Ok(Some(Pause::Need {
                min: missing,
                until_end: missing,
            }));
        }
        if bytes[end] != b'\r' || bytes[end + 1] != b'\n' {
            return Err(self.error(ErrorKind::MissingLineEnd, bytes));
        }
        if kind == Kind::VerbatimString && bytes[body + 3] != b':' {
            return Err(self.error(ErrorKind::InvalidVerbatim, bytes));
        }
        self.leaf(kind, body, len, end + 2)
    }

    /// A header that is no plain length.
    #[cold]
    fn odd_length(
        &mut self,
        bytes: &[u8],
        kind: Kind,
        line: &Line,
    ) -> Result<Option<Pause>, ProtocolError> {
        match *line {
            Line::Short => Ok(Some(Pause::Need {
                min: 1,
                until_end: 0,
            })),
            Line::Null(end) if matches!(kind, Kind::BulkString | Kind::Array) => {
                self.leaf(Kind::Null, end, 0, end)
            }
            _ => Err(self.error(ErrorKind::InvalidLength, bytes)),
        }
    }

    /// The header of a value that holds others.
    #[inline]
    fn aggregate(&mut self, bytes: &[u8], kind: Kind) -> Result<Option<Pause>, ProtocolError> {
        let (count, next) = match length(bytes, self.at) {
            Line::Length(count, next) => (count, next),
            other => return self.odd_length(bytes, kind, &other),
        };
        let count = count.saturating_mul(if kind.is_pairs() { 2 } else { 1 });
        let max = (self.limits.max_elements - self.claimed) as u64;
        if count > max {
            let claimed = count.saturating_add(self.claimed as u64);
            let max = self.limits.max_elements as u64;
            return Err(self.error(ErrorKind::TooManyElements { claimed, max }, bytes));
        }
        if count > 0 && self.open.len() >= self.limits.max_depth {
            let max = self.limits.max_depth;
            return Err(self.error(ErrorKind::TooDeep { max }, bytes));
        }
        #[allow(clippy::cast_possible_truncation)] // at most `max_elements`
        let count = count as u32;
        self.claimed += count as usize;
        let index = self.push(kind, self.at, count as usize)?;
        self.at = next;
        if count == 0 {
            return Ok(self.close(kind));
        }
        if self.open.len() == self.open.capacity() {
            self.open.try_reserve(8).map_err(|_| no_memory(8 * 8))?;
        }
        self.open.push(Open {
            node: index,
            left: count,
        });
        Ok(None)
    }

    /// A value without others has come whole; the next one begins at `next`.
    #[inline]
    fn leaf(
        &mut self,
        kind: Kind,
        start: usize,
        len: usize,
        next: usize,
    ) -> Result<Option<Pause>, ProtocolError> {
        self.push(kind, start, len)?;
        self.at = next;
        Ok(self.close(kind))
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
        let more = self.nodes.capacity().max(4);
        self.nodes
            .try_reserve_exact(more)
            .map_err(|_| no_memory(more * size_of::<Node>()))
    }

    /// A value is complete; so may be those that hold it.
    #[inline]
    fn close(&mut self, mut kind: Kind) -> Option<Pause> {
        loop {
            // It belongs to the value behind it, and counts as none.
            if kind == Kind::Attribute {
                return None;
            }
            let Some(open) = self.open.last_mut() else {
                return Some(Pause::Complete);
            };
            open.left -= 1;
            if open.left > 0 {
                return None;
            }
            #[allow(clippy::cast_possible_truncation)] // as in `push`
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[open.node as usize];
            node.next = next;
            kind = node.kind;
            self.open.pop();
        }
    }

    /// Gives the bulk whose body begins at `at` a home of its own.
    #[cold]
    fn begin_home(
        &mut self,
        buffers: &mut Buffers,
        kind: Kind,
        len: usize,
    ) -> Result<(), ProtocolError> {
        let buffered = buffers.pending().len() - self.at;
        buffers.begin_home(len, buffered)?;
        buffers.cut(len - buffered, 2);
        self.body = Body::Home(kind);
        Ok(())
    }

    /// Takes the bulk out of its home once that is full and the line end has come.
    #[cold]
    fn finish_home(&mut self, buffers: &mut Buffers) -> Result<Home, ProtocolError> {
        let missing = buffers.home_missing();
        let Some([cr, lf, ..]) = (missing == 0).then(|| buffers.take_side()).flatten() else {
            buffers.need(1, missing + 2);
            return Ok(Home::Missing);
        };
        let Body::Home(kind) = std::mem::replace(&mut self.body, Body::None) else {
            return Ok(Home::Inside);
        };
        let span = buffers.finish_home();
        if [cr, lf] != *b"\r\n" {
            return Err(self.error(ErrorKind::MissingLineEnd, &[]));
        }
        if kind == Kind::VerbatimString && buffers.bytes(span).get(3) != Some(&b':') {
            return Err(self.error(ErrorKind::InvalidVerbatim, &[]));
        }
        self.homed += span.len() as u64 + 2;
        let index = self.push(kind, span.home() as usize, span.len())?;
        self.nodes[index as usize].is_large = true;
        Ok(match self.close(kind) {
            Some(_) => Home::Last,
            None => Home::Inside,
        })
    }

    #[cold]
    fn error(&self, kind: ErrorKind, bytes: &[u8]) -> ProtocolError {
        let at = self.at.min(bytes.len());
        ProtocolError::new(
            kind,
            self.offset + self.at as u64 + self.homed,
            &bytes[at..],
        )
    }

    #[cold]
    fn line_too_long(&self, bytes: &[u8]) -> ProtocolError {
        let max = self.limits.max_line;
        self.error(ErrorKind::LineTooLong { max }, bytes)
    }

    #[cold]
    fn bulk_too_large(&self, bytes: &[u8], len: u64) -> ProtocolError {
        let max = self.limits.max_bulk;
        self.error(ErrorKind::BulkTooLarge { len, max }, bytes)
    }
}

#[cold]
fn no_memory(bytes: usize) -> ProtocolError {
    onecopy_wire::WireError::OutOfMemory {
        bytes: bytes as u64,
    }
    .into()
}

#[cfg(test)]
mod tests;
