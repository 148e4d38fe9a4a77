//! The task that owns the connection: it reads and writes at the same time, and makes a new connection when one is lost.

mod live;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::{Message, ProtocolError};
use onecopy_wire::{Core, Meter, Step, WireError};

use super::Event;
use super::backoff::Pauses;
use super::failure::Failure;
use super::inner::Inner;
use super::options::{Listener, SharedOptions};
use super::queue::{Came, Queue};
use super::silence::Verdict;
use super::timer::Timer;
use crate::aio::{Connection, clock};
use crate::{Config, Error};
use live::Live;

/// Responses that are handed out at once: so many wait at most while others are read.
const BATCH: usize = 64;

/// Everything behind the handles.
pub(super) struct Driver {
    inner: Arc<Inner>,
    config: Config,
    listener: Option<Listener>,
    /// Bytes from which on a reply is large.
    large_reply: usize,
    /// How long a server may send nothing while it owes a reply.
    unresponsive_timeout: Option<Duration>,
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
        Self {
            inner,
            config,
            listener: options.listener,
            large_reply: options.large_reply,
            unresponsive_timeout,
            pauses: Pauses::new(options.backoff),
            timer: Timer::default(),
            replies: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// Runs until no handle is left, or it is closed and all is finished.
    pub(super) async fn run(mut self, connection: Connection) {
        let mut live = Live::new(connection, self.unresponsive_timeout);
        loop {
            let lost = match poll_fn(|context| self.poll_live(context, &mut live)).await {
                End::Over => break,
                End::Lost(error) => error,
            };
            live.shutdown();
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
            let Some(connection) = self.reconnect().await else {
                break;
            };
            live = Live::new(connection, self.unresponsive_timeout);
            self.inner.with(Queue::connected);
            if let Some(listener) = &mut self.listener {
                listener(Event::Gap);
            }
        }
        live.shutdown();
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
            if self.exchange(context.waker(), live) {
                return Poll::Ready(End::Over);
            }
            let rang = self.timer.poll(context);
            let moved = match self.move_bytes(context, live) {
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

    /// Hands out what has arrived and takes what is to be sent, under one lock. Whether it is over.
    fn exchange(&mut self, waker: &Waker, live: &mut Live) -> bool {
        if !self.replies.is_empty() {
            self.pauses.reset();
        }
        let replies = &mut self.replies;
        let meter = live.meter();
        let sent = meter.bytes_written - live.before;
        let link = &mut live.connection.link;
        // Where the server has closed its side nothing is taken: it can be sent on the next connection.
        let is_taking = !link.buffers.has_output() && live.refused.is_none();
        let shares = &mut live.shares;
        let (is_over, is_idle, is_forsaken, next) = self.inner.drive(&mut self.wakers, |queue| {
            queue.deliver(replies);
            queue.note_sent(sent);
            if is_taking {
                // TLS may hold bytes of them still: those are its own.
                shares.clear();
                let requests = queue.take(link.buffers.output(), shares.list());
                link.core.expect(requests);
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
            (queue.is_over(), queue.is_idle(), is_forsaken, next)
        });
        if is_forsaken {
            // However large it is, it takes no memory.
            live.connection.link.core.abandon_first();
        }
        if !is_idle && live.looks_at.is_none() {
            live.begin_looks();
        }
        let next = [next, live.looks_at].into_iter().flatten().min();
        self.timer.set(next);
        is_over
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
            // One, and one that is passed over before it.
            if self.replies.capacity() - self.replies.len() < 2 {
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
            if came > u64::from(is_reply) {
                self.replies.push(None);
            }
            match step {
                Step::Message(Message::Reply(frame)) => {
                    let reply = link.core.detach(frame, &mut link.buffers);
                    self.replies.push(Some(reply));
                    if self.replies.len() >= BATCH {
                        return Ok(Progress::Made);
                    }
                }
                Step::Message(Message::Push(frame)) => {
                    if let Some(listener) = &mut self.listener {
                        listener(Event::Push(link.core.reply(frame, &link.buffers)));
                    }
                }
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

    /// Room for a batch of replies, and those that are passed over.
    #[cold]
    fn make_room(&mut self) -> Result<(), Error> {
        self.replies.try_reserve_exact(2 + BATCH).map_err(|_| {
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
                let wanted = poll_fn(|_| match inner.with(Queue::is_wanted) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                });
                self.while_offline(wanted).await?;
                // Others may have begun to need it at the same moment.
                next = next.max(clock::now() + self.pauses.shortest());
            }
            let pause = tokio::time::sleep_until(next.into());
            self.while_offline(pause).await?;
            let config = self.config.clone();
            match self
                .while_offline(Connection::connect_with(&config))
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

/// However the task ends, nobody waits forever.
impl Drop for Driver {
    fn drop(&mut self) {
        self.inner.with(|queue| queue.end(&Failure::Closed));
    }
}
