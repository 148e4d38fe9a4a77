//! Does what a core asks for, waiting by readiness.
//!
//! # Cancel safety
//! Every future here may be dropped at any await: a read or a write happens whole, and is counted, within one poll. What
//! the core and the buffers know afterwards is what happened on the socket.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice};
use std::task::ready;
use std::time::Instant;

use onecopy_wire::{Buffers, Core, Lent, Step, WireError};

use super::Stream;
use crate::DriveError;

/// Slices of one vectored write: enough for a command with several large parts; more leave with the next call.
const WRITE_SLICES: usize = 32;

/// Runs `core` until it hands over a message: flushes what it queued, reads what it needs.
///
/// `lent` holds the parts that were queued by reference. Output that a message left queued goes with the next read.
///
/// # Errors
/// After [`DriveError::Timeout`] the call can be made again; after any other error the connection is of no more use.
pub async fn drive<C: Core, L: Lent + Sync + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    lent: &L,
    deadline: Option<Instant>,
) -> Result<C::Message, DriveError<C::Error>> {
    loop {
        match core.advance(buffers).map_err(DriveError::Core)? {
            Step::Message(message) => return Ok(message),
            Step::StartTls => return Err(DriveError::TlsUnavailable),
            Step::NeedInput(_) => {
                let refused = flush_or_hear(buffers, stream, lent, deadline).await?;
                if read(buffers, stream, deadline).await? == 0 {
                    return Err(refused.map_or_else(
                        || DriveError::Core(core.handle_eof(buffers)),
                        DriveError::Write,
                    ));
                }
            }
        }
    }
}

/// Flushes; where the peer has closed its side, it may have said why: the failure is kept back until the read shows.
async fn flush_or_hear<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    lent: &(impl Lent + Sync + ?Sized),
    deadline: Option<Instant>,
) -> Result<Option<io::Error>, DriveError<E>> {
    if !buffers.has_output() {
        return Ok(None);
    }
    match flush(buffers, stream, lent, deadline).await {
        Err(DriveError::Write(error))
            if matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            ) =>
        {
            buffers.output().clear();
            Ok(Some(error))
        }
        flushed => flushed.map(|()| None),
    }
}

/// Sends everything that is queued.
///
/// # Errors
/// After [`DriveError::Timeout`] what has not left is still queued.
pub async fn flush<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    lent: &(impl Lent + Sync + ?Sized),
    deadline: Option<Instant>,
) -> Result<(), DriveError<E>> {
    while buffers.has_output() {
        let wrote = poll_fn(|context| {
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
            let count = buffers.output_slices(lent, &mut slices);
            let n = ready!(stream.poll_write(context, &slices[..count]))?;
            buffers.commit_output(n);
            std::task::Poll::Ready(Ok(n))
        });
        match within(deadline, wrote).await {
            None => return Err(DriveError::Timeout),
            Some(Ok(0)) => return Err(DriveError::Write(ErrorKind::WriteZero.into())),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(DriveError::Write(error)),
        }
    }
    Ok(())
}

/// Reads once into the buffers' own targets; 0 is the end of the stream.
///
/// # Errors
/// After [`DriveError::Timeout`], or where memory could not be had, nothing is lost.
pub async fn read<E: From<WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    deadline: Option<Instant>,
) -> Result<usize, DriveError<E>> {
    buffers.prepare()?;
    let came = poll_fn(|context| {
        let n = ready!(stream.poll_read(context, buffers.targets().as_mut()))?;
        buffers.commit(n);
        std::task::Poll::Ready(Ok(n))
    });
    within(deadline, came)
        .await
        .ok_or(DriveError::Timeout)?
        .map_err(DriveError::Read)
}

/// Reads once, straight into the caller's slice, of a value that goes on for `later` bytes behind it. Gives the bytes
/// that came in all, and those of them that are in the slice.
///
/// # Errors
/// As [`read`].
pub async fn read_into<E: From<WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    into: &mut [u8],
    later: usize,
    deadline: Option<Instant>,
) -> Result<(usize, usize), DriveError<E>> {
    buffers.prepare_into(into.len(), later)?;
    let came = poll_fn(|context| {
        let n = ready!(stream.poll_read(context, buffers.targets_into(into).as_mut()))?;
        std::task::Poll::Ready(Ok((n, buffers.commit(n))))
    });
    within(deadline, came)
        .await
        .ok_or(DriveError::Timeout)?
        .map_err(DriveError::Read)
}

/// `None` when the deadline passed first. Without one no timer is made.
pub(super) async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
    }
}
