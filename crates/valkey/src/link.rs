//! What both APIs share: the core, its buffers, and what is true between two calls.

mod deadline;
mod end;
mod listening;
mod memory;
mod pooled;
mod reply;
mod transaction;

use std::fmt;
use std::time::{Duration, Instant};

use onecopy_net::DriveError;
use onecopy_resp_proto::{
    Client, Frame, Handshake, HandshakeReply, Message, ProtocolError, Reply, RequestWriter, Session,
};
use onecopy_wire::{Buffers, Core, Meter, Step, WireError};

use crate::command::{Blocking, Command, Flags, Raw};
use crate::parts::{PIECE, Parts};
use crate::request::Request;
use crate::{Config, Error};
pub(crate) use deadline::deadline_in;
pub(crate) use reply::output;
pub(crate) use transaction::{EXEC, MULTI, Queueing};

/// A reader's slice of this size or more is worth a read of its own: 16 KiB.
pub(crate) const DIRECT_READ: usize = 16 << 10;

/// Bytes of the write queue's first chunk, which is kept: most commands fit.
const FIRST_CHUNK: usize = 256;

/// The push listener.
type Listener = Box<dyn FnMut(Reply<'_>) + Send + Sync>;

/// One connection without its stream.
pub(crate) struct Link {
    pub(crate) core: Client,
    pub(crate) buffers: Buffers,
    session: Session,
    command_timeout: Option<Duration>,
    deadline: Option<Instant>,
    /// How long the commands of the current call ask the server to wait; `None` means no limit.
    blocking: Option<Duration>,
    /// Bytes that had left when the call under way began.
    sent_before: u64,
    /// Bytes that waited then: what is left of an earlier call.
    queued_before: usize,
    /// Requests that the call under way has queued, since all that it queued had left last.
    requests: u64,
    /// Whether requests of the call under way had left before that.
    has_left: bool,
    /// Bytes that had arrived or left when the call before began.
    moved_before: u64,
    /// Memory up to which a connection keeps what its last calls needed.
    idle_keep: usize,
    /// Calls in a row that needed little of the memory that is held, and the most bytes that came and left in one of them.
    quiet: u32,
    largest: usize,
    /// Whether nothing was outstanding when the call under way began.
    was_idle: bool,
    /// Whether the last argument of a command has not been queued whole.
    is_open: bool,
    /// Why the connection is closed.
    closed: Option<String>,
    /// The connection's own number in this process.
    number: u64,
    /// A command of the caller's has changed what belongs to the connection.
    is_changed: bool,
    /// The same, whether or not a method has kept account of it.
    is_touched: bool,
    /// A command of the caller's has begun a transaction or watches keys, and none is known to have ended it.
    is_watching: bool,
    /// The same when the call under way began, or when all that it had queued had left last.
    was_watching: bool,
    /// Whether the call under way has queued a command that ends it.
    is_ending: bool,
    listener: Option<Listener>,
    /// Replies to nothing on the connections that were before this one.
    unexpected_before: u64,
    /// What the connections before it have cost, where it was made again.
    meter_before: Option<Box<Meter>>,
}

/// The buffers and the handshake of a new connection.
pub(crate) fn handshake(config: &Config) -> (Buffers, Handshake) {
    let mut buffers = Buffers::new(config.buffer_config());
    buffers.output().set_first_chunk(FIRST_CHUNK);
    buffers.set_home_advice(onecopy_net::advise_huge_pages);
    let handshake = Handshake::new(config.handshake(), config.limits);
    (buffers, handshake)
}

impl Link {
    /// What becomes of a handshake that was driven to its end.
    pub(crate) fn shaken(
        reply: HandshakeReply,
        handshake: Handshake,
        buffers: Buffers,
        config: &Config,
    ) -> Result<Self, Error> {
        if let HandshakeReply::Refused { refusal, frame, .. } = reply {
            let reply = handshake.reply(frame, &buffers);
            return Err(Error::refused(refusal, reply.bytes()));
        }
        let (core, session) = handshake.into_client();
        let mut link = Self {
            core,
            buffers,
            session,
            command_timeout: config.command_timeout,
            deadline: None,
            blocking: Some(Duration::ZERO),
            sent_before: 0,
            queued_before: 0,
            requests: 0,
            has_left: false,
            moved_before: 0,
            idle_keep: config.buffer_config().idle_keep,
            quiet: 0,
            largest: 0,
            was_idle: true,
            is_open: false,
            closed: None,
            number: pooled::next_number(),
            is_changed: false,
            is_touched: false,
            is_watching: false,
            was_watching: false,
            is_ending: false,
            listener: None,
            unexpected_before: 0,
            meter_before: None,
        };
        link.rest();
        Ok(link)
    }

    /// Keeps what belongs to the caller of a connection that is set up again.
    pub(crate) fn take_over(&mut self, old: Self, meter: Meter) {
        self.unexpected_before = old.unexpected_replies();
        self.meter_before = Some(Box::new(Meter {
            capacity_now: 0,
            ..meter
        }));
        self.listener = old.listener;
        self.command_timeout = old.command_timeout;
        self.number = old.number;
        self.is_touched = old.is_touched;
    }

    /// Begins a call, after cleaning up after an earlier one: replies that nobody waits for are discarded as they arrive, and
    /// queued bytes of which none was sent are withdrawn. If a command with parts by reference was sent in part, the connection
    /// is closed, because the parts are gone.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        if let Some(cause) = &self.closed {
            return Err(Error::closed(cause.clone()));
        }
        self.was_idle = self.core.is_idle() && !self.buffers.has_output();
        if self.was_idle && self.buffers.pending().is_empty() && !self.is_open {
            self.give_back();
        } else {
            // Nothing of this call's has left, whatever became of an earlier one.
            self.begin_slow()
                .map_err(|error| error.after_sending(false))?;
        }
        self.sent_before = self.buffers.output().sent();
        self.queued_before = if self.buffers.has_output() {
            self.buffers.output().len()
        } else {
            0
        };
        self.requests = 0;
        self.has_left = false;
        self.was_watching = self.is_watching;
        self.is_ending = false;
        self.blocking = Some(Duration::ZERO);
        self.start_wait();
        Ok(())
    }

    #[cold]
    fn begin_slow(&mut self) -> Result<(), Error> {
        drop(self.buffers.withdraw_home());
        if self.buffers.has_output() || self.is_open {
            self.withdraw()?;
        }
        self.core.abandon();
        self.take_up()
    }

    /// What has arrived already. A reply to nothing must not be taken for the next command's.
    pub(crate) fn take_up(&mut self) -> Result<(), Error> {
        loop {
            match self.core.advance(&mut self.buffers) {
                Ok(Step::Message(Message::Push(frame))) => self.pushed(frame),
                Ok(Step::NeedInput(_)) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(self.failed(DriveError::Core(error))),
            }
        }
    }

    /// Withdraws what the last call queued, if none of it was sent; bytes queued before it stay. If a part was sent, sending
    /// continues, as long as the queue holds the rest.
    fn withdraw(&mut self) -> Result<(), Error> {
        let output = self.buffers.output();
        let sent = output.sent() - self.sent_before;
        let left = usize::try_from(sent)
            .ok()
            .and_then(|sent| self.queued_before.checked_sub(sent));
        match left {
            Some(left) => {
                output.truncate(left);
                self.core.withdraw(std::mem::take(&mut self.requests));
                self.is_open = false;
                self.is_watching = self.was_watching;
                Ok(())
            }
            None if output.has_borrowed() || self.is_open => {
                Err(self.close("a command was dropped while half of it was sent"))
            }
            None => Ok(()),
        }
    }

    /// All that the call has queued has left: what it queues from here on can be taken back by itself.
    pub(crate) fn all_left(&mut self) {
        self.has_left |= self.requests > 0;
        self.sent_before = self.buffers.output().sent();
        self.queued_before = 0;
        self.requests = 0;
        self.was_watching = self.is_watching;
    }

    /// Whether anything of the call under way has left.
    fn has_left(&mut self) -> bool {
        let sent = self.buffers.output().sent() - self.sent_before;
        self.has_left || sent > self.queued_before as u64
    }

    /// Queues a command. Its large parts go to `parts`, which are borrowed to the driver until it has left.
    #[inline]
    pub(crate) fn queue<'a, C: Command>(
        &mut self,
        command: &'a C,
        parts: &mut Parts<'a>,
    ) -> Result<(), Error> {
        self.admit(command)?;
        let mut request = Request::lending(self.buffers.output(), parts.borrowed());
        command.encode(&mut request);
        let ended = request.end();
        self.queued(ended)
    }

    /// The same for a command that is gone afterwards: large parts that it owns are shared, others are copied.
    #[inline]
    pub(crate) fn queue_owned<C: Command>(
        &mut self,
        command: &C,
        parts: &mut Parts<'_>,
    ) -> Result<(), Error> {
        self.admit(command)?;
        let (owned, first) = parts.owned();
        let mut request = Request::owning(self.buffers.output(), owned, first);
        command.encode(&mut request);
        let ended = request.end();
        self.queued(ended)
    }

    /// The same for a command without arguments.
    pub(crate) fn queue_encoded(&mut self, command: &[u8]) -> Result<(), Error> {
        let mut writer = RequestWriter::new(self.buffers.output());
        writer.encoded(command);
        let ended = writer.end();
        self.queued(ended)
    }

    /// Queues a command up to its last argument, of `len` bytes, which follows in pieces.
    pub(crate) fn queue_open<'a>(
        &mut self,
        command: &'a Raw<'_>,
        len: u64,
        parts: &mut Parts<'a>,
    ) -> Result<(), Error> {
        self.admit(command)?;
        let mut request = Request::lending(self.buffers.output(), parts.borrowed());
        command.encode_open(&mut request, len);
        let ended = request.end();
        self.queued(ended)?;
        self.is_open = true;
        Ok(())
    }

    /// Queues the next piece of that argument, which is borrowed to the driver.
    pub(crate) fn queue_piece(&mut self, len: usize) {
        self.buffers.output().push_borrowed(PIECE, 0, len);
    }

    /// Queues that argument's end.
    pub(crate) fn end_open(&mut self) {
        let output = self.buffers.output();
        output.begin_here();
        output.push_array(*b"\r\n");
        self.is_open = false;
    }

    #[inline]
    fn queued(&mut self, ended: Result<(), WireError>) -> Result<(), Error> {
        ended.map_err(Error::out_of_memory)?;
        self.core.expect(1);
        self.requests += 1;
        Ok(())
    }

    #[inline]
    fn admit<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        const SPECIAL: Flags = Flags::BREAKS_ORDER
            .with(Flags::CONNECTION_STATE)
            .with(Flags::TRANSACTION)
            .with(Flags::ENDS_TRANSACTION)
            .with(Flags::BLOCKING);
        let flags = command.flags();
        if flags.intersects(SPECIAL) {
            return self.admit_special(flags, command.blocking());
        }
        Ok(())
    }

    #[cold]
    fn admit_special(&mut self, flags: Flags, blocking: Blocking) -> Result<(), Error> {
        if flags.contains(Flags::BREAKS_ORDER) {
            return Err(Error::breaks_order());
        }
        self.is_changed |= flags.contains(Flags::CONNECTION_STATE);
        self.is_touched |= self.is_changed;
        self.is_watching |= flags.contains(Flags::TRANSACTION);
        self.is_ending |= flags.contains(Flags::ENDS_TRANSACTION);
        self.blocking = match (self.blocking, blocking) {
            (blocking, Blocking::No) => blocking,
            (Some(sum), Blocking::AtMost(time)) => sum.checked_add(time),
            _ => None,
        };
        self.start_wait();
        Ok(())
    }

    /// Whether the request that was queued is the only one without a reply: then nothing can come before it has left.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.was_idle && self.core.in_flight() == 1
    }

    /// What was driven; nothing where it was a push, which the listener has got.
    #[inline]
    pub(crate) fn message(
        &mut self,
        driven: Result<Message, DriveError<ProtocolError>>,
    ) -> Result<Option<Message>, Error> {
        match driven {
            Ok(Message::Push(frame)) => {
                self.pushed(frame);
                Ok(None)
            }
            Ok(message) => {
                self.rest();
                Ok(Some(message))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The next reply where it has arrived already, as most of a pipeline's have: nothing is timed, written or read for it.
    /// `None` if there is more to do, which includes a failure to report.
    #[inline(always)]
    pub(crate) fn buffered(&mut self) -> Option<Frame> {
        match self.core.borrowed_again(&mut self.buffers) {
            Some(frame) if self.core.in_flight() > 0 => Some(frame),
            Some(frame) => self.buffered_last(frame),
            None => self.buffered_otherwise(),
        }
    }

    /// The same behind which nothing is outstanding.
    #[inline(never)]
    fn buffered_last(&mut self, frame: Frame) -> Option<Frame> {
        self.rest();
        Some(frame)
    }

    /// The same for a reply that differs from the previous one, or follows replies that nobody waits for.
    #[inline(never)]
    fn buffered_otherwise(&mut self) -> Option<Frame> {
        // `advance` would say no more.
        while !self.buffers.pending().is_empty() {
            match self.core.advance(&mut self.buffers) {
                Ok(Step::Message(Message::Reply(frame))) => {
                    self.rest();
                    return Some(frame);
                }
                Ok(Step::Message(Message::Push(frame))) => self.pushed(frame),
                _ => return None,
            }
        }
        None
    }

    #[cold]
    fn pushed(&mut self, frame: Frame) {
        if let Some(listener) = &mut self.listener {
            listener(self.core.reply(frame, &self.buffers));
        }
    }

    pub(crate) fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Removes the listener.
    pub(crate) fn forget_listener(&mut self) {
        self.listener = None;
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn meter(&self) -> Meter {
        let meter = Meter {
            capacity_now: self.capacity() as u64,
            ..self.buffers.meter()
        };
        match &self.meter_before {
            Some(before) => meter.plus(before),
            None => meter,
        }
    }
}

/// State and sizes, never bytes.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("session", &self.session)
            .field("in_flight", &self.core.in_flight())
            .field("closed", &self.closed)
            .field("buffers", &self.buffers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
