//! The I/O driver for both directions at once: replies are read while requests are written.
//!
//! ```text
//!   write what the kernel takes ---- all of it ----> one read that blocks
//!              |                                          |
//!        not all of it                                    v
//!              v                                 the state machine continues
//!   wait for either direction --- to be read ---> one read of what is there
//!              \---- to be written: again from the start
//! ```

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use onecopy_wire::{Borrowed, Buffers, Core, Step};

use super::Stream;
use super::drive::{read, read_error, start_tls, tls_started, write_error};
use super::stream::is_gone;
use crate::DriveError;
use crate::output::write_once;

/// What a look at the stream takes at most, where it can neither be read nor written.
const SOON: Duration = Duration::from_millis(1);

/// Does what [`drive`](super::drive()) does, for protocols with several outstanding requests. It never waits to write without
/// also reading. The outstanding data may therefore exceed the socket buffers of both sides.
///
/// A message is returned as soon as it is complete, even if output is left. The output is sent by the next calls. If everything
/// can be sent at once, it makes the same calls as `drive`: one write, one read.
///
/// # Errors
/// After [`DriveError::Timeout`] the call can be repeated. After any other error the connection is unusable.
#[inline]
pub fn drive_duplex<C: Core, L: Borrowed + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<C::Message, DriveError<C::Error>> {
    let mut refused = None;
    loop {
        match core.advance(buffers).map_err(DriveError::Core)? {
            Step::Message(message) => return Ok(message),
            Step::StartTls => {
                start_tls(buffers, stream, borrowed, deadline)?;
                tls_started(core, buffers, stream)?;
            }
            Step::NeedInput(_) => {
                if exchange(buffers, stream, borrowed, deadline, &mut refused)? == 0 {
                    return Err(refused.map_or_else(
                        || DriveError::Core(core.handle_eof(buffers)),
                        DriveError::Write,
                    ));
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
pub fn flush_duplex<C: Core, L: Borrowed + ?Sized>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &L,
    deadline: Option<Instant>,
) -> Result<Option<C::Message>, DriveError<C::Error>> {
    while buffers.has_output() || stream.has_unsent() {
        if let Step::Message(message) = core.advance(buffers).map_err(DriveError::Core)? {
            return Ok(Some(message));
        }
        match push(buffers, stream, borrowed, deadline) {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            // What it has said is heard first.
            Err(error) if is_gone(&error) => {
                return drive_duplex(core, buffers, stream, borrowed, deadline).map(Some);
            }
            Err(error) => return Err(write_error(error)),
        }
        if read_or_wait(buffers, stream, deadline)? == Some(0) {
            return Err(DriveError::Core(core.handle_eof(buffers)));
        }
    }
    Ok(None)
}

/// Returns the next message that has arrived, without waiting for one, or `None` if none is complete. A user-provided transport
/// cannot be asked whether a read would wait, so only data that was already read is used then.
///
/// # Errors
/// Fails like [`drive_duplex`], but never with its timeout.
pub fn drive_ready<C: Core>(
    core: &mut C,
    buffers: &mut Buffers,
    stream: &mut Stream,
) -> Result<Option<C::Message>, DriveError<C::Error>> {
    loop {
        if let Step::Message(message) = core.advance(buffers).map_err(DriveError::Core)? {
            return Ok(Some(message));
        }
        if stream.is_own() {
            return Ok(None);
        }
        match read_or_wait(buffers, stream, Some(Instant::now() + SOON)) {
            Ok(Some(0)) => return Err(DriveError::Core(core.handle_eof(buffers))),
            Ok(Some(_)) => {}
            Ok(None) | Err(DriveError::Timeout) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Writes until something can be read, and reads once; 0 is the end of the stream. Where the peer takes nothing any more
/// it may have said why: the failure is kept back in `refused` until the read shows.
#[inline]
pub(super) fn exchange<E: From<onecopy_wire::WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
    deadline: Option<Instant>,
    refused: &mut Option<io::Error>,
) -> Result<usize, DriveError<E>> {
    loop {
        match push(buffers, stream, borrowed, deadline) {
            Ok(true) => return read(buffers, stream, deadline),
            Ok(false) => {}
            Err(error) if is_gone(&error) => {
                buffers.output().clear();
                stream.drop_unsent();
                *refused = Some(error);
                continue;
            }
            Err(error) => return Err(write_error(error)),
        }
        if let Some(n) = read_or_wait(buffers, stream, deadline)? {
            return Ok(n);
        }
    }
}

/// Writes what can leave at once; whether that was everything.
#[inline]
fn push(
    buffers: &mut Buffers,
    stream: &mut Stream,
    borrowed: &(impl Borrowed + ?Sized),
    deadline: Option<Instant>,
) -> io::Result<bool> {
    while buffers.has_output() || stream.has_unsent() {
        // Only for transports of the caller's own, which may wait in a write; else nothing is done here.
        stream.arm_own(deadline)?;
        let (waiting, written) = write_once(buffers, borrowed, |pieces| stream.try_write(pieces));
        match written {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                buffers.commit_output(n);
                // A short write has filled the socket: another one would be a call for nothing.
                if n < waiting && stream.is_plain() {
                    return Ok(false);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Waits for either direction, and reads where there is something to be read.
#[cold]
fn read_or_wait<E: From<onecopy_wire::WireError>>(
    buffers: &mut Buffers,
    stream: &mut Stream,
    deadline: Option<Instant>,
) -> Result<Option<usize>, DriveError<E>> {
    if !stream.wait(deadline).map_err(read_error)? {
        return Ok(None);
    }
    buffers.prepare()?;
    match stream.read_ready(buffers.targets().as_mut()) {
        Ok(n) => {
            buffers.commit(n);
            Ok(Some(n))
        }
        Err(error) if stream.is_early(&error) => Ok(None),
        Err(error) => Err(read_error(error)),
    }
}

#[cfg(test)]
mod tests;
