//! The base of a tokio stream: a socket or a user-provided transport, with vectored reads and writes.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use crate::Peeked;

/// Makes a call once the socket is ready for it: TCP and Unix sockets have the same methods and no trait in common.
macro_rules! when_ready {
    ($stream:ident, $ready:ident($context:ident), $interest:ident, $wanted:ident, $call:expr) => {
        loop {
            ready!($stream.$ready($context))?;
            let io = |interest, call: &mut dyn FnMut() -> io::Result<usize>| {
                $stream.try_io(interest, call)
            };
            if let Some(n) = attempt(io, Interest::$interest, $wanted, &mut || $call)? {
                break Poll::Ready(Ok(n));
            }
        }
    };
}

/// A user-provided stream, such as a tunnel or a test script.
pub trait Transport: Send {
    /// Fills the slices in order with at least one byte. Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Fails like `Read::read_vectored`, but never with `WouldBlock`.
    fn poll_read_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>>;

    /// Writes at least one byte of the slices.
    ///
    /// # Errors
    /// Fails like `Write::write_vectored`, but never with `WouldBlock`.
    fn poll_write_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;

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
    /// The lock is never contended: it makes the stream, and so every connection, `Sync` without asking it of transports.
    Own(Mutex<Box<dyn Transport>>),
}

impl Socket {
    pub(super) fn peer_addr(&self) -> Option<std::net::SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Unix(_) | Self::Own(_) => None,
        }
    }

    #[inline]
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    pub(super) fn is_unix(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Unix(_) => true,
            Self::Own(transport) => {
                let transport = transport.lock();
                transport.unwrap_or_else(PoisonError::into_inner).is_unix()
            }
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

    /// Sends what the kernel takes at once. Not over a transport of the caller's own.
    pub(super) fn try_send(&self, bytes: &[u8]) {
        // A failure is of no interest: nobody waits for these bytes.
        let _ = match self {
            Self::Tcp(stream) => write_now(stream, &[IoSlice::new(bytes)]),
            Self::Unix(stream) => write_now(stream, &[IoSlice::new(bytes)]),
            Self::Own(_) => Ok(0),
        };
    }

    pub(super) fn shutdown(&mut self) {
        // The peer may be gone already: then there is nothing to end.
        let _ = match self {
            Self::Tcp(stream) => {
                socket2::SockRef::from(&*stream).shutdown(std::net::Shutdown::Both)
            }
            Self::Unix(stream) => {
                socket2::SockRef::from(&*stream).shutdown(std::net::Shutdown::Both)
            }
            Self::Own(transport) => {
                own(transport).shutdown();
                Ok(())
            }
        };
    }

    #[inline]
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = slices.iter().map(|slice| slice.len()).sum();
        match self {
            Self::Tcp(stream) => {
                when_ready!(
                    stream,
                    poll_read_ready(context),
                    READABLE,
                    wanted,
                    read_now(&*stream, slices)
                )
            }
            Self::Unix(stream) => {
                when_ready!(
                    stream,
                    poll_read_ready(context),
                    READABLE,
                    wanted,
                    read_now(&*stream, slices)
                )
            }
            Self::Own(transport) => own(transport).poll_read_vectored(context, slices),
        }
    }

    /// One read into the spare capacity of a vector; not from a transport of the caller's own.
    pub(super) fn poll_read_spare(
        &mut self,
        context: &mut Context<'_>,
        home: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let wanted = home.capacity() - home.len();
        match self {
            Self::Tcp(stream) => {
                when_ready!(
                    stream,
                    poll_read_ready(context),
                    READABLE,
                    wanted,
                    read_spare(&*stream, home)
                )
            }
            Self::Unix(stream) => {
                when_ready!(
                    stream,
                    poll_read_ready(context),
                    READABLE,
                    wanted,
                    read_spare(&*stream, home)
                )
            }
            Self::Own(_) => Poll::Ready(Err(ErrorKind::Unsupported.into())),
        }
    }

    #[inline]
    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = slices.iter().map(|slice| slice.len()).sum();
        match self {
            Self::Tcp(stream) => {
                when_ready!(
                    stream,
                    poll_write_ready(context),
                    WRITABLE,
                    wanted,
                    write_now(&*stream, slices)
                )
            }
            Self::Unix(stream) => {
                when_ready!(
                    stream,
                    poll_write_ready(context),
                    WRITABLE,
                    wanted,
                    write_now(&*stream, slices)
                )
            }
            Self::Own(transport) => own(transport).poll_write_vectored(context, slices),
        }
    }
}

/// One call inside the runtime's readiness. A short one has emptied (or filled) the socket: saying `WouldBlock` from
/// inside clears the readiness, so that the next wait costs no call that must fail. `None`: it was not ready after all.
fn attempt(
    io: impl FnOnce(Interest, &mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
    interest: Interest,
    wanted: usize,
    call: &mut dyn FnMut() -> io::Result<usize>,
) -> io::Result<Option<usize>> {
    let mut short = None;
    let done = io(interest, &mut || {
        let n = call()?;
        if n > 0 && n < wanted {
            short = Some(n);
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(n)
    });
    match (short, done) {
        (Some(n), _) | (None, Ok(n)) => Ok(Some(n)),
        (None, Err(error))
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        (None, Err(error)) => Err(error),
    }
}

fn read_now(socket: impl AsFd, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    Ok(match slices {
        [slice] => rustix::net::recv(socket, &mut **slice, RecvFlags::empty())?.0,
        slices => rustix::io::readv(socket, slices)?,
    })
}

fn read_spare(socket: impl AsFd, home: &mut Vec<u8>) -> io::Result<usize> {
    Ok(rustix::net::recv(socket, spare_capacity(home), RecvFlags::empty())?.0)
}

/// A closed peer is an error and no signal.
fn write_now(socket: impl AsFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(match slices {
        [slice] => rustix::net::send(socket, slice, SendFlags::NOSIGNAL)?,
        slices => {
            rustix::net::sendmsg(socket, slices, &mut Default::default(), SendFlags::NOSIGNAL)?
        }
    })
}

fn own(transport: &mut Mutex<Box<dyn Transport>>) -> &mut dyn Transport {
    transport
        .get_mut()
        .unwrap_or_else(PoisonError::into_inner)
        .as_mut()
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

#[cfg(test)]
mod tests;
