//! Does what a state machine asks for, and waits for readiness.
//!
//! # Cancel safety
//! All futures in this module may be dropped at any await point. A read or write happens completely, and is counted, within one
//! poll. The state machine and the buffers therefore always match what happened on the socket.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use onecopy_wire::{Borrowed, Buffers, Core, Step, WireError};

use super::Stream;
use super::stream::is_gone;
use crate::output::write_once;
use crate::{DriveError, TlsError};

/// Runs `core` until it returns a message. Sends the output that it queues, and reads the input that it needs.
///
/// `borrowed` holds the parts that were queued by reference. Output that is still queued when a message is returned is sent
/// before the next read.
///
/// # Errors
/// After [`DriveError::Timeout`] the call can be repeated. After any other error the connection is unusable.
pub async fn drive<C: Core, L: Borrowed + Sync + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<C::Message, DriveError<C::Error>> {
    let driven = poll_fn(|context| poll_drive(context, core, buffers, stream, borrowed));
    within(deadline, driven)
        .await
        .unwrap_or(Err(DriveError::Timeout))
}

/// Does what [`drive`] does, as one poll, without a deadline.
///
/// # Errors
/// Fails like [`drive`].
pub fn poll_drive<C: Core, L: Borrowed + ?Sized>(
    context: &mut Context<'_>,
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
) -> Poll<Result<C::Message, DriveError<C::Error>>> {
    loop {
        match core.advance(buffers).map_err(DriveError::Core)? {
            Step::Message(message) => return Poll::Ready(Ok(message)),
            Step::StartTls => {
                ready!(poll_start_tls(context, buffers, stream, borrowed))?;
                tls_started(core, buffers, stream)?;
            }
            Step::NeedInput(_) => {
                // What is left by a driver of both directions the peer may take only once it has been read from.
                let may_wait = buffers.has_output();
                match poll_flush_or_hear(context, buffers, stream, borrowed) {
                    Poll::Pending if may_wait => return Poll::Pending,
                    Poll::Pending => {}
                    Poll::Ready(flushed) => flushed?,
                }
                if ready!(poll_read(context, buffers, stream))? == 0 {
                    return Poll::Ready(Err(match stream.refused.take() {
                        Some(refused) => DriveError::Write(refused),
                        None => DriveError::Core(core.handle_eof(buffers)),
                    }));
                }
            }
        }
    }
}

/// Tells the core that TLS has started, and which certificate it has to verify itself.
#[cold]
pub(super) fn tls_started<C: Core>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &Stream,
) -> Result<(), DriveError<C::Error>> {
    if let Some(certificate) = stream.certificate_to_verify() {
        core.certificate_to_verify(certificate);
    }
    core.tls_started(buffers).map_err(DriveError::Core)
}

/// Sends what is queued in clear text, then switches the stream to TLS: when the protocol requests it, or before the protocol
/// starts.
///
/// # Errors
/// Fails if TLS was not offered or is not available. After [`DriveError::Timeout`] the call can be repeated.
pub async fn start_tls<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + Sync + ?Sized),
    deadline: Option<Instant>,
) -> Result<(), DriveError<E>> {
    let started = poll_fn(|context| poll_start_tls(context, buffers, stream, borrowed));
    within(deadline, started)
        .await
        .unwrap_or(Err(DriveError::Timeout))
}

#[cold]
pub(super) fn poll_start_tls<E>(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
) -> Poll<Result<(), DriveError<E>>> {
    if !stream.is_tls() {
        ready!(poll_flush(context, buffers, stream, borrowed))?;
        if !stream.start_tls()? {
            return Poll::Ready(Err(DriveError::TlsUnavailable));
        }
    }
    loop {
        let is_done = stream.shake_hands()?;
        ready!(poll_flush_or_hear(context, buffers, stream, borrowed))?;
        if is_done {
            return Poll::Ready(Ok(()));
        }
        let received = ready!(stream.poll_receive(context));
        if received.map_err(|error| failed(error, DriveError::Read))? == 0 {
            let refused = stream.refused.take();
            let closed = TlsError::ClosedInHandshake.into();
            return Poll::Ready(Err(refused.map_or(closed, DriveError::Write)));
        }
    }
}

/// Flushes; where the peer has closed its side, it may have said why: the failure is kept back until the read shows.
#[inline(always)]
pub(super) fn poll_flush_or_hear<E>(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
) -> Poll<Result<(), DriveError<E>>> {
    if !buffers.has_output() && !stream.has_unsent() {
        return Poll::Ready(Ok(()));
    }
    match ready!(poll_flush(context, buffers, stream, borrowed)) {
        Err(DriveError::Write(error)) if is_gone(&error) => {
            buffers.output().clear();
            stream.drop_unsent();
            stream.refused = Some(error);
            Poll::Ready(Ok(()))
        }
        flushed => Poll::Ready(flushed),
    }
}

/// Sends everything that is queued.
///
/// # Errors
/// After [`DriveError::Timeout`] the unsent data is still queued.
pub async fn flush<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + Sync + ?Sized),
    deadline: Option<Instant>,
) -> Result<(), DriveError<E>> {
    let flushed = poll_fn(|context| poll_flush(context, buffers, stream, borrowed));
    within(deadline, flushed)
        .await
        .unwrap_or(Err(DriveError::Timeout))
}

/// Does what [`flush`] does, as one poll, without a deadline.
///
/// # Errors
/// Fails like [`flush`].
// Once a command: a call and a result that goes through memory would cost as much as the rest of it.
#[inline(always)]
pub fn poll_flush<E>(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
) -> Poll<Result<(), DriveError<E>>> {
    while buffers.has_output() {
        let write = |pieces: &[IoSlice<'_>]| stream.poll_write(context, pieces);
        match ready!(write_once(buffers, borrowed, write).1) {
            Ok(0) => return Poll::Ready(Err(DriveError::Write(ErrorKind::WriteZero.into()))),
            Ok(n) => buffers.commit_output(n),
            Err(error) => return Poll::Ready(Err(failed(error, DriveError::Write))),
        }
    }
    if stream.has_unsent() {
        ready!(stream.poll_unsent(context)).map_err(DriveError::Write)?;
    }
    Poll::Ready(Ok(()))
}

/// Reads once into the buffers' own targets. Returns the number of bytes, or 0 at the end of the stream.
///
/// # Errors
/// If memory cannot be allocated, nothing is lost.
// Once a reply: the call alone would cost a few dozen instructions.
#[inline(always)]
pub fn poll_read<E: From<WireError>>(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
) -> Poll<Result<usize, DriveError<E>>> {
    buffers.prepare()?;
    let read = ready!(poll_read_now(context, buffers, stream));
    let n = read.map_err(|error| failed(error, DriveError::Read))?;
    buffers.commit(n);
    Poll::Ready(Ok(n))
}

/// One call, into a large-value buffer as it is where that can be.
#[inline(always)]
fn poll_read_now(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
) -> Poll<io::Result<usize>> {
    if stream.is_plain()
        && let Some(home) = buffers.untouched_home()
    {
        return stream.poll_read_spare(context, home);
    }
    stream.poll_read(context, buffers.targets().as_mut())
}

/// Reads once, directly into the caller's slice, a part of a value of which `later` more bytes follow after the slice. Returns
/// the total number of bytes received, and the number of those in the slice.
///
/// # Errors
/// Fails like [`poll_read`].
pub fn poll_read_into<E: From<WireError>>(
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    stream: &mut Stream,
    into: &mut [u8],
    later: usize,
) -> Poll<Result<(usize, usize), DriveError<E>>> {
    buffers.prepare_into(into.len(), later)?;
    let read = ready!(stream.poll_read(context, buffers.targets_into(into).as_mut()));
    let n = read.map_err(|error| failed(error, DriveError::Read))?;
    Poll::Ready(Ok((n, buffers.commit(n))))
}

/// Returns `None` if the deadline passed first. Without a deadline it creates no timer.
pub(super) async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
    }
}

#[cold]
fn failed<E>(error: io::Error, kind: fn(io::Error) -> DriveError<E>) -> DriveError<E> {
    TlsError::from_io(error).map_or_else(kind, DriveError::from)
}
