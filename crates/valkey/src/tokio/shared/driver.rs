//! The task that owns the connection: it reads and writes at the same time, and makes a new connection when one is lost.

use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use onecopy_net::{DriveError, tokio as net};
use onecopy_resp_proto::{Message, ProtocolError};
use onecopy_wire::{Core, Meter, Step, WireError};

use super::Event;
use super::backoff::{Backoff, Pauses};
use super::failure::Failure;
use super::inner::Inner;
use super::options::Listener;
use super::parts::Shares;
use super::queue::{Came, Queue};
use super::timer::Timer;
use crate::tokio::Connection;
use crate::{Config, Error};

/// Responses that are handed out at once: so many wait at most while others are read.
const BATCH: usize = 64;

/// Everything behind the handles.
pub(super) struct Driver {
    inner: Arc<Inner>,
    config: Config,
    listener: Option<Listener>,
    /// Bytes from which on a reply is large.
    large_reply: usize,
    pauses: Pauses,
    timer: Timer,
    replies: Vec<Came>,
    wakers: Vec<Waker>,
}

/// How long a connection has to be idle before it gives memory back: so one under load, which is idle between any two
/// batches, does not allocate for each.
const REST: Duration = Duration::from_secs(1);

/// A connection that is up.
struct Live {
    connection: Connection,
    shares: Shares,
    /// What had been written when it came up: the handshake.
    before: u64,
    /// A failed write, kept back while the server's last words are read.
    refused: Option<Error>,
    /// When memory is given back, if it is idle then; `None` once it was.
    rests_at: Option<Instant>,
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
    pub(super) fn new(
        inner: Arc<Inner>,
        config: Config,
        backoff: Backoff,
        listener: Option<Listener>,
        large_reply: usize,
    ) -> Self {
        Self {
            inner,
            config,
            listener,
            large_reply,
            pauses: Pauses::new(backoff),
            timer: Timer::default(),
            replies: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// Runs until no handle is left, or it is closed and all is finished.
    pub(super) async fn run(mut self, connection: Connection) {
        let mut live = Live::new(connection);
        loop {
            let lost = match poll_fn(|context| self.poll_live(context, &mut live)).await {
                End::Over => break,
                End::Lost(error) => error,
            };
            live.shutdown();
            // What had come whole is answered all the same. What left in the round that found the connection lost may have
            // been executed too: it must not be sent again.
            let replies = &mut self.replies;
            let sent = live.sent();
            let unexpected = live.connection.unexpected_replies();
            self.inner.with(|queue| {
                queue.deliver(replies);
                queue.count_unexpected(unexpected);
                queue.lost(lost, sent, Instant::now());
            });
            let Some(connection) = self.reconnect().await else {
                break;
            };
            live = Live::new(connection);
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
            if rang {
                self.rest(live);
            }
            match self.move_bytes(context, live) {
                Ok(Progress::None) if !rang => return Poll::Pending,
                Ok(_) => {}
                Err(error) => return Poll::Ready(End::Lost(live.refused.take().unwrap_or(error))),
            }
        }
    }

    /// Hands out what has come and takes what is to be sent, under one lock. Whether it is over.
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
            let next = queue.expire(Instant::now);
            let is_forsaken = queue.is_first_forsaken();
            (queue.is_over(), queue.is_idle(), is_forsaken, next)
        });
        if is_forsaken {
            // However large it is, it takes no memory.
            live.connection.link.core.abandon_first();
        }
        if !is_idle && live.rests_at.is_none() {
            live.rests_at = Some(Instant::now() + REST);
        }
        let next = [next, live.rests_at].into_iter().flatten().min();
        self.timer.set(next);
        is_over
    }

    /// Gives back what a burst or a large reply has needed, when its time has come: all of it where nothing is outstanding.
    #[cold]
    fn rest(&mut self, live: &mut Live) {
        let now = Instant::now();
        if live.rests_at.is_some_and(|rests_at| rests_at <= now) {
            let is_idle = self.inner.with(|queue| {
                let is_idle = queue.is_idle();
                if is_idle {
                    queue.shrink();
                }
                is_idle
            });
            live.rests_at = (!is_idle).then(|| now + REST);
            if is_idle {
                self.replies = Vec::new();
            }
            live.connection.link.trim(is_idle);
        }
    }

    /// Writes what the socket takes and reads what has come, each without waiting for the other.
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

    /// Reads once at most, when all that has come before is taken up.
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
                _ => return Err(Error::closed("the core handed over what nobody asked for")),
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
            // A handle that nobody uses does not knock for ever.
            let is_parked = self.pauses.is_longest();
            let mut next = Instant::now() + self.pauses.next();
            if is_parked {
                let inner = Arc::clone(&self.inner);
                let wanted = poll_fn(|_| match inner.with(Queue::is_wanted) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                });
                self.while_offline(wanted).await?;
                // Others may have begun to need it at the same moment.
                next = next.max(Instant::now() + self.pauses.shortest());
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
                    timer.set(queue.expire(Instant::now));
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

impl Live {
    fn new(connection: Connection) -> Self {
        let before = connection.meter().bytes_written;
        Self {
            connection,
            shares: Shares::default(),
            before,
            refused: None,
            rests_at: None,
        }
    }

    fn meter(&self) -> Meter {
        self.connection.meter()
    }

    /// Whether something has come that nobody has asked for: a push, or a reply to nothing.
    #[inline]
    fn has_unasked(&self) -> bool {
        let link = &self.connection.link;
        link.core.in_flight() == 0 && !link.buffers.pending().is_empty()
    }

    /// Bytes of callers' commands that have left.
    fn sent(&self) -> u64 {
        self.meter().bytes_written - self.before
    }

    /// Writes until all is gone or the socket takes no more.
    fn write(&mut self, context: &mut Context<'_>) -> Result<Progress, Error> {
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

    /// The server takes nothing any more: what it said before may still be on its way.
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

    fn shutdown(&mut self) {
        self.connection.shut_down();
    }
}

/// However the task ends, nobody waits for ever.
impl Drop for Driver {
    fn drop(&mut self) {
        self.inner.with(|queue| queue.end(&Failure::Closed));
    }
}
