//! A connection that is up, and what has left on it.

use std::io::ErrorKind;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::ProtocolError;
use onecopy_wire::Meter;

use super::Progress;
use crate::Error;
use crate::aio::shared::parts::Shares;
use crate::aio::shared::silence::{Seen, Silence};
use crate::aio::{Connection, clock};

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
        let now = clock::now();
        self.looks_at = Some(now + self.silence.interval());
        self.silence.look(now, self.seen(false));
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
