//! A subscriber as one of several that are read by turns. It does not connect again by itself.

use std::time::{Duration, Instant};

use bytes::Bytes;
use onecopy_net::blocking as net;

use super::{Arrived, Connection, Subscriber, deadline_in};
use crate::Error;
use crate::blocking::Stream;
use crate::pubsub::{ChannelKind, Delivery, Next, OwnedMessage};

/// How long a socket may take for a command.
const FLUSH: Duration = Duration::from_secs(2);

impl Subscriber {
    /// Subscribes to sharded channels: to all of them or to none.
    ///
    /// # Errors
    /// As [`ssubscribe`](Self::ssubscribe).
    pub(in crate::blocking) fn join_all(&mut self, channels: &[Bytes]) -> Result<(), Error> {
        let before = self.feed.asked();
        let joined = self.join(ChannelKind::Shard, channels);
        if joined.is_err() {
            self.leave_later(channels)?;
            // One refusal is the error; those of the other channels are no news.
            while self.feed.refusal_behind(before).is_some() {}
        }
        joined
    }

    /// Ends subscriptions to sharded channels without waiting for the server. Their messages that were not read are dropped.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated.
    pub(in crate::blocking) fn leave_later(&mut self, channels: &[Bytes]) -> Result<(), Error> {
        let link = &mut self.connection.link;
        self.feed.leave(ChannelKind::Shard, channels, link)?;
        Ok(())
    }

    /// Drops sharded channels that the server has ended by itself, or will, and their messages.
    pub(in crate::blocking) fn forget(&mut self, channels: &[Bytes]) {
        self.feed.forget(ChannelKind::Shard, channels);
    }

    /// What comes next, if it has arrived; `None` if nothing has. Sends what is queued.
    ///
    /// # Errors
    /// Fails if the connection is lost: then it [is closed](crate::blocking::Connection::is_closed). Fails if the server refuses a
    /// subscription that it had accepted before: [`Error::channel`] says which one.
    pub(in crate::blocking) fn poll(&mut self) -> Result<Option<Delivery<OwnedMessage>>, Error> {
        // Of the last channel a refusal is news, too.
        while self.feed.subscriptions() > 0 || self.feed.has_refusal() {
            if let Some(next) = self.feed.ready()? {
                return self.own(&next).map(Some);
            }
            let Some(arrived) = self.arrived()? else {
                return Ok(None);
            };
            let taken = self.feed.take(arrived, &mut self.connection.link, false);
            let taken = taken.map_err(|error| self.connection.failed(error))?;
            if let Some(next) = taken {
                return self.own(&next).map(Some);
            }
        }
        Ok(None)
    }

    /// A message that has arrived, of any kind.
    fn arrived(&mut self) -> Result<Option<Arrived>, Error> {
        self.connection.link.listen_for(self.feed.answers());
        if let Some(arrived) = self.connection.link.listen_buffered()? {
            return Ok(Some(arrived));
        }
        let Connection { link, stream, .. } = &mut self.connection;
        if link.buffers.has_output() {
            // Some hundred bytes: a socket that does not take them has been taking nothing for long.
            let deadline = deadline_in(Some(FLUSH));
            let flushed =
                net::flush_duplex(&mut link.core, &mut link.buffers, stream, &(), deadline);
            match flushed {
                Ok(None) => {}
                Ok(arrived) => return Ok(arrived),
                Err(error) => return Err(self.connection.fail(error)),
            }
        }
        let driven = net::drive_ready(&mut link.core, &mut link.buffers, stream);
        driven.map_err(|error| self.connection.fail(error))
    }

    fn own(&mut self, next: &Next) -> Result<Delivery<OwnedMessage>, Error> {
        let link = &mut self.connection.link;
        if let Next::Frame(frame) = next {
            let message = OwnedMessage::detach(&link.core, &mut link.buffers, *frame, None);
            return message.map(Delivery::Message).map_err(Error::out_of_memory);
        }
        Ok(self.feed.take_stashed(next))
    }

    /// Asks whether the server is there, if it has been silent for long. Call it after reading what has come, again and again.
    ///
    /// # Errors
    /// The server has been silent for too long, and the connection is closed.
    pub(in crate::blocking) fn look(&mut self, now: Instant) -> Result<(), Error> {
        let link = &mut self.connection.link;
        let waited = self.feed.waited(None, None, now, link);
        waited.map_err(|error| self.connection.failed(error))?;
        Ok(())
    }

    /// What is waited for.
    pub(in crate::blocking) fn stream(&self) -> &Stream {
        &self.connection.stream
    }
}
