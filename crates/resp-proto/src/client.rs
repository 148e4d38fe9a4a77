//! The client's side of a connection: which replies are outstanding, and which request each belongs to.

mod handshake;
mod refusal;
mod session;

pub use handshake::{Handshake, HandshakeConfig, HandshakeReply, HandshakeRequest};
pub use refusal::Refusal;
pub use session::{Protocol, Session};

use onecopy_wire::{Buffers, Core, Span, Step, WireError};

use crate::error::{ErrorKind, ProtocolError};
use crate::scanner::{Borrowed, Broken, ReplyMode, Scanned, Scanner};
use crate::{Frame, Limits, OwnedReply, Reply};

/// A message that the client's state machine returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The reply to the oldest outstanding request.
    Reply(Frame),
    /// A push message, which is out of band.
    Push(Frame),
    /// The reply to the oldest outstanding request is a string of this many bytes, and [streaming was
    /// requested](Client::stream_next). Its bytes follow as [`Piece`](Self::Piece)s, then [`BulkEnd`](Self::BulkEnd).
    Bulk(u64),
    /// The next bytes of the string, valid until the next read.
    Piece(Span),
    /// The end of the string; its line end was correct.
    BulkEnd,
}

/// The client's state machine. Replies arrive in the order of the requests, push messages at any time between them.
///
/// It does not know the requests themselves: announce each queued request with [`expect`](Self::expect).
///
/// ```text
///   replies to come:  | skipped | skipped | borrowed, or streamed | borrowed | borrowed |
///                     |<---- to_skip ---->|<--------- awaited ------------->|
/// ```
#[derive(Debug)]
pub struct Client {
    scanner: Scanner,
    /// Requests without a reply.
    in_flight: u64,
    /// The first of them whose replies nobody waits for any more.
    to_skip: u64,
    /// Whether the first reply that is awaited is to be streamed.
    streams: bool,
}

impl Client {
    /// Creates the state of a connection on which nothing was sent.
    pub fn new(limits: Limits) -> Self {
        Self {
            scanner: Scanner::new(limits),
            in_flight: 0,
            to_skip: 0,
            streams: false,
        }
    }

    /// Announces that `requests` more requests were queued.
    #[inline]
    pub fn expect(&mut self, requests: u64) {
        self.in_flight += requests;
    }

    /// Withdraws the last `requests` announced requests, of which nothing was sent.
    pub fn withdraw(&mut self, requests: u64) {
        self.in_flight -= requests.min(self.in_flight);
        self.to_skip = self.to_skip.min(self.in_flight);
    }

    /// Abandons all outstanding replies: they are discarded as they arrive, in constant memory, including one that has arrived in
    /// part.
    #[inline]
    pub fn abandon(&mut self) {
        self.to_skip = self.in_flight;
        self.streams = false;
        self.scanner.skip_bulk();
    }

    /// Abandons only the first outstanding reply, like [`abandon`](Self::abandon).
    #[inline]
    pub fn abandon_first(&mut self) {
        if self.to_skip == 0 && self.in_flight > 0 {
            self.to_skip = 1;
            self.streams = false;
            self.scanner.skip_bulk();
        }
    }

    /// Requests streaming for the first awaited reply that has not begun to arrive. If it is a bulk string or a verbatim string,
    /// of up to 2^63 - 1 bytes, it is returned in pieces, in constant memory. Any other reply is borrowed.
    #[inline]
    pub fn stream_next(&mut self) {
        self.streams = true;
    }

    /// Returns the number of requests without a reply, including those whose replies were abandoned. A reply that is being
    /// streamed is not counted any more.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the number of requests without a reply that were not abandoned.
    #[inline]
    pub fn awaited(&self) -> u64 {
        self.in_flight - self.to_skip
    }

    /// Returns whether nothing is outstanding, including the end of a streamed string, and nothing has been read in part.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.scanner.is_inside()
    }

    /// Returns whether a string is being streamed, and its end was not returned yet.
    #[inline]
    pub fn is_in_bulk(&self) -> bool {
        self.scanner.is_in_bulk()
    }

    /// Returns the number of bytes of the streamed string that are still to come.
    #[inline]
    pub fn bulk_left(&self) -> u64 {
        self.scanner.bulk_left()
    }

    /// Discards the rest of the streamed string, in constant memory, before the next reply. Its end is not returned. Call this if
    /// you stop reading before [`Message::BulkEnd`].
    #[inline]
    pub fn skip_bulk(&mut self) {
        self.scanner.skip_bulk();
    }

    /// Returns whether the next bytes of the streamed string can be read directly into the caller's slice with
    /// [`Buffers::prepare_into`], because none is buffered.
    pub fn can_read_direct(&mut self, buffers: &mut Buffers) -> bool {
        self.scanner.wrong().is_none() && self.scanner.can_read_direct(buffers)
    }

    /// Reports that `n` bytes of the streamed string were read directly into the caller's slice.
    pub fn direct_read(&mut self, n: usize) {
        self.scanner.direct_read(n);
    }

    /// Returns the error that ended the conversation.
    pub fn error(&self) -> Option<ProtocolError> {
        self.scanner.wrong().copied()
    }

    /// Ends the conversation because the buffers have no room for the next bytes: a limit was reached, or memory could not be
    /// allocated. Returns the error with its position in the stream. If there was an earlier error, that one is kept.
    #[cold]
    pub fn handle_wire_error(&mut self, error: WireError) -> ProtocolError {
        let kind = ErrorKind::Wire(error);
        self.die(ProtocolError::new(kind, self.scanner.offset(), &[]))
    }

    /// Returns a view of the message that was returned last.
    #[inline]
    pub fn reply<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Reply<'r> {
        self.scanner.reply(frame, buffers)
    }

    /// Detaches the message that was returned last.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated; the message can still be read then.
    #[inline(always)]
    pub fn detach(&self, frame: Frame, buffers: &mut Buffers) -> Result<OwnedReply, WireError> {
        OwnedReply::detach(&self.scanner, frame, buffers)
    }

    /// Returns the bytes of memory, besides the buffers, that record where the values of a reply are. That is 16 for each value
    /// of the longest reply since the last [`release`](Self::release), up to twice as much because memory grows by doubling, and
    /// 12 for each enclosing aggregate.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.scanner.capacity()
    }

    /// Releases all of the memory counted by [`capacity`](Self::capacity). The message that was returned last becomes invalid.
    /// What is known of a partly received message is kept.
    #[inline]
    pub fn release(&mut self) {
        self.scanner.release();
    }

    /// Replies from now on are held to `limits`.
    fn set_limits(&mut self, limits: Limits) {
        self.scanner.set_limits(limits);
    }

    /// The conversation is over; its first error stays, and is what is given again.
    #[cold]
    fn die(&mut self, error: ProtocolError) -> ProtocolError {
        let Broken = self.scanner.die(error);
        self.scanner.error()
    }

    /// What is wrong with the message that was handed over last, which has no large bulks.
    #[cold]
    fn broken(&self, kind: ErrorKind, frame: Frame, buffers: &Buffers) -> ProtocolError {
        let bytes = self.scanner.bytes(frame, buffers);
        ProtocolError::new(kind, self.scanner.offset() - bytes.len() as u64, bytes)
    }

    /// Whether the next reply is to be borrowed.
    #[inline]
    fn borrows_next(&self) -> bool {
        self.to_skip == 0 && self.in_flight > 0 && !self.streams
    }

    /// The reply to the oldest request where it has arrived completely and is what most replies are. `None` says nothing, and has
    /// changed nothing: [`advance`](Core::advance) looks at all that may come.
    #[inline(always)]
    fn borrowed_at_once(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.borrows_next() {
            return None;
        }
        let frame = self.scanner.fast_frame(buffers)?;
        self.in_flight -= 1;
        Some(frame)
    }

    /// Returns the reply to the oldest request if it has completely arrived and resembles the previous one: a bulk string of the
    /// same length, or a line with the same text. This is the cheapest path. `None` has no meaning and no effect: call
    /// [`advance`](Core::advance), which handles all messages.
    #[inline(always)]
    pub fn borrowed_again(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.borrows_next() {
            return None;
        }
        let frame = self.scanner.repeated_frame(buffers)?;
        self.in_flight -= 1;
        Some(frame)
    }

    /// The next message, or what is needed for it.
    #[inline(never)]
    fn next(&mut self, buffers: &mut Buffers) -> Result<Step<Message>, ProtocolError> {
        if self.borrows_next() {
            if let Some(missing) = self.scanner.fast_missing(buffers) {
                return Ok(Step::NeedInput(missing));
            }
            match self.scanner.lend(buffers) {
                Borrowed::Reply => {
                    self.in_flight -= 1;
                    let frame = self.scanner.frame(false);
                    return Ok(Step::Message(Message::Reply(frame)));
                }
                Borrowed::Push => {
                    let frame = self.scanner.frame(true);
                    return Ok(Step::Message(Message::Push(frame)));
                }
                Borrowed::Need => return Ok(Step::NeedInput(buffers.needed())),
                Borrowed::Odd => {}
            }
        }
        loop {
            let mode = if self.to_skip > 0 {
                ReplyMode::Skip
            } else if self.in_flight == 0 {
                ReplyMode::Refuse
            } else if self.streams {
                ReplyMode::Stream
            } else {
                ReplyMode::Borrow
            };
            let scanned = self.scanner.scan(buffers, mode)?;
            if let Some(step) = self.taken(scanned) {
                return Ok(step);
            }
        }
    }

    /// Keeps count of what the scanner found. `None`: a reply was passed over.
    fn taken(&mut self, scanned: Scanned) -> Option<Step<Message>> {
        Some(Step::Message(match scanned {
            Scanned::NeedInput(min) => return Some(Step::NeedInput(min)),
            Scanned::Frame(frame) if frame.is_push() => Message::Push(frame),
            Scanned::Frame(frame) => {
                self.in_flight -= 1;
                self.streams = false;
                Message::Reply(frame)
            }
            Scanned::Bulk(len) => {
                self.in_flight -= 1;
                self.streams = false;
                Message::Bulk(len)
            }
            Scanned::Piece(piece) => Message::Piece(piece),
            Scanned::BulkEnd => Message::BulkEnd,
            Scanned::Skipped => {
                self.in_flight -= 1;
                self.to_skip -= 1;
                return None;
            }
        }))
    }
}

impl Core for Client {
    type Message = Message;
    type Error = ProtocolError;

    // The reply that most are is taken here, so that it costs no call; all else by `next`.
    #[inline(always)]
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Message>, ProtocolError> {
        if let Some(frame) = self.borrowed_again(buffers) {
            return Ok(Step::Message(Message::Reply(frame)));
        }
        match self.borrowed_at_once(buffers) {
            Some(frame) => Ok(Step::Message(Message::Reply(frame))),
            None => self.next(buffers),
        }
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> ProtocolError {
        let is_cut = self.scanner.is_inside() || !buffers.pending().is_empty();
        let kind = if is_cut || self.in_flight > 0 {
            ErrorKind::ClosedInReply
        } else {
            ErrorKind::Closed
        };
        let error = ProtocolError::new(kind, self.scanner.offset(), buffers.pending());
        self.die(error)
    }
}
