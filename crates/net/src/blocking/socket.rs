//! The base of a blocking stream: a socket or a user-provided transport.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SendFlags;

use crate::Peeked;

/// What the kernel takes without a wait.
const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// A user-provided stream, such as a tunnel or a test script.
///
/// A call that reaches the timeout fails with `WouldBlock` or `TimedOut`.
pub trait Transport: Send {
    /// Fills the slices in order with at least one byte. Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Fails like [`Read::read_vectored`].
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Writes at least one byte of the slices.
    ///
    /// # Errors
    /// Fails like [`Write::write_vectored`](io::Write::write_vectored).
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Writes like [`write_vectored`](Self::write_vectored), but fails with `WouldBlock` if it would have to wait. The I/O driver
    /// then first reads what has arrived, and calls it again.
    ///
    /// The default implementation may wait. It can then block indefinitely, if the peer in turn waits for its own output to be
    /// read.
    ///
    /// # Errors
    /// Fails like [`Write::write_vectored`](io::Write::write_vectored).
    fn try_write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_vectored(slices)
    }

    /// Sets the maximum time that one call may wait, from now on.
    ///
    /// # Errors
    /// Fails with an error of the stream.
    fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()>;

    /// Shuts down both directions. Errors are ignored.
    fn shutdown(&mut self) {}

    /// Returns whether only the kernel is between the two ends, as on a Unix socket. Passwords may then be sent in clear text.
    fn is_unix(&self) -> bool {
        false
    }
}

pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Own(Box<dyn Transport>),
}

impl Socket {
    pub(super) fn peer_addr(&self) -> Option<std::net::SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Unix(_) | Self::Own(_) => None,
        }
    }

    pub(super) fn is_unix(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Unix(_) => true,
            Self::Own(transport) => transport.is_unix(),
        }
    }

    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// One read. A single slice is read plainly, which is a little cheaper.
    #[inline]
    pub(super) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match (self, slices) {
            (Self::Unix(stream), [slice]) => stream.read(slice),
            (Self::Tcp(stream), [slice]) => stream.read(slice),
            (Self::Unix(stream), slices) => stream.read_vectored(slices),
            (Self::Tcp(stream), slices) => stream.read_vectored(slices),
            (Self::Own(transport), slices) => transport.read_vectored(slices),
        }
    }

    /// One read into the spare capacity of a vector; not from a transport of the caller's own.
    pub(super) fn read_spare(&mut self, home: &mut Vec<u8>) -> io::Result<usize> {
        let spare = spare_capacity(home);
        Ok(match self {
            Self::Unix(stream) => rustix::io::read(stream, spare)?,
            Self::Tcp(stream) => rustix::io::read(stream, spare)?,
            Self::Own(_) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    /// One write. A closed peer is an error and no signal; so in all that sends here.
    #[inline]
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => send(stream, slices, SendFlags::NOSIGNAL),
            Self::Tcp(stream) => send(stream, slices, SendFlags::NOSIGNAL),
            Self::Own(transport) => transport.write_vectored(slices),
        }
    }

    /// One write of what the kernel takes at once; `WouldBlock` where that is nothing.
    #[inline]
    pub(super) fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => send(stream, slices, AT_ONCE),
            Self::Tcp(stream) => send(stream, slices, AT_ONCE),
            Self::Own(transport) => transport.try_write_vectored(slices),
        }
    }

    /// The socket, for the kernel; `None` for a transport of the caller's own.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(stream) => Some(stream.as_fd()),
            Self::Unix(stream) => Some(stream.as_fd()),
            Self::Own(_) => None,
        }
    }

    /// Waits until there is something to read, or something can be written; whether it is the former. `TimedOut` where
    /// neither is within `timeout`. A transport of the caller's own is read: it can't be asked.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        match self {
            Self::Unix(stream) => wait(stream.as_fd(), timeout),
            Self::Tcp(stream) => wait(stream.as_fd(), timeout),
            Self::Own(_) => Ok(true),
        }
    }

    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
            Self::Unix(stream) => stream
                .set_read_timeout(timeout)
                .and_then(|()| stream.set_write_timeout(timeout)),
            Self::Own(transport) => transport.set_timeout(timeout),
        }
    }

    /// What the peer has done, which stays to be read.
    pub(super) fn peek(&self) -> Peeked {
        match self {
            Self::Tcp(stream) => Peeked::at(stream),
            Self::Unix(stream) => Peeked::at(stream),
            Self::Own(_) => Peeked::Nothing,
        }
    }

    /// Sends what the kernel takes at once. Not over a transport of the caller's own, which may block.
    pub(super) fn try_send(&self, bytes: &[u8]) {
        // A failure is of no interest: nobody waits for these bytes.
        let _ = match self {
            Self::Tcp(stream) => send(stream, &[IoSlice::new(bytes)], AT_ONCE),
            Self::Unix(stream) => send(stream, &[IoSlice::new(bytes)], AT_ONCE),
            Self::Own(_) => Ok(0),
        };
    }

    pub(super) fn shutdown(&mut self) {
        // The peer may be gone already: then there is nothing to end.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Own(transport) => {
                transport.shutdown();
                Ok(())
            }
        };
    }
}

#[inline]
fn send(socket: impl AsFd, slices: &[IoSlice<'_>], flags: SendFlags) -> io::Result<usize> {
    Ok(match slices {
        [slice] => rustix::net::send(socket, slice, flags)?,
        slices => rustix::net::sendmsg(socket, slices, &mut Default::default(), flags)?,
    })
}

/// An error or a closed stream is something to read.
fn wait(socket: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(
        socket,
        PollFlags::IN | PollFlags::OUT,
    )];
    let timeout = timeout.map(Timespec::try_from).transpose();
    match poll(&mut polled, timeout.unwrap_or_default().as_ref())? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(polled[0].revents() != PollFlags::OUT),
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(stream) => stream.fmt(f),
            Self::Unix(stream) => stream.fmt(f),
            Self::Own(_) => f.write_str("Own"),
        }
    }
}
