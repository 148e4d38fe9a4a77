//! A stream that takes down what goes over it, and the same stream bare.
//!
//! By it the floor learns what to send and how much to drain from the client itself: a login and one iteration through
//! the tap, and the request is there as it was sent, with the length of its response.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecopy_mysql::Endpoint;
use onecopy_mysql::blocking::Transport;

/// A connected socket without anything around it.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        Ok(match endpoint {
            Endpoint::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Endpoint::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        })
    }

    /// The same socket again.
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    #[inline]
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }
}

/// What went over a stream while it was taken down.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// What was sent.
    pub(crate) sent: Vec<u8>,
    /// How many bytes were received.
    pub(crate) received: u64,
}

/// The record of a [`Tap`], shared with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Record>>);

impl Notes {
    /// What was taken down since the last call.
    pub(crate) fn take(&self) -> Record {
        self.change(std::mem::take)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A transport that takes down what goes over it.
#[derive(Debug)]
pub(crate) struct Tap {
    socket: Socket,
    notes: Notes,
}

impl Tap {
    pub(crate) fn new(socket: Socket, notes: Notes) -> Self {
        Self { socket, notes }
    }
}

impl Transport for Tap {
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let n = match &mut self.socket {
            Socket::Tcp(stream) => stream.read_vectored(slices)?,
            Socket::Unix(stream) => stream.read_vectored(slices)?,
        };
        self.notes.change(|record| record.received += n as u64);
        Ok(n)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let n = match &mut self.socket {
            Socket::Tcp(stream) => stream.write_vectored(slices)?,
            Socket::Unix(stream) => stream.write_vectored(slices)?,
        };
        self.notes.change(|record| {
            let mut left = n;
            for slice in slices {
                let taken = &slice[..left.min(slice.len())];
                record.sent.extend_from_slice(taken);
                left -= taken.len();
            }
        });
        Ok(n)
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
        }
    }
}
