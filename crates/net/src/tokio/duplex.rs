//! The I/O driver for both directions at once: replies are read while requests are written.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use onecopy_wire::{Borrowed, Buffers, Core, Step};

use super::Stream;
use super::drive::{poll_flush_or_hear, poll_read, poll_start_tls, tls_started, within};
use crate::DriveError;

/// Does what [`drive`](super::drive()) does, for protocols with several outstanding requests. It never waits to write without
/// also reading. The outstanding data may therefore exceed the socket buffers of both sides.
///
/// A message is returned as soon as it is complete, even if output is left. The output is sent by the next calls.
///
/// # Errors
/// After [`DriveError::Timeout`] the call can be repeated. After any other error the connection is unusable.
pub async fn drive_duplex<C: Core, L: Borrowed + Sync + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<C::Message, DriveError<C::Error>> {
    let driven = poll_fn(|context| poll_drive_duplex(context, core, buffers, stream, borrowed));
    within(deadline, driven)
        .await
        .unwrap_or(Err(DriveError::Timeout))
}

/// Does what [`drive_duplex`] does, as one poll, without a deadline. If it returns pending, it waits for both directions.
///
/// # Errors
/// Fails like [`drive_duplex`].
pub fn poll_drive_duplex<C: Core, L: Borrowed + ?Sized>(
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
                // Pending or not: what has arrived is read, and where nothing has, the reader's waker is set too.
                if let Poll::Ready(flushed) = poll_flush_or_hear(context, buffers, stream, borrowed)
                {
                    flushed?;
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

/// Sends everything that is queued, and reads while it would have to wait. Returns `None` when everything has been sent. If a
/// message arrives before that, it is returned, and the remaining output is sent by the next calls.
///
/// # Errors
/// Fails like [`drive_duplex`].
pub async fn flush_duplex<C: Core, L: Borrowed + Sync + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<Option<C::Message>, DriveError<C::Error>> {
    let flushed = poll_fn(|context| poll_flush_duplex(context, core, buffers, stream, borrowed));
    within(deadline, flushed)
        .await
        .unwrap_or(Err(DriveError::Timeout))
}

/// Does what [`flush_duplex`] does, as one poll, without a deadline. If it returns pending, it waits for both directions.
///
/// # Errors
/// Fails like [`drive_duplex`].
#[allow(clippy::type_complexity)] // it is that of the future, as a poll
pub fn poll_flush_duplex<C: Core, L: Borrowed + ?Sized>(
    context: &mut Context<'_>,
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
) -> Poll<Result<Option<C::Message>, DriveError<C::Error>>> {
    while buffers.has_output() || stream.has_unsent() {
        if let Step::Message(message) = core.advance(buffers).map_err(DriveError::Core)? {
            return Poll::Ready(Ok(Some(message)));
        }
        match poll_flush_or_hear(context, buffers, stream, borrowed) {
            // What the peer said before it closed its side is heard first.
            Poll::Ready(Ok(())) if stream.refused.is_some() => {
                let driven = ready!(poll_drive_duplex(context, core, buffers, stream, borrowed));
                return Poll::Ready(driven.map(Some));
            }
            Poll::Ready(flushed) => return Poll::Ready(flushed.map(|()| None)),
            Poll::Pending => {}
        }
        match poll_read(context, buffers, stream) {
            Poll::Ready(read) => {
                if read? == 0 {
                    return Poll::Ready(Err(DriveError::Core(core.handle_eof(buffers))));
                }
            }
            // Over TLS the read has sent the rest, and the peer may have nothing to say to it.
            Poll::Pending if !buffers.has_output() && !stream.has_unsent() => break,
            Poll::Pending => return Poll::Pending,
        }
    }
    Poll::Ready(Ok(None))
}
