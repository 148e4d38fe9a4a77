//! The client's side of a connection: which replies are outstanding, and whose they are.

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

/// What a client's core hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The reply to the oldest request that has none.
    Reply(Frame),
    /// Something out of band.
    Push(Frame),
    /// The reply to the oldest request is a string of so many bytes, and [was to be streamed](Client::stream_next). Its bytes
    /// come as pieces, then its end.
    Bulk(u64),
    /// The next bytes of the string, valid until the next read.
    Piece(Span),
    /// The string is over, its line end was right.
    BulkEnd,
}

/// The client's state machine: replies come in the order of the requests, pushes at any time between them.
///
/// It knows nothing of what was asked. Each request that is queued is announced by [`expect`](Self::expect).
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
    /// A connection on which nothing was sent.
    pub fn new(limits: Limits) -> Self {
        Self {
            scanner: Scanner::new(limits),
            in_flight: 0,
            to_skip: 0,
            streams: false,
        }
    }

    /// `requests` more were queued.
    #[inline]
    pub fn expect(&mut self, requests: u64) {
        self.in_flight += requests;
    }

    /// The last `requests` that were announced are taken back: nothing of them has left.
    pub fn withdraw(&mut self, requests: u64) {
        self.in_flight -= requests.min(self.in_flight);
        self.to_skip = self.to_skip.min(self.in_flight);
    }

    /// Nobody waits any more for the replies that are outstanding: they are passed over when they come, in constant memory,
    /// also one that has come in part.
    #[inline]
    pub fn abandon(&mut self) {
        self.to_skip = self.in_flight;
        self.streams = false;
        self.scanner.skip_bulk();
    }

    /// The same for the first reply that is outstanding alone.
    #[inline]
    pub fn abandon_first(&mut self) {
        if self.to_skip == 0 && self.in_flight > 0 {
            self.to_skip = 1;
            self.streams = false;
            self.scanner.skip_bulk();
        }
    }

    /// The first reply that is awaited and has not begun to come is handed out in pieces if it is a bulk string or a verbatim
    /// string, of up to 2^63 - 1 bytes, in constant memory. Any other reply is borrowed.
    #[inline]
    pub fn stream_next(&mut self) {
        self.streams = true;
    }

    /// Requests without a reply, those that nobody waits for included. A reply that is being streamed is no more among them.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Requests without a reply that somebody waits for.
    #[inline]
    pub fn awaited(&self) -> u64 {
        self.in_flight - self.to_skip
    }

    /// Whether nothing is outstanding, no end of a streamed string either, nor anything half read.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.scanner.is_inside()
    }

    /// Whether a string is being streamed, whose end was not told.
    #[inline]
    pub fn is_in_bulk(&self) -> bool {
        self.scanner.is_in_bulk()
    }

    /// Bytes of the streamed string that are to come.
    #[inline]
    pub fn bulk_left(&self) -> u64 {
        self.scanner.bulk_left()
    }

    /// The rest of the streamed string is passed over in constant memory before the next reply; its end is not told. A
    /// caller that goes away before [`Message::BulkEnd`] calls this.
    #[inline]
    pub fn skip_bulk(&mut self) {
        self.scanner.skip_bulk();
    }

    /// Whether the next bytes of the streamed string can be read straight into the caller's slice, by
    /// [`Buffers::prepare_into`]: none is buffered.
    pub fn can_read_direct(&mut self, buffers: &mut Buffers) -> bool {
        self.scanner.wrong().is_none() && self.scanner.can_read_direct(buffers)
    }

    /// `n` bytes of the streamed string went straight to the caller.
    pub fn direct_read(&mut self, n: usize) {
        self.scanner.direct_read(n);
    }

    /// The error that ended the conversation.
    pub fn error(&self) -> Option<ProtocolError> {
        self.scanner.wrong().copied()
    }

    /// The buffers have no room for what is to come, a limit or the allocator has said no: the conversation is over. Gives the
    /// error that says where; an earlier one stays.
    #[cold]
    pub fn handle_wire_error(&mut self, error: WireError) -> ProtocolError {
        let kind = ErrorKind::Wire(error);
        self.die(ProtocolError::new(kind, self.scanner.offset(), &[]))
    }

    /// A view of the message that was handed over last.
    #[inline]
    pub fn reply<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Reply<'r> {
        self.scanner.reply(frame, buffers)
    }

    /// Detaches the message that was handed over last.
    ///
    /// # Errors
    /// Memory that could not be had; the message can still be looked at then.
    #[inline(always)]
    pub fn detach(&self, frame: Frame, buffers: &mut Buffers) -> Result<OwnedReply, WireError> {
        OwnedReply::detach(&self.scanner, frame, buffers)
    }

    /// Bytes of memory beside the buffers' that tell where the values of a reply lie: 16 for each that the longest since the
    /// last [`release`](Self::release) had, doubled up to, and 12 for each aggregate around others.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.scanner.capacity()
    }

    /// Gives back all of [`capacity`](Self::capacity). The message that was handed over last is gone with it; of one that has
    /// come in part what is known stays.
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
    fn lends(&self) -> bool {
        self.to_skip == 0 && self.in_flight > 0 && !self.streams
    }

    /// The reply to the oldest request where it has come whole and is what most replies are. `None` says nothing, and has
    /// changed nothing: [`advance`](Core::advance) looks at all that may come.
    #[inline(always)]
    fn borrowed_at_once(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.lends() {
            return None;
        }
        let frame = self.scanner.fast_frame(buffers)?;
        self.in_flight -= 1;
        Some(frame)
    }

    /// The reply to the oldest request where it has come whole and is like the one before it, a bulk of the same length or a line of
    /// the same text, which costs the least. `None` says nothing, and has changed nothing: [`advance`](Core::advance) looks at all
    /// that may come.
    #[inline(always)]
    pub fn borrowed_again(&mut self, buffers: &mut Buffers) -> Option<Frame> {
        if !self.lends() {
            return None;
        }
        let frame = self.scanner.repeated_frame(buffers)?;
        self.in_flight -= 1;
        Some(frame)
    }

    /// The next message, or what is needed for it.
    #[inline(never)]
    fn next(&mut self, buffers: &mut Buffers) -> Result<Step<Message>, ProtocolError> {
        if self.lends() {
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
