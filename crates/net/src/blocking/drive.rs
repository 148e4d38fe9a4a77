//! Does what a state machine asks for, with one blocking call at a time.

use std::io::{self, ErrorKind};
use std::time::Instant;

use onecopy_wire::{Borrowed, Buffers, Core, Step};

use super::Stream;
use super::duplex::exchange;
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
#[inline]
pub fn drive<C: Core, L: Borrowed + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<C::Message, DriveError<C::Error>> {
    loop {
        match core.advance(buffers).map_err(DriveError::Core)? {
            Step::Message(message) => return Ok(message),
            Step::StartTls => {
                start_tls(buffers, stream, borrowed, deadline)?;
                tls_started(core, buffers, stream)?;
            }
            Step::NeedInput(_) => {
                let refused = if buffers.has_output() {
                    flush_or_hear(buffers, stream, borrowed, deadline)?
                } else if stream.has_unsent() {
                    if exchange_left(buffers, stream, deadline)? == 0 {
                        return Err(DriveError::Core(core.handle_eof(buffers)));
                    }
                    continue;
                } else {
                    None
                };
                if read(buffers, stream, deadline)? == 0 {
                    return Err(refused.map_or_else(
                        || DriveError::Core(core.handle_eof(buffers)),
                        DriveError::Write,
                    ));
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

/// Reads once, and sends on what a driver of both directions has left to TLS: the peer may take it only once it has been read from.
#[cold]
#[inline(never)]
fn exchange_left<E: From<onecopy_wire::WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    deadline: Option<Instant>,
) -> Result<usize, DriveError<E>> {
    exchange(buffers, stream, &(), deadline, &mut None)
}

/// Sends what is queued in clear text, then switches the stream to TLS: when the protocol requests it, or before the protocol
/// starts.
///
/// # Errors
/// Fails if TLS was not offered or is not available. After [`DriveError::Timeout`] the call can be repeated.
#[cold]
pub fn start_tls<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
    deadline: Option<Instant>,
) -> Result<(), DriveError<E>> {
    // Else it continues where a deadline ended it.
    if !stream.is_tls() {
        flush(buffers, stream, borrowed, deadline)?;
        if !stream.start_tls()? {
            return Err(DriveError::TlsUnavailable);
        }
    }
    loop {
        let is_done = stream.shake_hands()?;
        let refused = flush_or_hear(buffers, stream, borrowed, deadline)?;
        if is_done {
            return Ok(());
        }
        if receive(stream, deadline)? == 0 {
            return Err(refused.map_or(TlsError::ClosedInHandshake.into(), DriveError::Write));
        }
    }
}

/// Reads once what TLS needs for its handshake; 0 is the end of the stream.
fn receive<E>(stream: &mut Stream, deadline: Option<Instant>) -> Result<usize, DriveError<E>> {
    loop {
        stream.arm(deadline).map_err(read_error)?;
        match stream.receive() {
            Ok(n) => return Ok(n),
            Err(error) if stream.is_early(&error) => {}
            Err(error) => return Err(read_error(error)),
        }
    }
}

/// Flushes; where the peer has closed its side, it may have said why: the failure is kept back until the read shows.
// Once a command: a call and a result that goes through memory would cost as much as the rest of it.
#[inline(always)]
fn flush_or_hear<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
    deadline: Option<Instant>,
) -> Result<Option<io::Error>, DriveError<E>> {
    if !buffers.has_output() && !stream.has_unsent() {
        return Ok(None);
    }
    match flush(buffers, stream, borrowed, deadline) {
        Err(DriveError::Write(error)) if is_gone(&error) => {
            buffers.output().clear();
            stream.drop_unsent();
            Ok(Some(error))
        }
        flushed => flushed.map(|()| None),
    }
}

/// Sends everything that is queued.
///
/// # Errors
/// After [`DriveError::Timeout`] the unsent data is still queued.
pub fn flush<E>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
    deadline: Option<Instant>,
) -> Result<(), DriveError<E>> {
    while buffers.has_output() || stream.has_unsent() {
        stream.arm(deadline).map_err(write_error)?;
        let (_, written) = write_once(buffers, borrowed, |pieces| stream.write(pieces));
        match written {
            Ok(0) => return Err(DriveError::Write(ErrorKind::WriteZero.into())),
            Ok(n) => buffers.commit_output(n),
            Err(error) if stream.is_early(&error) => {}
            Err(error) => return Err(write_error(error)),
        }
    }
    Ok(())
}

/// Reads once into the buffers' own targets. Returns the number of bytes, or 0 at the end of the stream.
///
/// # Errors
/// After [`DriveError::Timeout`], or if memory cannot be allocated, nothing is lost.
// Once a reply: the call alone would cost a few dozen instructions.
#[inline(always)]
pub fn read<E: From<onecopy_wire::WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    deadline: Option<Instant>,
) -> Result<usize, DriveError<E>> {
    buffers.prepare()?;
    loop {
        stream.arm(deadline).map_err(read_error)?;
        match read_now(buffers, stream) {
            Ok(n) => {
                buffers.commit(n);
                return Ok(n);
            }
            Err(error) if stream.is_early(&error) => {}
            Err(error) => return Err(read_error(error)),
        }
    }
}

/// One call, into a large-value buffer as it is where that can be.
#[inline(always)] // once for each read
pub(super) fn read_now(buffers: &mut Buffers, stream: &mut Stream) -> io::Result<usize> {
    if stream.is_plain()
        && let Some(home) = buffers.untouched_home()
    {
        return stream.read_spare(home);
    }
    stream.read(buffers.targets().as_mut())
}

/// Reads once, directly into the caller's slice, a part of a value of which `later` more bytes follow after the slice. Returns
/// the total number of bytes received, and the number of those in the slice.
///
/// # Errors
/// Fails like [`read`].
pub fn read_into<E: From<onecopy_wire::WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    into: &mut [u8],
    later: usize,
    deadline: Option<Instant>,
) -> Result<(usize, usize), DriveError<E>> {
    buffers.prepare_into(into.len(), later)?;
    loop {
        stream.arm(deadline).map_err(read_error)?;
        match stream.read(buffers.targets_into(into).as_mut()) {
            Ok(n) => return Ok((n, buffers.commit(n))),
            Err(error) if stream.is_early(&error) => {}
            Err(error) => return Err(read_error(error)),
        }
    }
}

pub(super) fn read_error<E>(error: io::Error) -> DriveError<E> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => DriveError::Timeout,
        _ => failed(error, DriveError::Read),
    }
}

pub(super) fn write_error<E>(error: io::Error) -> DriveError<E> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => DriveError::Timeout,
        _ => failed(error, DriveError::Write),
    }
}

fn failed<E>(error: io::Error, kind: fn(io::Error) -> DriveError<E>) -> DriveError<E> {
    TlsError::from_io(error).map_or_else(kind, DriveError::from)
}

#[cfg(test)]
mod tests;
