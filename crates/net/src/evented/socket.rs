//! TCP or Unix, non-blocking.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};

use crate::blocking;

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// One read; `None` where nothing has arrived. A single slice is read plainly, which is a little cheaper.
    #[inline]
    pub(super) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<Option<usize>> {
        again(|| match (&mut *self, &mut *slices) {
            (Self::Unix(stream), [slice]) => stream.read(slice),
            (Self::Tcp(stream), [slice]) => stream.read(slice),
            (Self::Unix(stream), slices) => stream.read_vectored(slices),
            (Self::Tcp(stream), slices) => stream.read_vectored(slices),
        })
    }

    /// One write; `None` where the kernel takes nothing now.
    #[inline]
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        again(|| match (&mut *self, slices) {
            (Self::Unix(stream), [slice]) => stream.write(slice),
            (Self::Tcp(stream), [slice]) => stream.write(slice),
            (Self::Unix(stream), slices) => stream.write_vectored(slices),
            (Self::Tcp(stream), slices) => stream.write_vectored(slices),
        })
    }

    pub(super) fn into_blocking(self) -> io::Result<blocking::Stream> {
        Ok(match self {
            Self::Tcp(stream) => {
                let stream = std::net::TcpStream::from(OwnedFd::from(stream));
                stream.set_nonblocking(false)?;
                stream.into()
            }
            Self::Unix(stream) => {
                let stream = std::os::unix::net::UnixStream::from(OwnedFd::from(stream));
                stream.set_nonblocking(false)?;
                stream.into()
            }
        })
    }

    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        }
    }

    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            Self::Unix(stream) => stream.take_error(),
        }
    }

    /// Whether there is a peer.
    pub(super) fn has_peer(&self) -> io::Result<bool> {
        let peer = match self {
            Self::Tcp(stream) => stream.peer_addr().map(drop),
            Self::Unix(stream) => stream.peer_addr().map(drop),
        };
        match peer {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn peer_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// Calls again where a signal came between.
#[inline]
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match call() {
            Ok(done) => return Ok(Some(done)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}
