//! The same where both directions are in use: replies are read while requests are written.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use onecopy_wire::{Borrowed, Buffers, Core, Step};

use super::Stream;
use super::drive::{poll_flush_or_hear, poll_read, poll_start_tls, within};
use crate::DriveError;

/// As [`drive`](super::drive()), for protocols in which several requests are outstanding: it never waits to write without also
/// reading, so that more can be outstanding than both sides' socket buffers hold.
///
/// A message is handed over as soon as it is there, be there output left or not; that leaves with the further calls.
///
/// # Errors
/// After [`DriveError::Timeout`] the call can be made again; after any other error the connection is of no more use.
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

/// [`drive_duplex`] as one poll, without a deadline. Where it is pending it waits for both directions.
///
/// # Errors
/// As [`drive_duplex`].
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
                core.tls_started(buffers).map_err(DriveError::Core)?;
            }
            Step::NeedInput(_) => {
                // Pending or not: what has come is read, and where nothing has, the reader's waker is set too.
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

/// Sends everything that is queued, and reads meanwhile where it would have to wait: `None` once all has left. A message that
/// has come before that is handed over, and what is left leaves with the further calls.
///
/// # Errors
/// As [`drive_duplex`].
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

/// [`flush_duplex`] as one poll, without a deadline. Where it is pending it waits for both directions.
///
/// # Errors
/// As [`drive_duplex`].
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
        if ready!(poll_read(context, buffers, stream))? == 0 {
            return Poll::Ready(Err(DriveError::Core(core.handle_eof(buffers))));
        }
    }
    Poll::Ready(Ok(None))
}
