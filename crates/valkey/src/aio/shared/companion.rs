//! A connection of its own for the subscriptions of a shared handle: with RESP2, whose connections have either commands or
//! subscriptions, or where the options say so.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::Message;

use super::inner::Inner;
use super::timer::Timer;
use crate::aio::{Connection, clock};
use crate::backoff::Pauses;
use crate::pubsub::{Asked, Conversation, Heard};
use crate::silence::{Seen, Silence, Verdict};
use crate::{Backoff, Config, Error};

/// The task of that connection. It connects when somebody subscribes for the first time.
pub(super) struct Companion {
    inner: Arc<Inner>,
    config: Config,
    unresponsive_timeout: Option<Duration>,
    pauses: Pauses,
}

/// A connection that is up.
struct Live {
    connection: Connection,
    conversation: Conversation,
    orders: Vec<Asked>,
    silence: Silence,
    timer: Timer,
}

impl Companion {
    pub(super) fn new(
        inner: Arc<Inner>,
        config: Config,
        unresponsive_timeout: Option<Duration>,
        backoff: Backoff,
    ) -> Self {
        Self {
            inner,
            config,
            unresponsive_timeout,
            pauses: Pauses::new(backoff),
        }
    }

    /// Runs until the handle is closed.
    pub(super) async fn run(mut self) {
        let mut is_first = true;
        loop {
            let inner = Arc::clone(&self.inner);
            let wanted = poll_fn(|context| {
                let subscriptions = &inner.subscriptions;
                subscriptions.poll_companion(context, |registry| registry.is_any())
            });
            if !wanted.await {
                return;
            }
            if !std::mem::take(&mut is_first) {
                let pause = self.pauses.next();
                if self.unless_over(tokio::time::sleep(pause)).await.is_none() {
                    return;
                }
            }
            let config = self.config.clone();
            let connected = self.unless_over(Connection::connect_with(&config)).await;
            let connection = match connected {
                None => return,
                Some(Ok(connection)) => connection,
                Some(Err(_)) => continue, // callers wait for as long as they like
            };
            self.inner
                .subscriptions
                .with(|registry, _| registry.connected());
            let mut live = Live {
                connection,
                conversation: Conversation::default(),
                orders: Vec::new(),
                silence: Silence::new(self.unresponsive_timeout),
                timer: Timer::default(),
            };
            let is_over = poll_fn(|context| self.poll_live(context, &mut live)).await;
            live.connection.shut_down();
            if is_over {
                return;
            }
            self.inner.subscriptions.with(|registry, _| registry.lost());
        }
    }

    /// `None` when it is over.
    async fn unless_over<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|context| {
            let subscriptions = &self.inner.subscriptions;
            match subscriptions.poll_companion(context, |_| false) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => work.as_mut().poll(context).map(Some),
            }
        })
        .await
    }

    /// Serves until the connection is lost, `false`, or it is over.
    fn poll_live(&mut self, context: &mut Context<'_>, live: &mut Live) -> Poll<bool> {
        loop {
            let subscriptions = &self.inner.subscriptions;
            let wanted = subscriptions.poll_companion(context, |registry| registry.has_orders());
            if wanted == Poll::Ready(false) {
                return Poll::Ready(true);
            }
            if live.order(&self.inner).is_err() {
                return Poll::Ready(false);
            }
            let is_lost = match live.poll_arrived(context) {
                Poll::Ready(Ok(arrived)) => self.take(arrived, live).is_err(),
                Poll::Ready(Err(_)) => true,
                Poll::Pending => {
                    let has_left = live.connection.link.buffers.output().is_empty();
                    if has_left && subscriptions.has_orders() {
                        continue;
                    }
                    if ready!(live.poll_silence(context)).is_err() {
                        return Poll::Ready(false);
                    }
                    continue;
                }
            };
            if is_lost {
                return Poll::Ready(false);
            }
        }
    }

    fn take(&mut self, arrived: Message, live: &mut Live) -> Result<(), Error> {
        let (frame, is_push) = match arrived {
            Message::Reply(frame) => (frame, false),
            Message::Push(frame) => (frame, true),
            _ => return Err(Error::closed("a string came in pieces")),
        };
        let link = &mut live.connection.link;
        let subscriptions = &self.inner.subscriptions;
        match live.conversation.hear(link.reply(frame), is_push) {
            Heard::Message => subscriptions
                .dispatch(&link.core, &mut link.buffers, frame)
                .map_err(Error::out_of_memory)?,
            Heard::Answered(asked, refused) => {
                self.pauses.reset();
                subscriptions.answered(&asked, refused.as_ref());
            }
            Heard::Unsubscribed(kind, name) => {
                subscriptions.with(|registry, _| registry.unsubscribed(kind, &name));
            }
            Heard::Nothing => {}
            Heard::Unexpected => return Err(Error::closed("a reply that nothing asked for")),
        }
        Ok(())
    }
}

impl Live {
    /// Queues what is to be asked for, behind what has left.
    fn order(&mut self, inner: &Inner) -> Result<(), Error> {
        let output = self.connection.link.buffers.output();
        if output.is_empty() {
            inner.subscriptions.take_orders(&mut self.orders);
            for asked in self.orders.drain(..) {
                let queued = self.conversation.ask(asked, output);
                queued.map_err(Error::out_of_memory)?;
            }
        }
        Ok(())
    }

    /// What comes next.
    fn poll_arrived(&mut self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        let Connection { link, stream, .. } = &mut self.connection;
        link.listen_for(self.conversation.len());
        let (core, buffers) = (&mut link.core, &mut link.buffers);
        let driven = ready!(net::poll_drive_duplex(context, core, buffers, stream, &()));
        Poll::Ready(driven.map_err(|error: DriveError<_>| error.into()))
    }

    /// Looks from time to time whether the server is there. Ready when something is to be sent.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if !self.silence.is_limited() {
            return Poll::Pending;
        }
        loop {
            let now = clock::now();
            let seen = Seen {
                bytes_read: self.connection.link.buffers.bytes_read(),
                bytes_written: 0,
                has_left: true,
            };
            if !self.silence.has_begun() {
                self.silence.look(now, seen);
            }
            if !self.timer.is_set() {
                self.timer.set(Some(now + self.silence.interval()));
            }
            if !self.timer.poll(context) {
                return Poll::Pending;
            }
            self.timer.set(None);
            match self.silence.look(now, seen) {
                Verdict::Responsive => {}
                Verdict::Probe => {
                    let output = self.connection.link.buffers.output();
                    let queued = self.conversation.ping(output);
                    return Poll::Ready(queued.map_err(Error::out_of_memory));
                }
                Verdict::Unresponsive => {
                    return Poll::Ready(Err(Error::unresponsive(self.silence.limit())));
                }
            }
        }
    }
}
