//! Commands that are sent together, and their replies in order.

use onecopy_resp_proto::{Frame, OwnedReply, Reply};

use super::Connection;
use crate::command::Command;
use crate::observe::{BatchKind, Observed, Operations};
use crate::parts::Parts;
use crate::script::Sent;
use crate::{Error, ScriptCall};

/// A queue of commands that are sent when the first reply is read.
///
/// Any number of commands may be queued: replies are read while commands are written. The queue is held in memory until it has
/// been sent; for millions of commands use [`pipe`](Connection::pipe). If the pipeline is dropped before the first reply is read,
/// nothing is sent.
///
/// ```no_run
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = onecopy_valkey::blocking::Connection::connect("redis://localhost")?;
/// let mut pipeline = conn.pipeline()?;
/// pipeline.push(&string::set("greeting", "hello"))?.push(&string::incr("visits"))?;
/// let mut replies = pipeline.replies();
/// replies.next::<string::Set>()?;
/// let visits: Option<i64> = replies.next::<string::Incr>()?;
/// # let _ = visits; Ok(()) }
/// ```
#[derive(Debug)]
pub struct Pipeline<'c, 'a> {
    conn: &'c mut Connection,
    parts: Parts<'a>,
    scripts: Sent,
    queued: u64,
    operations: Operations,
}

impl<'c, 'a> Pipeline<'c, 'a> {
    pub(super) fn new(conn: &'c mut Connection) -> Self {
        Self {
            conn,
            parts: Parts::new(),
            scripts: Sent::none(),
            queued: 0,
            operations: Operations::none(),
        }
    }

    /// Queues a command that need not outlive the call. Large arguments that own their bytes share them; large borrowed ones are
    /// copied.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if the connection does not accept the command. The other commands stay queued.
    #[inline]
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.conn.link.queue_owned(command, &mut self.parts)?;
        self.queued += 1;
        self.operations.add(command);
        Ok(self)
    }

    /// Queues a command that outlives the pipeline. Its arguments of 16 KiB and more are sent without a copy.
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    #[inline]
    pub fn push_borrowed<C: Command>(&mut self, command: &'a C) -> Result<&mut Self, Error> {
        self.conn.link.queue(command, &mut self.parts)?;
        self.queued += 1;
        self.operations.add(command);
        Ok(self)
    }

    /// Queues a call of a script, which need not outlive the call. The first call of each script in the pipeline is sent with the
    /// code of the script, further ones with its digest. Only if another client empties the server's script cache in the middle of
    /// the pipeline, further calls fail, with [`Error::is_no_script`]. Read the reply as one of a [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        if self.scripts.is_first(call) {
            self.push(&call.with_code())?;
            self.scripts.add(call);
            return Ok(self);
        }
        self.push(call)
    }

    /// Returns the number of queued commands.
    pub fn len(&self) -> u64 {
        self.queued
    }

    /// Returns whether no command is queued.
    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Returns the replies, in order. All commands are sent when the first reply is read.
    pub fn replies(self) -> Replies<'c, 'a> {
        let (kind, commands) = (BatchKind::Pipeline, || self.queued);
        let observed = Observed::batch(kind, &self.operations, commands, || self.conn.server());
        Replies {
            observed: observed.until_dropped(),
            conn: self.conn,
            parts: self.parts,
            left: self.queued,
        }
    }
}

/// The replies of a pipeline.
///
/// They may be dropped before the last one is read: the rest is discarded as it arrives. In one case the next call finds the
/// connection closed: commands with arguments of 16 KiB and more, which are sent by reference, were only partly sent.
#[derive(Debug)]
pub struct Replies<'c, 'a> {
    conn: &'c mut Connection,
    parts: Parts<'a>,
    left: u64,
    observed: Observed,
}

impl Replies<'_, '_> {
    /// Returns the output of the next command, whose type `C` the caller names. It is borrowed until the next call. Returns
    /// `None` after the last one.
    ///
    /// # Errors
    /// Fails with the server's error, or if the reply does not have the type of the command's output; later replies are not
    /// affected. After a failure of the connection there are no more replies.
    #[inline]
    #[allow(clippy::should_implement_trait)] // what it gives is borrowed
    pub fn next<C: Command>(&mut self) -> Result<Option<C::Output<'_>>, Error> {
        let frame = match self.buffered() {
            Some(frame) => Some(frame),
            None => self.wait()?,
        };
        match frame {
            Some(frame) => self.conn.link.output::<C>(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the next reply unchanged, including server errors.
    ///
    /// # Errors
    /// Fails if the connection fails.
    #[inline]
    pub fn next_reply(&mut self) -> Result<Option<Reply<'_>>, Error> {
        let frame = self.receive()?;
        Ok(frame.map(|frame| self.conn.link.reply(frame)))
    }

    /// Returns the next reply as an owned one.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next), or if memory cannot be allocated.
    pub fn next_owned(&mut self) -> Result<Option<OwnedReply>, Error> {
        match self.receive()? {
            Some(frame) => self.conn.link.owned(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the number of replies left.
    pub fn len(&self) -> u64 {
        self.left
    }

    /// Returns whether no reply is left.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Returns the next reply if it has already arrived. `Option<Frame>` is returned in a register; a `Result` would be returned
    /// in memory.
    #[inline]
    fn buffered(&mut self) -> Option<Frame> {
        if self.left == 0 {
            return None;
        }
        let frame = self.conn.link.buffered()?;
        self.left -= 1;
        Some(frame)
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Frame>, Error> {
        match self.buffered() {
            Some(frame) => Ok(Some(frame)),
            None => self.wait(),
        }
    }

    /// Sends what is still queued, and waits for the next reply. The timeout starts here.
    fn wait(&mut self) -> Result<Option<Frame>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.conn.link.start_wait();
        let received = self.conn.receive(&self.parts);
        let frame = self.observed.check(received)?;
        self.left -= 1;
        Ok(Some(frame))
    }
}
