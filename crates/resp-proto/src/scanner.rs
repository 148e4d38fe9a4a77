//! Scans replies from bytes to a flat list of nodes: incrementally, iteratively, in linear time.
//!
//! ```text
//!   pending:  |  frame: scanned so far  | not scanned |
//!             0                         at
//! ```
//!
//! Bytes are never scanned twice, however they are split; the search in the one line that is not complete continues where it
//! ended. A frame stays pending until it is complete, so that it is contiguous. Bulk strings of [`Limits::large`] bytes and more
//! that have not completely arrived are taken out of it, into allocations of their own. Discarded or streamed values are not
//! kept.
//!
//! Each value is first tried as a complete one of the most common form, with a few comparisons. Everything else, including
//! errors, is left to the slow path of [`value`], which starts with the same value again.

mod body;
mod chunk;
mod failure;
mod fast;
mod frame;
mod line;
mod open;
mod repeat;
mod request;
mod value;

use onecopy_wire::{Buffers, Span};

use crate::error::{ErrorKind, ProtocolError};
use crate::node::{Node, Nodes};
use crate::reply::Homes;
use crate::{Kind, Limits, Reply};
use body::Body;
pub(crate) use failure::Broken;
use fast::Leaf;
pub(crate) use frame::Borrowed;
pub use frame::{Frame, ReplyMode, Scanned};
pub(crate) use line::{double, integer};
use open::Open;
use repeat::Last;

/// Most elements of one reply, whatever the limit: what is left of them fits in 31 bits.
const MAX_ELEMENTS: usize = i32::MAX as usize;

/// Elements that a frame may claim without a look at the limits, as long as none has claimed more.
const PLAIN: usize = 1 << 12;

/// Bytes of a node, as they are counted.
const NODE: u64 = size_of::<Node>() as u64;

/// Bytes of the nodes of a frame that has claimed so many elements: one is the frame's own value.
#[inline]
fn nodes_of(claimed: usize) -> u64 {
    (claimed as u64 + 1) * NODE
}

/// Bytes of a bulk that is passed over or streamed: the protocol's own limit, 2^63 - 1.
const MAX_STREAMED: u64 = i64::MAX as u64;

/// Why values are not scanned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The frame is complete.
    Complete,
    /// [`Scanner::pause`] says what is to be done.
    Paused,
    /// [`Scanner::wrong`] says what is wrong.
    Broken,
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

/// A scanner for the replies in a connection's buffers.
#[derive(Debug)]
pub struct Scanner {
    nodes: Nodes,
    /// The innermost aggregate that is open, and those around it.
    inner: Open,
    outer: Vec<Open>,
    /// Bytes of the frame that are scanned and pending.
    at: usize,
    /// Bytes behind the first of the line under way that are known not to hold its end.
    searched: usize,
    /// The value under way whose bytes do not lie in the frame as they came.
    body: Body,
    /// Whether the next byte begins a frame. All fields about a frame have their initial values then, except the nodes, the span
    /// and `last`, which belong to the frame that was returned last.
    is_fresh: bool,
    /// Whether the frame under way is a push.
    is_push: bool,
    /// Whether the frame under way is passed over.
    skips: bool,
    /// Elements that the frame has claimed.
    claimed: usize,
    /// Where the frame that was handed over last lies.
    span: Span,
    /// What the next may be compared with.
    last: Last,
    #[cfg(debug_assertions)]
    frames: u64,
    /// Bytes of the stream in front of the frame.
    offset: u64,
    /// Bytes of the frame that are no more pending: in homes, passed over or handed out.
    gone: u64,
    /// Where the last attribute ended, in the stream: a value has to follow.
    attribute_end: u64,
    /// `Limits::max_bulk`, as far as a node can tell its length.
    max_bulk: u64,
    /// Elements that a frame may claim without a look at the limits: within `max_elements`, and within `max_total` with what
    /// their nodes take. As many as frames have claimed so far and some more: what is announced leaves less for bulks.
    plain: usize,
    /// The same without what is gone of the frame under way.
    plain_at_first: usize,
    /// Where in the pending bytes a bulk may end without a look at the limits, in a frame of `plain` elements: within
    /// `max_bulk`, and within `max_total` less what is gone and what nodes take. At most what the limits allow.
    near: u64,
    limits: Limits,
    /// What [`Stop::Paused`] is about: a place that is handed from call to call would be copied by each.
    pause: Pause,
    /// What was wrong. Nothing is scanned behind it.
    wrong: Option<ProtocolError>,
}

impl Scanner {
    /// Creates a scanner that holds no memory yet.
    pub fn new(limits: Limits) -> Self {
        let mut scanner = Self {
            nodes: Nodes::default(),
            inner: Open::FRAME,
            outer: Vec::new(),
            at: 0,
            searched: 0,
            body: Body::None,
            is_fresh: true,
            is_push: false,
            skips: false,
            claimed: 0,
            span: Span::EMPTY,
            last: Last::NONE,
            #[cfg(debug_assertions)]
            frames: 0,
            offset: 0,
            gone: 0,
            attribute_end: 0,
            max_bulk: 0,
            plain: 0,
            plain_at_first: PLAIN,
            near: 0,
            limits,
            pause: Pause::Complete,
            wrong: None,
        };
        scanner.set_limits(limits);
        scanner
    }

    /// Input from now on is checked against `limits`.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.max_bulk = limits.max_bulk.min(u64::from(u32::MAX));
        self.limits = Limits {
            max_elements: limits.max_elements.min(MAX_ELEMENTS),
            ..limits
        };
        self.last = Last::NONE;
        self.measure();
    }

    /// How many elements may be claimed and how far bulks may reach into the pending bytes, now that other bytes are gone.
    fn measure(&mut self) {
        let left = self.limits.max_total.saturating_sub(self.gone);
        let nodes = usize::try_from(left / NODE).unwrap_or(usize::MAX);
        self.plain = (self.plain_at_first)
            .min(self.limits.max_elements)
            .min(nodes.saturating_sub(1));
        let left = left.saturating_sub(nodes_of(self.plain));
        self.near = self.max_bulk.min(left);
    }

    /// A frame has claimed more elements than others before it. What is known to be plain grows with it, to half of what there
    /// is at most: bulks have the rest.
    #[cold]
    fn measure_for(&mut self, claimed: usize) {
        let half = usize::try_from(self.limits.max_total / NODE / 2).unwrap_or(usize::MAX);
        self.plain_at_first = claimed.saturating_mul(2).min(half).max(claimed);
        self.measure();
    }

    /// The nodes of the frame that was scanned last.
    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        self.nodes.as_slice()
    }

    /// Returns whether a value has begun to arrive and is not complete.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.at > 0 || self.searched > 0 || self.gone > 0
    }

    /// Returns the number of bytes in the stream before the current value.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Scans until a value is complete or input is missing. The previous frame becomes invalid.
    ///
    /// A value may be discarded from its middle on. A value that was begun in another mode cannot be streamed.
    ///
    /// # Errors
    /// Fails if the peer violates the protocol or a limit. The connection is unusable, and the next scan returns the same error.
    pub fn scan(
        &mut self,
        buffers: &mut Buffers,
        mode: ReplyMode,
    ) -> Result<Scanned, ProtocolError> {
        self.scan_as(buffers, mode).map_err(|Broken| self.error())
    }

    /// The same without the error.
    pub(crate) fn scan_as(
        &mut self,
        buffers: &mut Buffers,
        mode: ReplyMode,
    ) -> Result<Scanned, Broken> {
        match mode {
            _ if self.wrong.is_some() => Err(Broken),
            ReplyMode::Borrow => self.scan_borrowed(buffers),
            mode => self.scan_odd(buffers, mode),
        }
    }

    /// What was wrong.
    pub(crate) fn wrong(&self) -> Option<&ProtocolError> {
        self.wrong.as_ref()
    }

    /// The same, where something was.
    #[cold]
    pub(crate) fn error(&self) -> ProtocolError {
        let closed = || ProtocolError::new(ErrorKind::Closed, self.offset, &[]);
        self.wrong.unwrap_or_else(closed)
    }

    /// As [`scan`](Self::scan) for a reply that is borrowed.
    fn scan_borrowed(&mut self, buffers: &mut Buffers) -> Result<Scanned, Broken> {
        if self.is_fresh && buffers.pending().is_empty() {
            self.begin(buffers);
            self.is_fresh = true;
            buffers.need(1, 0);
            return Ok(Scanned::NeedInput(1));
        }
        match self.lend(buffers) {
            Borrowed::Reply => Ok(Scanned::Frame(self.frame(false))),
            Borrowed::Push => Ok(Scanned::Frame(self.frame(true))),
            Borrowed::Need => Ok(Scanned::NeedInput(buffers.needed())),
            Borrowed::Odd => self.scan_odd(buffers, ReplyMode::Borrow),
        }
    }

    /// The next value that is to be borrowed, as far as its bytes lie in the frame as they came; some are pending.
    #[inline]
    pub(crate) fn lend(&mut self, buffers: &mut Buffers) -> Borrowed {
        if self.is_fresh {
            self.begin(buffers);
        } else if self.wrong.is_some() || self.skips || !matches!(self.body, Body::None) {
            return Borrowed::Odd;
        }
        match self.values(buffers.pending()) {
            Stop::Complete if self.complete(buffers) => Borrowed::Push,
            Stop::Complete => Borrowed::Reply,
            Stop::Paused => self.lend_on(buffers),
            Stop::Broken => Borrowed::Odd,
        }
    }

    /// The bytes that lie there did not do.
    #[cold]
    fn lend_on(&mut self, buffers: &mut Buffers) -> Borrowed {
        if let Pause::Need { min, until_end } = self.pause {
            buffers.need(min, until_end);
            return Borrowed::Need;
        }
        // A failure is reported there.
        let _: Result<(), Broken> = self.leave_frame(buffers, self.pause);
        Borrowed::Odd
    }

    /// Returns a view of the frame that was scanned last.
    #[inline]
    pub fn reply<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Reply<'r> {
        let bytes = self.bytes(frame, buffers);
        Reply::of_frame(self.nodes(), bytes, Homes::Buffers(buffers))
    }

    /// The bytes of the frame that was scanned last, without its large bulks.
    #[inline]
    pub(crate) fn bytes<'b>(&self, frame: Frame, buffers: &'b Buffers) -> &'b [u8] {
        self.assert_last(frame);
        buffers.bytes(self.span)
    }

    #[inline]
    fn assert_last(&self, frame: Frame) {
        #[cfg(debug_assertions)]
        assert_eq!(
            frame.number, self.frames,
            "a reply was looked at after the next one was scanned"
        );
        let _ = frame;
    }

    /// The memory in which the frame that was scanned last begins.
    #[inline]
    pub(crate) fn bytes_in_place<'b>(&self, frame: Frame, buffers: &'b Buffers) -> &'b [u8] {
        self.assert_last(frame);
        buffers.bytes_in_place(self.span)
    }

    /// Returns the bytes of memory that it holds: the list of nodes, and that of enclosing aggregates.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.nodes.capacity() + self.outer.capacity() * size_of::<Open>()
    }

    /// Releases this memory, and with it the frame that was returned last. What is known of a partly received value is kept,
    /// unless the value is discarded.
    pub fn release(&mut self) {
        if !self.is_inside() || self.skips {
            self.nodes.release();
            self.last = Last::NONE;
        }
        if self.outer.is_empty() {
            self.outer = Vec::new();
        }
    }

    /// Forgets the frame that was handed over.
    fn begin(&mut self, buffers: &mut Buffers) {
        self.count_frame();
        self.nodes.clear();
        self.last = Last::NONE;
        self.is_fresh = false;
        buffers.recycle_homes();
    }

    #[inline]
    fn count_frame(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.frames += 1;
        }
    }

    /// Hands the frame over; whether it is a push.
    #[inline]
    fn complete(&mut self, buffers: &mut Buffers) -> bool {
        self.span = buffers.consume(self.at);
        let is_push = self.is_push;
        self.end_frame();
        is_push
    }

    /// The frame that was handed over last.
    #[inline]
    pub(crate) fn frame(&self, is_push: bool) -> Frame {
        Frame {
            is_push,
            #[cfg(debug_assertions)]
            number: self.frames,
        }
    }

    /// The frame is over, and all of it was consumed.
    #[inline]
    fn end_frame(&mut self) {
        self.offset = self.position();
        self.inner = Open::FRAME;
        self.at = 0;
        self.claimed = 0;
        // Of most frames nothing is.
        if self.gone > 0 {
            self.gone = 0;
            self.measure();
        }
        self.is_fresh = true;
        self.is_push = false;
        self.skips = false;
    }

    /// Scans from `at` to the end of `bytes`, which begin where the frame does.
    #[inline(never)]
    fn values(&mut self, bytes: &[u8]) -> Stop {
        loop {
            let at = self.at;
            let Some(&first) = bytes.get(at) else {
                return self.paused(Pause::Need {
                    min: 1,
                    until_end: 0,
                });
            };
            let stop = if let Some(leaf) = self.fast_element(bytes, at, first) {
                self.take(leaf)
            } else if self.fast_aggregate(bytes, at, first) {
                None
            } else {
                self.other(bytes, first)
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
    }

    /// What is neither of what most values are.
    #[cold]
    #[inline(never)]
    fn other(&mut self, bytes: &[u8], first: u8) -> Option<Stop> {
        if let (Some(kind), end) = self.odd_leaf(bytes, self.at, first) {
            let start = self.at + 1;
            return self.take(Leaf { kind, start, end });
        }
        match self.value(bytes, first) {
            Ok(None) => None,
            Ok(Some(Pause::Complete)) => Some(Stop::Complete),
            Ok(Some(pause)) => Some(self.paused(pause)),
            Err(Broken) => Some(Stop::Broken),
        }
    }

    #[inline]
    fn paused(&mut self, pause: Pause) -> Stop {
        self.pause = pause;
        Stop::Paused
    }

    /// A leaf is complete.
    #[inline(always)]
    fn take(&mut self, leaf: Leaf) -> Option<Stop> {
        self.searched = 0;
        let Leaf { kind, start, end } = leaf;
        if self.nodes.push(kind, start, end - start).is_none()
            && let Err(Broken) = self.push_grown(kind, start, end - start)
        {
            return Some(Stop::Broken);
        }
        self.at = end + 2;
        self.element_over()
    }

    /// Opens an aggregate of `count` elements, the first of which begins at `next`. There must be room around it, and `node` is
    /// its own.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // at most `MAX_ELEMENTS`
    fn open(&mut self, node: u32, kind: Kind, count: usize, next: usize) {
        let left = count as u32;
        let inner = Open { node, left, kind };
        self.outer.push(std::mem::replace(&mut self.inner, inner));
        self.at = next;
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, len: usize) -> Result<u32, Broken> {
        match self.nodes.push(kind, start, len) {
            Some(index) => Ok(index),
            None => self.push_grown(kind, start, len),
        }
    }

    #[cold]
    fn push_grown(&mut self, kind: Kind, start: usize, len: usize) -> Result<u32, Broken> {
        // Nodes are made of what is passed over only so that there is one way of scanning.
        if self.skips && self.nodes.is_long() {
            self.nodes.clear();
            return Ok(self.nodes.push(kind, start, len).unwrap_or(0));
        }
        let before = self.gone + self.at as u64;
        let left = self.limits.max_total.saturating_sub(before) / NODE;
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        if let Err(error) = self.nodes.grow(self.claimed + 1, left) {
            return Err(self.out_of_memory(error));
        }
        Ok(self.nodes.push(kind, start, len).unwrap_or(0))
    }

    /// An element of the innermost aggregate is complete.
    #[inline]
    fn element_over(&mut self) -> Option<Stop> {
        self.inner.left = self.inner.left.wrapping_sub(1);
        #[allow(clippy::cast_possible_wrap)] // what is streamed is below 0
        let is_open = self.inner.left as i32 > 0;
        if is_open {
            None
        } else if self.inner.left == 0 && self.outer.is_empty() {
            Some(Stop::Complete)
        } else {
            self.ascend()
        }
    }

    /// The same by the slow path.
    fn close(&mut self) -> Result<Option<Pause>, Broken> {
        match self.element_over() {
            None => Ok(None),
            Some(Stop::Complete) => Ok(Some(Pause::Complete)),
            Some(Stop::Paused) => Ok(Some(self.pause)),
            Some(Stop::Broken) => Err(Broken),
        }
    }

    /// The innermost aggregate is complete, or counts what comes; so may be those around it.
    fn ascend(&mut self) -> Option<Stop> {
        loop {
            if self.inner.is_streamed() {
                return self.claim(1, &[]).is_err().then_some(Stop::Broken);
            }
            if self.inner.left > 0 {
                return None;
            }
            let Some(outer) = self.outer.pop() else {
                return Some(Stop::Complete);
            };
            let inner = std::mem::replace(&mut self.inner, outer);
            #[allow(clippy::cast_possible_truncation)] // as in `push`
            let next = self.nodes.as_slice().len() as u32;
            // Of what is passed over the node may be gone, or another's: nobody looks at it.
            if let Some(node) = self.nodes.get_mut(inner.node) {
                node.next = next;
            }
            // It belongs to the value behind it, and counts as none.
            if inner.kind == Kind::Attribute {
                self.attribute_end = self.position();
                return None;
            }
            self.inner.left = self.inner.left.wrapping_sub(1);
        }
    }

    /// Counts elements that have arrived or are announced, by the value at `at`.
    fn claim(&mut self, elements: u64, bytes: &[u8]) -> Result<(), Broken> {
        let max = self.limits.max_elements as u64;
        let claimed = elements.saturating_add(self.claimed as u64);
        if claimed > max {
            return Err(self.fail(ErrorKind::TooManyElements { claimed, max }, bytes));
        }
        #[allow(clippy::cast_possible_truncation)] // at most `max_elements`
        let claimed = claimed as usize;
        self.claimed = claimed;
        self.count(self.at as u64, bytes)?;
        if claimed > self.plain_at_first && !self.skips {
            self.measure_for(claimed);
        }
        Ok(())
    }

    /// The same of a string that ends at `end` of the pending bytes: one that is a reply by itself has a limit of its own.
    fn count_string(&mut self, end: u64, bytes: &[u8]) -> Result<(), Broken> {
        if self.outer.is_empty() {
            return Ok(());
        }
        self.count(end, bytes)
    }

    /// Holds a frame that takes memory to its bytes in all, up to `end` of the pending ones, and to what its nodes take.
    fn count(&mut self, end: u64, bytes: &[u8]) -> Result<(), Broken> {
        let max = self.limits.max_total;
        let nodes = nodes_of(self.claimed);
        let claimed = end.saturating_add(self.gone).saturating_add(nodes);
        if claimed > max && !self.skips {
            return Err(self.fail(ErrorKind::TotalTooLarge { claimed, max }, bytes));
        }
        Ok(())
    }
}
