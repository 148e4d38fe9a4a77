//! A connection that is up, and what has left on it.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::ProtocolError;
use onecopy_wire::Meter;

use super::Progress;
use super::orders::Order;
use crate::Error;
use crate::aio::shared::parts::Shares;
use crate::aio::{Connection, clock};
use crate::pubsub::Asked;
use crate::silence::{Seen, Silence};

/// A connection that is up.
pub(super) struct Live {
    pub(super) connection: Connection,
    pub(super) shares: Shares,
    /// What had been written when it came up: the handshake.
    pub(super) before: u64,
    /// A failed write, kept back while the server's last words are read.
    pub(super) refused: Option<Error>,
    /// The next look at an idle connection's memory and at a busy one's silence; `None` once it was idle.
    pub(super) looks_at: Option<Instant>,
    pub(super) silence: Silence,
    /// Whether messages come over this connection.
    pub(super) serves_subscriptions: bool,
    /// Subscription commands to be written, and those without an answer.
    pub(super) orders: Vec<Asked>,
    pub(super) asked: VecDeque<Order>,
    /// Requests that were taken, and replies that have come.
    pub(super) taken: u64,
    pub(super) came: u64,
    /// Bytes that had been read when the connection became idle.
    idle_since: Option<u64>,
}

impl Live {
    pub(super) fn new(connection: Connection, unresponsive_timeout: Option<Duration>) -> Self {
        let before = connection.meter().bytes_written;
        Self {
            connection,
            shares: Shares::default(),
            before,
            refused: None,
            looks_at: None,
            silence: Silence::new(unresponsive_timeout),
            serves_subscriptions: false,
            orders: Vec::new(),
            asked: VecDeque::new(),
            taken: 0,
            came: 0,
            idle_since: None,
        }
    }

    pub(super) fn meter(&self) -> Meter {
        self.connection.meter()
    }

    /// Whether something has arrived that nobody has asked for: a push, or a reply to nothing.
    #[inline]
    pub(super) fn has_unasked(&self) -> bool {
        let link = &self.connection.link;
        link.core.in_flight() == 0 && !link.buffers.pending().is_empty()
    }

    /// Bytes of callers' commands that have left.
    pub(super) fn sent(&self) -> u64 {
        self.meter().bytes_written - self.before
    }

    /// It is busy from now on: it is looked at from time to time, until it is idle.
    #[cold]
    pub(super) fn begin_looks(&mut self) {
        self.idle_since = None;
        let now = clock::now();
        self.looks_at = Some(now + self.silence.interval());
        self.silence.look(now, self.seen(false));
    }

    /// It is idle but for the messages that may come: after half of the time that a server may be silent it is looked at.
    #[cold]
    pub(super) fn begin_idle_look(&mut self) {
        if self.silence.is_limited() {
            self.looks_at = clock::now().checked_add(self.silence.limit() / 2);
            self.idle_since = Some(self.meter().bytes_read);
        }
    }

    /// Whether that is the next look.
    #[inline]
    pub(super) fn is_in_idle_look(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Whether nothing has come since the idle look began, which ends here.
    pub(super) fn has_been_silent(&mut self) -> bool {
        self.idle_since.take() == Some(self.meter().bytes_read)
    }

    /// What there is to be seen of it, when its oldest request has left or not.
    pub(super) fn seen(&self, has_left: bool) -> Seen {
        let meter = self.meter();
        Seen {
            bytes_read: meter.bytes_read,
            bytes_written: meter.bytes_written,
            has_left,
        }
    }

    /// Writes until all is gone or the socket takes no more.
    pub(super) fn write(&mut self, context: &mut Context<'_>) -> Result<Progress, Error> {
        let Connection { link, stream, .. } = &mut self.connection;
        let before = link.buffers.output().sent();
        let flushed =
            net::poll_flush::<ProtocolError>(context, &mut link.buffers, stream, &self.shares);
        let progress = if link.buffers.output().sent() > before {
            Progress::Made
        } else {
            Progress::None
        };
        match flushed {
            Poll::Pending => return Ok(progress),
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.refuse(error)?,
        }
        self.shares.clear();
        Ok(progress)
    }

    /// The server takes nothing any more: what it said before may still be in flight.
    #[cold]
    fn refuse(&mut self, error: DriveError<ProtocolError>) -> Result<(), Error> {
        let is_gone = matches!(
            &error,
            DriveError::Write(error)
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
        );
        if !is_gone {
            return Err(error.into());
        }
        self.connection.link.buffers.output().clear();
        self.refused = Some(error.into());
        Ok(())
    }

    pub(super) fn shutdown(&mut self) {
        self.connection.shut_down();
    }
}
