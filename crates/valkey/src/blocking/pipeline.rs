//! Commands that leave together, and their replies in order.

use onecopy_resp_proto::{Frame, OwnedReply, Reply};

use super::Connection;
use crate::Error;
use crate::command::Command;
use crate::parts::Parts;

/// Commands that are queued, and leave when the first reply is asked for.
///
/// Any number may be queued: replies are read while commands are written. What is queued is held in memory until it has left;
/// for millions of commands there is [`pipe`](Connection::pipe). Dropped before any reply was asked for, nothing was sent.
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
    queued: u64,
}

impl<'c, 'a> Pipeline<'c, 'a> {
    pub(super) fn new(conn: &'c mut Connection) -> Self {
        Self {
            conn,
            parts: Parts::new(),
            queued: 0,
        }
    }

    /// Queues a command that may be gone afterwards. Large arguments that own their bytes share them; those that are borrowed are
    /// copied.
    ///
    /// # Errors
    /// Memory that could not be had, or a command that the connection does not take; the others stay queued.
    #[inline]
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.conn.link.queue_owned(command, &mut self.parts)?;
        self.queued += 1;
        Ok(self)
    }

    /// Queues a command that outlives the pipeline: arguments of 16 KiB and more are sent without a copy.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    #[inline]
    pub fn push_borrowed<C: Command>(&mut self, command: &'a C) -> Result<&mut Self, Error> {
        self.conn.link.queue(command, &mut self.parts)?;
        self.queued += 1;
        Ok(self)
    }

    /// Commands that are queued.
    pub fn len(&self) -> u64 {
        self.queued
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// The replies, in order. Everything leaves with the first that is asked for.
    pub fn replies(self) -> Replies<'c, 'a> {
        Replies {
            conn: self.conn,
            parts: self.parts,
            left: self.queued,
        }
    }
}

/// A pipeline's replies.
///
/// They may be dropped before their end: those that are left are passed over when they come. Only where commands with borrowed
/// arguments of 16 KiB and more have left in part, the next call finds the connection closed.
#[derive(Debug)]
pub struct Replies<'c, 'a> {
    conn: &'c mut Connection,
    parts: Parts<'a>,
    left: u64,
}

impl Replies<'_, '_> {
    /// The next command's output, which the caller names; borrowed until the next call. `None` behind the last.
    ///
    /// # Errors
    /// The server's error or a reply that is not what the command's output is made of: the next replies come all the same.
    /// After a failure of the connection none comes any more.
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

    /// The next reply as it is, an error of the server's too.
    ///
    /// # Errors
    /// A failure of the connection.
    #[inline]
    pub fn next_reply(&mut self) -> Result<Option<Reply<'_>>, Error> {
        let frame = self.receive()?;
        Ok(frame.map(|frame| self.conn.link.reply(frame)))
    }

    /// The next reply as one that is the caller's own.
    ///
    /// # Errors
    /// As [`next`](Self::next); memory that could not be had.
    pub fn next_owned(&mut self) -> Result<Option<OwnedReply>, Error> {
        match self.receive()? {
            Some(frame) => self.conn.link.owned(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Replies that are left.
    pub fn len(&self) -> u64 {
        self.left
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// The next reply where it has come already: told by a register, where a result that may be an error lies in memory.
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

    /// Sends what has not left, and waits for the next reply. The time allowed begins here.
    fn wait(&mut self) -> Result<Option<Frame>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.conn.link.start_wait();
        let frame = self.conn.receive(&self.parts)?;
        self.left -= 1;
        Ok(Some(frame))
    }
}
