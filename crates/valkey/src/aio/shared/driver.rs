//! The task that owns the connection: it reads and writes at the same time, and makes a new connection when one is lost.

mod live;
mod orders;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::{Frame, Message, Protocol, ProtocolError};
use onecopy_wire::{Core, Meter, Step, WireError};

use super::Event;
use super::companion::Companion;
use super::failure::Failure;
use super::inner::Inner;
use super::options::{Listener, SharedOptions};
use super::queue::{Came, Queue};
use super::timer::Timer;
use super::tracker::{Tracker, connect};
use crate::aio::{Connection, clock};
use crate::backoff::Pauses;
use crate::silence::Verdict;
use crate::{Backoff, Config, Error};
use live::Live;
use orders::{Order, Pushed, is_answered};

/// Responses that are handed out at once: so many wait at most while others are read.
const BATCH: usize = 64;

/// Everything behind the handles.
pub(super) struct Driver {
    inner: Arc<Inner>,
    config: Config,
    listener: Option<Listener>,
    /// Who hears which keys change.
    tracker: Option<Arc<dyn Tracker>>,
    /// Whether subscriptions go over a connection of their own.
    has_companion: bool,
    /// Bytes from which on a reply is large.
    large_reply: usize,
    /// How long a server may send nothing while it owes a reply.
    unresponsive_timeout: Option<Duration>,
    backoff: Backoff,
    /// Whether a connection that is lost is made again.
    reconnects: bool,
    pauses: Pauses,
    timer: Timer,
    replies: Vec<Came>,
    wakers: Vec<Waker>,
}

/// How a connection ended.
enum End {
    /// Nobody needs it any more.
    Over,
    Lost(Error),
}

/// Whether there is something to be done at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Made,
    None,
}

impl Driver {
    pub(super) fn new(inner: Arc<Inner>, config: Config, options: SharedOptions) -> Self {
        let unresponsive_timeout = options.unresponsive_timeout(&config);
        if options.own_subscription_connection {
            start_companion(&inner, &config, unresponsive_timeout, options.backoff);
        }
        Self {
            inner,
            config,
            listener: options.listener,
            tracker: options.tracker,
            has_companion: options.own_subscription_connection,
            large_reply: options.large_reply,
            unresponsive_timeout,
            backoff: options.backoff,
            reconnects: options.reconnects,
            pauses: Pauses::new(options.backoff),
            timer: Timer::default(),
            replies: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// Runs until no handle is left, or it is closed and all is finished.
    pub(super) async fn run(mut self, connection: Connection) {
        let mut live = self.connected(connection);
        loop {
            let lost = match poll_fn(|context| self.poll_live(context, &mut live)).await {
                End::Over => break,
                End::Lost(error) => error,
            };
            live.shutdown();
            self.lose_track();
            // What had arrived completely is answered all the same. What left in the round that found the connection lost may have
            // been executed too: it must not be sent again.
            let replies = &mut self.replies;
            let sent = live.sent();
            let unexpected = live.connection.unexpected_replies();
            self.inner.with(|queue| {
                queue.deliver(replies);
                queue.count_unexpected(unexpected);
                queue.lost(lost, sent, clock::now());
            });
            if live.serves_subscriptions {
                self.inner.subscriptions.with(|registry, _| registry.lost());
            }
            if !self.reconnects {
                break;
            }
            let Some(connection) = self.reconnect().await else {
                break;
            };
            live = self.connected(connection);
            self.inner.with(Queue::connected);
            if let Some(listener) = &mut self.listener {
                listener(Event::Gap);
            }
        }
        live.shutdown();
    }

    /// A connection that is new.
    fn connected(&mut self, connection: Connection) -> Live {
        self.inner.system.learn(connection.session());
        let mut live = Live::new(connection, self.unresponsive_timeout);
        if !self.has_companion && live.connection.protocol() == Protocol::Resp2 {
            self.has_companion = true;
            let Self {
                inner,
                config,
                unresponsive_timeout,
                backoff,
                ..
            } = self;
            start_companion(inner, config, *unresponsive_timeout, *backoff);
        }
        live.serves_subscriptions = !self.has_companion;
        if live.serves_subscriptions {
            let subscriptions = &self.inner.subscriptions;
            subscriptions.with(|registry, _| registry.connected());
        }
        live
    }

    /// Everything that can be done at once on a connection.
    fn poll_live(&mut self, context: &mut Context<'_>, live: &mut Live) -> Poll<End> {
        loop {
            // It must not be taken for the answer to what is taken next.
            if live.has_unasked()
                && let Err(error) = self.read(context, live)
            {
                return Poll::Ready(End::Lost(live.refused.take().unwrap_or(error)));
            }
            match self.exchange(context.waker(), live) {
                Ok(false) => {}
                Ok(true) => return Poll::Ready(End::Over),
                Err(failure) => return Poll::Ready(End::Lost(failure.into())),
            }
            let rang = self.timer.poll(context);
            let moved = match self.move_bytes(context, live) {
                // Somebody may have subscribed since the exchange.
                Ok(Progress::None) if !rang && self.can_order(live) => Ok(()),
                Ok(Progress::None) if !rang => return Poll::Pending,
                // Behind the read: what has arrived must not be taken for silence.
                Ok(_) if rang => self.look(live),
                moved => moved.map(drop),
            };
            if let Err(error) = moved {
                return Poll::Ready(End::Lost(live.refused.take().unwrap_or(error)));
            }
        }
    }

    /// Whether the server may have something to say that nobody asks for.
    fn is_listening(&self, live: &Live) -> bool {
        self.tracker.is_some() || live.serves_subscriptions && self.inner.subscriptions.is_any()
    }

    /// Whether subscription commands can be written.
    fn can_order(&self, live: &mut Live) -> bool {
        live.serves_subscriptions
            && self.inner.subscriptions.has_orders()
            && !live.connection.link.buffers.has_output()
            && live.refused.is_none()
    }

    /// Hands out what has arrived and takes what is to be sent, under one lock. Whether it is over.
    fn exchange(&mut self, waker: &Waker, live: &mut Live) -> Result<bool, Failure> {
        if !self.replies.is_empty() {
            self.pauses.reset();
        }
        if self.can_order(live) {
            self.inner.subscriptions.take_orders(&mut live.orders);
        }
        let replies = &mut self.replies;
        let meter = live.meter();
        let sent = meter.bytes_written - live.before;
        let (orders, asked, taken) = (&mut live.orders, &mut live.asked, &mut live.taken);
        let link = &mut live.connection.link;
        // Where the server has closed its side nothing is taken: it can be sent on the next connection.
        let is_taking = !link.buffers.has_output() && live.refused.is_none();
        let shares = &mut live.shares;
        let looked: Result<_, Failure> = self.inner.drive(&mut self.wakers, |queue| {
            queue.deliver(replies);
            queue.note_sent(sent);
            if is_taking {
                // TLS may hold bytes of them still: those are its own.
                shares.clear();
                for order in orders.drain(..) {
                    let number = queue.order(&order)?;
                    asked.push_back(Order::new(*taken + number, order));
                }
                let requests = queue.take(link.buffers.output(), shares.list());
                link.core.expect(requests);
                *taken += requests;
            }
            // The two queues may have been swapped: what callers have copied is counted in the other one then.
            let bytes_copied_to_output = link.buffers.output().copied();
            queue.note(Meter {
                bytes_copied_to_output,
                ..meter
            });
            queue.attend(waker, link.buffers.has_output());
            let next = queue.expire(clock::now);
            let is_forsaken = queue.is_first_forsaken();
            Ok((queue.is_over(), queue.is_idle(), is_forsaken, next))
        });
        let (is_over, is_idle, is_forsaken, next) = looked?;
        if is_forsaken {
            // However large it is, it takes no memory.
            live.connection.link.core.abandon_first();
        }
        if live.looks_at.is_none() || !is_idle && live.is_in_idle_look() {
            if !is_idle {
                live.begin_looks();
            } else if self.is_listening(live) {
                live.begin_idle_look();
            }
        }
        let next = [next, live.looks_at].into_iter().flatten().min();
        self.timer.set(next);
        Ok(is_over)
    }

    /// When its time has come, gives back what a burst or a large reply has needed, all of it where nothing is outstanding:
    /// not at once, for a connection under load is idle between any two batches. Where something is, the server has to send.
    #[cold]
    fn look(&mut self, live: &mut Live) -> Result<(), Error> {
        let now = clock::now();
        if live.looks_at.is_none_or(|looks_at| looks_at > now) {
            return Ok(());
        }
        let sent = live.sent();
        let (is_idle, has_left) = self.inner.with(|queue| {
            let is_idle = queue.is_idle();
            if is_idle {
                queue.shrink();
            }
            (is_idle, queue.has_first_left(sent))
        });
        live.looks_at = (!is_idle).then(|| now + live.silence.interval());
        if is_idle {
            self.replies = Vec::new();
            live.silence.end();
        }
        live.connection.link.trim(is_idle);
        if is_idle {
            // A server that only has to send messages, and sends nothing, is asked whether it is there.
            if live.has_been_silent() {
                self.inner.with(|queue| queue.probe(sent));
            }
            return Ok(());
        }
        match live.silence.look(now, live.seen(has_left)) {
            Verdict::Responsive => Ok(()),
            Verdict::Probe => {
                self.inner.with(|queue| queue.probe(sent));
                Ok(())
            }
            Verdict::Unresponsive => {
                let silence = self.unresponsive_timeout.unwrap_or_default();
                Err(Error::unresponsive(silence))
            }
        }
    }

    /// Writes what the socket takes and reads what has arrived, each without waiting for the other.
    fn move_bytes(
        &mut self,
        context: &mut Context<'_>,
        live: &mut Live,
    ) -> Result<Progress, Error> {
        let wrote = live.write(context)?;
        let read = self.read(context, live)?;
        Ok(if wrote == Progress::Made || read == Progress::Made {
            Progress::Made
        } else {
            Progress::None
        })
    }

    /// Reads once at most, when all that has arrived before is taken up.
    fn read(&mut self, context: &mut Context<'_>, live: &mut Live) -> Result<Progress, Error> {
        let mut has_read = false;
        loop {
            // One, and two that are passed over.
            if self.replies.capacity() - self.replies.len() < 3 {
                self.make_room()?;
            }
            let Connection { link, stream, .. } = &mut live.connection;
            let outstanding = link.core.in_flight();
            let step = match link.core.advance(&mut link.buffers) {
                Ok(step) => step,
                Err(error) => return Err(DriveError::Core(error).into()),
            };
            let came = outstanding - link.core.in_flight();
            let is_reply = matches!(step, Step::Message(Message::Reply(_)));
            live.came += came;
            if came > u64::from(is_reply) {
                self.replies.push(None);
            }
            match step {
                Step::Message(Message::Reply(frame)) if is_answered(&live.asked, live.came) => {
                    self.inner.hear_reply(live, frame, &mut self.replies)?;
                }
                Step::Message(Message::Reply(frame)) => {
                    let reply = link.core.detach(frame, &mut link.buffers);
                    self.replies.push(Some(reply));
                    if self.replies.len() >= BATCH {
                        return Ok(Progress::Made);
                    }
                }
                Step::Message(Message::Push(frame)) if live.serves_subscriptions => {
                    match self.inner.hear(live, frame)? {
                        Pushed::Confirmed => self.replies.push(None),
                        Pushed::Taken => {}
                        Pushed::Other => self.listen(live, frame),
                    }
                }
                Step::Message(Message::Push(frame)) => self.listen(live, frame),
                Step::NeedInput(_) if has_read => return Ok(Progress::Made),
                Step::NeedInput(_) => {
                    let begun = link.buffers.pending().len() + link.buffers.home_missing();
                    // Before one that has not come whole are those that wait to be handed out.
                    if begun >= self.large_reply && self.replies.is_empty() {
                        self.inner.with(Queue::announce_large);
                    }
                    match net::poll_read::<ProtocolError>(context, &mut link.buffers, stream) {
                        Poll::Pending if self.replies.is_empty() => return Ok(Progress::None),
                        Poll::Pending => return Ok(Progress::Made),
                        Poll::Ready(read) => {
                            if read.map_err(|error| link.placed(error))? == 0 {
                                let eof = link.core.handle_eof(&mut link.buffers);
                                return Err(DriveError::Core(eof).into());
                            }
                            has_read = true;
                        }
                    }
                }
                _ => return Err(Error::closed("the core returned an unsolicited reply")),
            }
        }
    }

    fn listen(&mut self, live: &Live, frame: Frame) {
        if let Some(tracker) = &self.tracker
            && tracker.pushed(live.connection.link.reply(frame))
        {
            return;
        }
        if let Some(listener) = &mut self.listener {
            listener(Event::Push(live.connection.link.reply(frame)));
        }
    }

    /// Nobody hears of changes any more.
    fn lose_track(&self) {
        if let Some(tracker) = &self.tracker {
            tracker.lost();
        }
    }

    /// Room for a batch of replies, and those that are passed over.
    #[cold]
    fn make_room(&mut self) -> Result<(), Error> {
        self.replies.try_reserve_exact(3 + BATCH).map_err(|_| {
            let bytes = (BATCH * size_of::<Came>()) as u64;
            Error::out_of_memory(WireError::OutOfMemory { bytes })
        })
    }

    /// A new connection, by one attempt at a time. `None` when it is over.
    async fn reconnect(&mut self) -> Option<Connection> {
        loop {
            // A handle that nobody uses does not knock forever.
            let is_parked = self.pauses.is_longest();
            let mut next = clock::now() + self.pauses.next();
            if is_parked {
                let inner = Arc::clone(&self.inner);
                let is_subscribed = !self.has_companion;
                let wanted = poll_fn(|_| {
                    let is_subscribed = is_subscribed && inner.subscriptions.is_any();
                    match inner.with(Queue::is_wanted) || is_subscribed {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                });
                self.while_offline(wanted).await?;
                // Others may have begun to need it at the same moment.
                next = next.max(clock::now() + self.pauses.shortest());
            }
            let pause = tokio::time::sleep_until(next.into());
            self.while_offline(pause).await?;
            let (config, tracker) = (self.config.clone(), self.tracker.clone());
            match self
                .while_offline(connect(&config, tracker.as_ref()))
                .await?
            {
                Ok(connection) => return Some(connection),
                Err(error) => self.inner.with(|queue| queue.still_offline(error)),
            }
        }
    }

    /// Does `work` while those who wait for a connection are told when they have waited for too long. `None` when it is over.
    async fn while_offline<F: Future>(&mut self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|context| {
            loop {
                let timer = &mut self.timer;
                let is_over = self.inner.with(|queue| {
                    queue.attend(context.waker(), false);
                    timer.set(queue.expire(clock::now));
                    queue.is_over()
                });
                if is_over {
                    return Poll::Ready(None);
                }
                if !self.timer.poll(context) {
                    return work.as_mut().poll(context).map(Some);
                }
            }
        })
        .await
    }
}

/// Starts the task of a connection that only has subscriptions.
fn start_companion(
    inner: &Arc<Inner>,
    config: &Config,
    unresponsive_timeout: Option<Duration>,
    backoff: Backoff,
) {
    let inner = Arc::clone(inner);
    let companion = Companion::new(inner, config.clone(), unresponsive_timeout, backoff);
    tokio::spawn(companion.run());
}

/// However the task ends, nobody waits forever.
impl Drop for Driver {
    fn drop(&mut self) {
        self.lose_track();
        self.inner.with(|queue| queue.end(&Failure::Closed));
        let closed = Failure::Closed.into();
        let subscriptions = &self.inner.subscriptions;
        subscriptions.with(|registry, wakers| registry.end(&closed, wakers));
    }
}
