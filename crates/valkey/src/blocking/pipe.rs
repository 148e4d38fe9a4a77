//! An unlimited stream of commands.

use onecopy_resp_proto::{Message, Reply};

use super::Connection;
use crate::Error;
use crate::command::Command;
use crate::observe::{BatchKind, Observed, Operations};
use crate::parts::Parts;

/// Bytes that are gathered before they leave: 256 KiB, what one write takes at the most.
const MAX_BYTES: usize = 256 << 10;

/// Commands without a reply, so many that a server is never idle. At a kibibyte a reply they are what socket buffers hold.
const MAX_REQUESTS: u64 = 8 << 10;

/// Commands between two looks at how much has gathered.
const LOOK_EVERY: u32 = 16;

/// Commands that are sent as they are pushed. Their replies are passed to a function of the caller, in order.
///
/// Commands are collected until a write is worthwhile, so only [`finish`](Self::finish) sends the last of them. If the pipe is
/// dropped without it, the commands collected since the last write are not sent, and the outstanding replies are discarded. If
/// that write was interrupted half way, the next call sends the rest of it; if the rest has arguments of 16 KiB and more, that
/// call finds the connection closed.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = Connection::connect("redis://:password@localhost")?;
/// let mut errors = 0;
/// let mut pipe = conn.pipe(|reply| errors += u64::from(reply.as_error().is_some()))?;
/// for number in 0..1_000_000 {
///     pipe.push(&string::set(format!("key:{number}"), "value"))?;
/// }
/// let replies = pipe.finish()?;
/// println!("{replies} replies, {errors} errors");
/// # Ok(()) }
/// ```
pub struct Pipe<'c, F> {
    conn: &'c mut Connection,
    parts: Parts<'static>,
    on_reply: F,
    looked: u32,
    answered: u64,
    observed: Observed,
}

impl<'c, F: FnMut(Reply<'_>)> Pipe<'c, F> {
    pub(super) fn new(conn: &'c mut Connection, on_reply: F) -> Self {
        let (kind, operations) = (BatchKind::Pipeline, Operations::none());
        let observed = Observed::batch(kind, &operations, || 0, || conn.server());
        Self {
            observed: observed.until_dropped(),
            conn,
            parts: Parts::new(),
            on_reply,
            looked: 0,
            answered: 0,
        }
    }

    /// Adds a command. Large arguments that own their bytes share them; large borrowed ones are copied.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if the connection does not accept the command: the pipe stays usable. Fails if the
    /// connection fails.
    #[inline]
    pub fn push<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        self.conn.link.queue_owned(command, &mut self.parts)?;
        self.looked += 1;
        if self.looked < LOOK_EVERY && self.parts.is_empty() {
            return Ok(());
        }
        self.looked = 0;
        let waiting = self.conn.link.buffers.output().len();
        if waiting < MAX_BYTES && self.conn.link.core.in_flight() < MAX_REQUESTS {
            return Ok(());
        }
        self.flush()?;
        while self.conn.link.core.in_flight() > MAX_REQUESTS / 2 {
            self.receive()?;
        }
        Ok(())
    }

    /// Sends the collected commands.
    ///
    /// # Errors
    /// Fails if the connection fails.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.conn.link.start_wait();
        while let Some(message) = self.observed.check(self.conn.flush(&self.parts))? {
            self.answer(message)?;
            self.conn.link.start_wait();
        }
        self.conn.link.all_left();
        self.parts.clear();
        Ok(())
    }

    /// Delivers the replies that have arrived, without waiting for more. Use it if commands are produced slowly.
    ///
    /// # Errors
    /// Fails if the connection fails.
    pub fn take_replies(&mut self) -> Result<(), Error> {
        self.conn.link.start_wait();
        while let Some(message) = self.conn.ready_message()? {
            self.answer(message)?;
        }
        Ok(())
    }

    /// Sends the remaining commands, waits for all outstanding replies, and returns the total number of replies.
    ///
    /// # Errors
    /// Fails if the connection fails.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.flush()?;
        while self.conn.link.core.awaited() > 0 {
            self.receive()?;
        }
        self.observed.count(self.answered);
        Ok(self.answered)
    }

    /// Returns the number of replies so far.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    fn receive(&mut self) -> Result<(), Error> {
        self.conn.link.start_wait();
        let received = self.conn.next_message(&self.parts);
        let message = self.observed.check(received)?;
        self.answer(message)
    }

    #[inline]
    fn answer(&mut self, message: Message) -> Result<(), Error> {
        let frame = self.conn.link.frame(message)?;
        (self.on_reply)(self.conn.link.reply(frame));
        self.answered += 1;
        Ok(())
    }
}

impl<F> std::fmt::Debug for Pipe<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipe")
            .field("conn", &self.conn)
            .field("answered", &self.answered)
            .finish_non_exhaustive()
    }
}
