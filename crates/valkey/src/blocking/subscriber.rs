//! A connection for subscriptions.

mod part;

use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use onecopy_net::{DriveError, blocking as net};
use onecopy_resp_proto::{Message as Arrived, Protocol};
use onecopy_wire::Meter;

use super::{Connection, Stream};
use crate::link::deadline_in;
use crate::pubsub::{
    ChannelKind, Delivery, Feed, Message, Next, SubscriberOptions, Waited, confirmed_by, names,
};
use crate::{Args, Config, Error};

/// Subscriptions on a connection of their own, with RESP2 or RESP3. Messages are borrowed from the read buffer: they are not
/// copied at all.
///
/// [`next`](Self::next) reconnects when the connection is lost, subscribes to everything again, and then returns a
/// [`Gap`](crate::pubsub::Gap). While it waits it sends a PING after half of [`Config::unresponsive_timeout`] without a byte, and
/// takes the connection as lost after the whole of it.
///
/// Nothing is queued here: messages that nobody reads stay in the sockets' buffers and in the server's, which closes the
/// connection at its `client-output-buffer-limit pubsub`. That is a gap like any other.
///
/// ```no_run
/// use onecopy_valkey::blocking::Subscriber;
/// use onecopy_valkey::pubsub::Delivery;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut subscriber = Subscriber::connect("redis://localhost")?;
/// subscriber.subscribe(["news", "weather"])?;
/// subscriber.psubscribe("room:*")?;
/// loop {
///     match subscriber.next()? {
///         Delivery::Message(message) => println!("{:?}: {:?}", message.channel(), message.as_str()),
///         Delivery::Gap(gap) => println!("messages may be missing: {gap}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Subscriber {
    connection: Connection,
    feed: Feed,
}

impl Subscriber {
    /// Connects to the server of a URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// Fails like [`Connection::connect`].
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?, &SubscriberOptions::default())
    }

    /// Connects.
    ///
    /// # Errors
    /// Fails like [`Connection::connect_with`].
    pub fn connect_with(config: &Config, options: &SubscriberOptions) -> Result<Self, Error> {
        Ok(Self {
            connection: Connection::connect_with(config)?,
            feed: Feed::new(config, options),
        })
    }

    /// Performs the handshake over the caller's stream. Such a subscriber cannot reconnect: when its connection is lost,
    /// [`next`](Self::next) fails.
    ///
    /// # Errors
    /// Fails like [`Connection::from_stream`].
    pub fn from_stream(
        config: &Config,
        options: &SubscriberOptions,
        stream: Stream,
    ) -> Result<Self, Error> {
        Ok(Self {
            connection: Connection::from_stream(config, stream)?,
            feed: Feed::new(config, options),
        })
    }

    /// Subscribes to channels, and waits until the server has confirmed that, for at most [`Config::command_timeout`]. Messages
    /// that arrive meanwhile are kept for [`next`](Self::next), within the limits of [`SubscriberOptions`].
    ///
    /// # Errors
    /// Fails with the server's error if it refuses a channel: [`Error::channel`] says which one; the others are subscribed to.
    /// Fails if the connection fails or the timeout passes: then none of them is.
    pub fn subscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.join(ChannelKind::Channel, &channels)
    }

    /// Subscribes to all channels that match one of these glob patterns, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    pub fn psubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) -> Result<(), Error> {
        let patterns = names(patterns);
        self.join(ChannelKind::Pattern, &patterns)
    }

    /// Subscribes to sharded channels, like [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// Fails like [`subscribe`](Self::subscribe).
    pub fn ssubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.join(ChannelKind::Shard, &channels)
    }

    /// Ends subscriptions to channels. Their messages that were not read yet are dropped.
    ///
    /// # Errors
    /// Fails if the connection fails or the timeout passes; nothing is delivered for these channels any more.
    pub fn unsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.leave(ChannelKind::Channel, &channels)
    }

    /// Ends subscriptions to patterns, like [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// Fails like [`unsubscribe`](Self::unsubscribe).
    pub fn punsubscribe<'n>(&mut self, patterns: impl Into<Args<'n>>) -> Result<(), Error> {
        let patterns = names(patterns);
        self.leave(ChannelKind::Pattern, &patterns)
    }

    /// Ends subscriptions to sharded channels, like [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// Fails like [`unsubscribe`](Self::unsubscribe).
    pub fn sunsubscribe<'n>(&mut self, channels: impl Into<Args<'n>>) -> Result<(), Error> {
        let channels = names(channels);
        self.leave(ChannelKind::Shard, &channels)
    }

    /// Waits for the next message, or for the news that some are missing. The message is borrowed until the next call.
    ///
    /// # Errors
    /// Fails if nothing is subscribed to. After a loss it fails if the server refuses a subscription that it had accepted before
    /// (the others stay), if it cannot be connected to for a reason that no retry can mend, or after
    /// [`SubscriberOptions::max_attempts`]. In all of these cases it may be called again.
    #[allow(clippy::should_implement_trait)] // what it returns is borrowed
    pub fn next(&mut self) -> Result<Delivery<Message<'_>>, Error> {
        match self.advance(None)? {
            Some(next) => Ok(self.feed.view(&next, &self.connection.link)),
            None => Err(Error::closed("a wait without a limit has ended")),
        }
    }

    /// Waits like [`next`](Self::next), for at most `timeout`. Returns `None` if nothing has come by then. An attempt to connect
    /// that has begun is not cut short.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn next_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Delivery<Message<'_>>>, Error> {
        let next = self.advance(deadline_in(Some(timeout)))?;
        Ok(next.map(|next| self.feed.view(&next, &self.connection.link)))
    }

    /// Returns the number of channels and patterns that are subscribed to.
    pub fn subscriptions(&self) -> usize {
        self.feed.subscriptions()
    }

    /// Returns whether there is a connection, as far as is known.
    pub fn is_connected(&self) -> bool {
        !self.connection.is_closed()
    }

    /// Returns why the connection was lost last, or why it could not be made again.
    pub fn last_error(&self) -> Option<&Error> {
        self.feed.last_error()
    }

    /// Returns the protocol version that the handshake agreed on.
    pub fn protocol(&self) -> Protocol {
        self.connection.protocol()
    }

    /// Returns the copy counters of the connection and of those that it replaced.
    pub fn meter(&self) -> Meter {
        self.connection.meter()
    }

    /// Closes the connection. Dropping it does the same.
    pub fn close(self) {
        self.connection.close();
    }

    fn join(&mut self, kind: ChannelKind, names: &[Bytes]) -> Result<(), Error> {
        if self.connection.is_closed() {
            self.connection.reconnect()?;
            self.feed.connected(&mut self.connection.link)?;
        }
        let before = self.feed.asked();
        let joined = self.feed.join(kind, names, &mut self.connection.link);
        let confirmed = joined.and_then(|until| self.settle(until));
        if confirmed.is_err() {
            self.feed.forget(kind, names);
        }
        confirmed?;
        self.feed.refusal_behind(before).map_or(Ok(()), Err)
    }

    fn leave(&mut self, kind: ChannelKind, names: &[Bytes]) -> Result<(), Error> {
        let before = self.feed.asked();
        let until = self.feed.leave(kind, names, &mut self.connection.link)?;
        self.settle(until)?;
        self.feed.refusal_behind(before).map_or(Ok(()), Err)
    }

    /// Waits until the answer of this number has come, and stashes messages.
    fn settle(&mut self, until: u64) -> Result<(), Error> {
        let timeout = self.connection.link.command_timeout();
        let deadline = confirmed_by(timeout, Instant::now());
        while !self.feed.is_answered(until) && !self.connection.is_closed() {
            let taken = match self.hear(deadline)? {
                Some(arrived) => self.feed.take(arrived, &mut self.connection.link, true),
                None => Err(DriveError::Timeout.into()),
            };
            taken.map_err(|error| self.connection.failed(error))?;
        }
        Ok(())
    }

    fn advance(&mut self, deadline: Option<Instant>) -> Result<Option<Next>, Error> {
        loop {
            if let Some(next) = self.feed.ready()? {
                return Ok(Some(next));
            }
            if self.connection.is_closed() {
                if self.connection.is_given() {
                    self.connection.begin()?; // fails, and says why
                }
                if self.reconnect(deadline)? == Waited::Over {
                    return Ok(None);
                }
                continue;
            }
            let taken = match self.hear(deadline) {
                Ok(None) => return Ok(None),
                Ok(Some(arrived)) => self.feed.take(arrived, &mut self.connection.link, false),
                Err(error) => Err(error),
            };
            match taken.map_err(|error| self.connection.failed(error)) {
                Ok(Some(next)) => return Ok(Some(next)),
                Ok(None) => {}
                Err(error) if self.connection.is_closed() && !self.connection.is_given() => {
                    self.feed.lost(error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for whatever comes next; `None` where nothing has by then.
    fn hear(&mut self, deadline: Option<Instant>) -> Result<Option<Arrived>, Error> {
        let Connection { link, stream, .. } = &mut self.connection;
        link.listen_for(self.feed.answers());
        if let Some(arrived) = link.listen_buffered()? {
            return Ok(Some(arrived));
        }
        loop {
            let until = self.feed.wait_until(deadline, Instant::now(), link);
            let (core, buffers) = (&mut link.core, &mut link.buffers);
            let driven = if buffers.has_output() {
                net::drive_duplex(core, buffers, stream, &(), until)
            } else {
                net::drive(core, buffers, stream, &(), until)
            };
            match driven {
                Ok(arrived) => return Ok(Some(arrived)),
                Err(DriveError::Timeout) => {}
                Err(error) => return Err(self.connection.fail(error)),
            }
            if self.feed.waited(until, deadline, Instant::now(), link)? == Waited::Over {
                return Ok(None);
            }
            link.listen_for(self.feed.answers());
        }
    }

    /// Connects again, when its time has come. `Over`: the caller's time is over before.
    fn reconnect(&mut self, deadline: Option<Instant>) -> Result<Waited, Error> {
        let now = Instant::now();
        let retry_at = self.feed.retry_at(now);
        let until = deadline.map_or(retry_at, |deadline| deadline.min(retry_at));
        sleep(until.saturating_duration_since(now));
        if until < retry_at {
            return Ok(Waited::Over);
        }
        match self.connection.reconnect() {
            Ok(()) => self.feed.connected(&mut self.connection.link)?,
            Err(error) => self.feed.attempt_failed(error)?,
        }
        Ok(Waited::Again)
    }
}
