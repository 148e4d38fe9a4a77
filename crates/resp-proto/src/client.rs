//! The client's side of a connection: which replies are outstanding, and whose they are.

mod handshake;
mod refusal;
mod session;

pub use handshake::{Handshake, HandshakeConfig, HandshakeReply, HandshakeRequest};
pub use refusal::Refusal;
pub use session::{Protocol, Session};

use onecopy_wire::{Buffers, Core, Step, WireError};

use crate::error::{ErrorKind, ProtocolError};
use crate::scanner::{Scanned, Scanner};
use crate::{Frame, Kind, Limits, OwnedReply, Reply};

/// What a client's core hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The reply to the oldest request that has none.
    Reply(Frame),
    /// Something out of band.
    Push(Frame),
}

/// The client's state machine: replies come in the order of the requests, pushes at any time between them.
///
/// It knows nothing of what was asked. Each request that is queued is announced by [`expect`](Self::expect).
#[derive(Debug)]
pub struct Client {
    scanner: Scanner,
    /// Requests without a reply.
    in_flight: u64,
    /// The first of them whose replies nobody waits for any more.
    to_skip: u64,
    error: Option<ProtocolError>,
}

impl Client {
    /// A connection on which nothing was sent.
    pub fn new(limits: Limits) -> Self {
        Self {
            scanner: Scanner::new(limits),
            in_flight: 0,
            to_skip: 0,
            error: None,
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

    /// Nobody waits any more for the replies that are outstanding: they are passed over when they come.
    #[inline]
    pub fn abandon(&mut self) {
        self.to_skip = self.in_flight;
    }

    /// Requests without a reply, those that nobody waits for included.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Requests without a reply that somebody waits for.
    #[inline]
    pub fn awaited(&self) -> u64 {
        self.in_flight - self.to_skip
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
    pub fn detach(&self, frame: Frame, buffers: &mut Buffers) -> Result<OwnedReply, WireError> {
        OwnedReply::detach(&self.scanner, frame, buffers)
    }

    /// Gives back what long replies have made the lists grow to.
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
        *self.error.get_or_insert(error)
    }

    /// What is wrong with the message that was handed over last.
    #[cold]
    fn broken(&self, kind: ErrorKind, frame: Frame, buffers: &Buffers) -> ProtocolError {
        ProtocolError::new(kind, self.scanner.offset(), buffers.bytes(frame.span))
    }

    #[inline]
    fn next(&mut self, buffers: &mut Buffers) -> Result<Step<Message>, ProtocolError> {
        loop {
            let frame = match self.scanner.scan(buffers)? {
                Scanned::Frame(frame) => frame,
                Scanned::NeedInput(min) => return Ok(Step::NeedInput(min)),
            };
            if self.scanner.reply(frame, buffers).kind() == Kind::Push {
                return Ok(Step::Message(Message::Push(frame)));
            }
            if self.in_flight == 0 {
                return Err(self.broken(ErrorKind::Unexpected, frame, buffers));
            }
            self.in_flight -= 1;
            if self.to_skip > 0 {
                self.to_skip -= 1;
                continue;
            }
            return Ok(Step::Message(Message::Reply(frame)));
        }
    }
}

impl Core for Client {
    type Message = Message;
    type Error = ProtocolError;

    #[inline]
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Message>, ProtocolError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.next(buffers)
            .inspect_err(|error| self.error = Some(*error))
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> ProtocolError {
        let is_cut = self.scanner.is_inside() || !buffers.pending().is_empty();
        let kind = if is_cut || self.in_flight > 0 {
            ErrorKind::ClosedInReply
        } else {
            ErrorKind::Closed
        };
        let error = ProtocolError::new(kind, self.scanner.offset(), buffers.pending());
        *self.error.get_or_insert(error)
    }
}
