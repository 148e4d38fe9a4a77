//! A non-blocking stream, in clear text or with TLS.

mod secure;

use std::io::{self, ErrorKind, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use mio::event::Event;
use mio::{Interest, Registry, Token};
use onecopy_wire::{Buffers, WireError};

use super::Address;
use super::socket::Socket;
use crate::SocketOptions;
use crate::tls::{Session, TlsSession};

/// A non-blocking stream: a TCP or Unix socket, and TLS over it as client or server.
///
/// Without TLS it is 24 bytes and allocates no memory. Data moves directly between the kernel and the caller's buffers.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Over TLS everything goes through this.
    tls: Option<Box<Session>>,
    /// An event has said that the peer sends nothing more. No further event comes for that. From then on a short read does not
    /// mean that nothing is left, because the end of the stream is left.
    is_ending: bool,
    /// The peer was told over TLS that nothing more comes.
    has_said_end: bool,
    /// A write has found the socket full.
    is_full: bool,
    /// Events tell when something can be written.
    hears_of_room: bool,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Bytes were read into the buffers.
    Bytes {
        /// Number of bytes. It is 0 only over TLS, if the received data is not a complete record yet.
        len: usize,
        /// Whether nothing more can be read before the next event. Otherwise another call may return more. It must be made at
        /// some time, because no event comes for data that has already arrived.
        is_drained: bool,
    },
    /// Nothing has arrived. The next event announces data.
    WouldBlock,
    /// The peer sends nothing more. It may still read.
    Closed,
}

/// Starts to connect. After the stream is registered, an event says that it may be [connected](Stream::connected).
///
/// # Errors
/// Fails if the connection fails at once, for example if there is no route to the address or no socket at the path. For a Unix
/// socket it fails with `WouldBlock` if the server's backlog is full. No event comes for that, so treat it like any other
/// failure.
pub fn connect(address: &Address) -> io::Result<Stream> {
    Ok(Stream::new(match address {
        Address::Tcp(address) => Socket::Tcp(mio::net::TcpStream::connect(*address)?),
        Address::Unix(path) => Socket::Unix(mio::net::UnixStream::connect(path)?),
    }))
}

impl Stream {
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            tls: None,
            is_ending: false,
            has_said_end: false,
            is_full: false,
            hears_of_room: false,
        }
    }

    /// Returns whether a connection that was started is established.
    ///
    /// # Errors
    /// Fails with the reason why it could not be established.
    pub fn connected(&self) -> io::Result<bool> {
        // Who has a peer has no error of connecting.
        if self.socket.has_peer()? {
            return Ok(true);
        }
        match self.take_error()? {
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    /// Converts the stream for the blocking driver. Deregister a registered stream first.
    ///
    /// # Errors
    /// Fails with the system's error, or with `InvalidInput` if TLS has begun.
    pub fn into_blocking(self) -> io::Result<crate::blocking::Stream> {
        if self.tls.is_some() {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.socket.into_blocking()
    }

    /// Registers the stream for reading and writing, edge-triggered. Data that has already arrived causes an event.
    ///
    /// # Errors
    /// Fails with the system's error. It is `AlreadyExists` if the stream is registered.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(self.socket.source(), token, interest)?;
        self.hears_of_room = true;
        Ok(())
    }

    /// Registers a connected stream for reading only, edge-triggered. Most streams never find their socket full, and this saves
    /// the event that says that they can be written. Check [`needs_room`](Self::needs_room) after each write.
    ///
    /// # Errors
    /// Fails like [`register`](Self::register).
    pub fn register_for_reading(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self.socket.source(), token, Interest::READABLE)
    }

    /// Returns whether [`await_room`](Self::await_room) must be called: a write found the socket full, or did not send all that
    /// TLS holds, and no event would announce that the socket accepts more.
    #[inline]
    pub fn needs_room(&self) -> bool {
        self.is_full && !self.hears_of_room
    }

    /// Requests events for writing too, from now on. If the stream can be written already, an event comes at once.
    ///
    /// # Errors
    /// Fails with the system's error. It is `NotFound` if the stream is not registered.
    #[cold]
    pub fn await_room(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.reregister(self.socket.source(), token, interest)?;
        self.hears_of_room = true;
        Ok(())
    }

    /// Deregisters the stream, for example before it moves to another event loop. A stream that is dropped does not need this
    /// call.
    ///
    /// # Errors
    /// Fails with the system's error. It is `NotFound` if the stream is not registered.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.hears_of_room = false;
        registry.deregister(self.socket.source())
    }

    /// Tells the stream about one of its events. Call it before you handle the event in any other way.
    ///
    /// The event that says that the peer has closed comes only once. Without this call, the read that returns the last bytes
    /// could report that nothing is left, and the end of the stream would be missed.
    #[inline]
    pub fn observe(&mut self, event: &Event) {
        self.is_ending |= event.is_read_closed() || event.is_error();
    }

    /// Prepares the buffers and fills them with one read. Over TLS, data that was already received comes first, without a system
    /// call.
    ///
    /// # Errors
    /// Fails with the socket's error, or over TLS with an error that [`TlsError::from_io`](crate::TlsError::from_io) extracts. If
    /// the buffers cannot be prepared, the source of the error is a [`WireError`], and nothing was read. After an error of the
    /// socket or of TLS, only [`shutdown`](Self::shutdown) is possible.
    #[inline]
    pub fn read(&mut self, buffers: &mut Buffers) -> io::Result<ReadOutcome> {
        buffers.prepare().map_err(no_buffer)?;
        if self.tls.is_some() {
            return self.read_tls(buffers);
        }
        let mut targets = buffers.targets();
        let total = targets.total();
        Ok(match self.socket.read(targets.as_mut())? {
            None => ReadOutcome::WouldBlock,
            Some(0) => ReadOutcome::Closed,
            Some(len) => {
                buffers.commit(len);
                ReadOutcome::Bytes {
                    len,
                    is_drained: len < total && !self.is_ending,
                }
            }
        })
    }

    /// Writes the beginning of the slices with one system call. Returns the number of bytes accepted, or `None` if none were.
    ///
    /// In clear text, a write that accepts less than everything has filled the socket: the next event says when it accepts more.
    /// Over TLS, it accepts at most 64 KiB of a large first slice and 16 KiB of small slices, so call it again with the rest
    /// until it returns `None`. The accepted bytes may still be unsent: see [`has_unsent`](Self::has_unsent).
    ///
    /// # Errors
    /// Fails like [`read`](Self::read). It is then unknown how much was sent.
    #[inline]
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        if self.tls.is_some() {
            return self.write_tls(slices);
        }
        let written = self.socket.write(slices)?;
        self.is_full |= written.is_none();
        Ok(written)
    }

    /// Returns whether TLS holds unsent ciphertext. When an event says that the stream can be written, call
    /// [`flush`](Self::flush) or write.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// Returns the number of bytes of unsent ciphertext that TLS holds, or 0 without TLS.
    pub fn unsent_len(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.unsent().len())
    }

    /// Ends the output of this side; the peer may continue to send. Returns `false` if that is not possible yet: call it again
    /// once the stream can be written.
    ///
    /// # Errors
    /// Fails like [`write`](Self::write).
    pub fn shutdown_write(&mut self) -> io::Result<bool> {
        if !self.flush()? {
            return Ok(false);
        }
        if let Some(tls) = &mut self.tls
            && !self.has_said_end
        {
            tls.close_notify()?;
            self.has_said_end = true;
            if !self.flush()? {
                return Ok(false);
            }
        }
        match self.socket.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error),
            _ => Ok(true),
        }
    }

    /// Returns whether the peer has said over TLS that it sends nothing more. A peer that has died has not.
    pub fn has_heard_end(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_closed())
    }

    /// Ends the output of this side like [`shutdown_write`](Self::shutdown_write), but without TLS's close notification. The peer
    /// finds the end of the stream without one, as if the client had died.
    ///
    /// Some servers look for that end while they are busy, with a poll and the number of waiting bytes. Such a server would take
    /// the notification for the next command of a client that is still there.
    ///
    /// # Errors
    /// Fails like [`write`](Self::write).
    pub fn shutdown_write_unsaid(&mut self) -> io::Result<bool> {
        if !self.flush()? {
            return Ok(false);
        }
        self.has_said_end = true;
        match self.socket.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error),
            _ => Ok(true),
        }
    }

    /// Shuts down both directions like [`shutdown`](Self::shutdown), but [without TLS's close
    /// notification](Self::shutdown_write_unsaid).
    pub fn shutdown_unsaid(&mut self) {
        self.has_said_end = true;
        self.shutdown();
    }

    /// Shuts down both directions. TLS notifies the peer if that is possible at once, including the reason if something went
    /// wrong.
    ///
    /// If the peer has sent bytes that nobody has read, the kernel resets the connection, and the last bytes sent in clear text
    /// may be lost if they are still in flight. To make sure that they arrive, call [`shutdown_write`](Self::shutdown_write) and
    /// read until the peer closes, within a deadline.
    pub fn shutdown(&mut self) {
        if let Some(tls) = &mut self.tls {
            if !self.has_said_end {
                // Nobody waits for these, and a failure is of no interest.
                let _ = self.socket.write(&[IoSlice::new(tls.last_words())]);
            }
            tls.drop_unsent();
        }
        // The peer may be gone already: then there is nothing to end.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Returns the peer's address, if it is a TCP address. An IPv4 address is returned as such, even on an IPv6 socket.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().map(canonical)
    }

    /// Returns the local address, if it is a TCP address.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().map(canonical)
    }

    /// Returns whether only the kernel is between the two ends.
    pub fn is_unix(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// Returns whether TLS has begun.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns the parameters of the TLS session, or `None` as long as they are not agreed on.
    pub fn tls(&self) -> Option<TlsSession> {
        self.tls.as_ref().and_then(|tls| tls.agreed())
    }

    /// Returns the number of bytes that TLS copied, including the library's own copies.
    pub fn bytes_copied_by_tls(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.copied())
    }

    /// Sets TCP options. They do not apply to Unix sockets.
    ///
    /// # Errors
    /// Fails with the system's error.
    pub fn set_options(&self, options: &SocketOptions) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => options.apply(stream),
            Socket::Unix(_) => Ok(()),
        }
    }

    /// Returns the socket's error since the last call, if any.
    ///
    /// # Errors
    /// Fails with the system's error, if the socket's error cannot be queried.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Releases TLS buffers until each holds at most `keep` bytes. Their contents are kept. A stream without TLS has no buffers.
    pub fn release(&mut self, keep: usize) {
        if let Some(tls) = &mut self.tls {
            tls.release(keep);
        }
    }

    /// Returns the number of bytes that were received for TLS and not yet returned to the caller: ciphertext, including that of a
    /// handshake, and decrypted data for which there was no room. 0 without TLS.
    pub fn unread_len(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.unread_len())
    }

    /// Returns the size of the TLS buffers in bytes, or 0 without TLS. [`release`](Self::release) releases those that are empty.
    pub fn buffer_bytes(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.buffer_bytes())
    }

    /// Returns the number of bytes of memory that the stream holds, not counting memory inside the TLS library.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.tls.as_ref().map_or(0, |tls| tls.memory())
    }
}

/// Converts an IPv4 address that is mapped to IPv6 back to IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cold]
fn no_buffer(error: WireError) -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, error)
}

impl TryFrom<std::net::TcpStream> for Stream {
    type Error = io::Error;

    /// Converts the stream and makes it non-blocking.
    fn try_from(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::new(Socket::Tcp(mio::net::TcpStream::from_std(
            stream,
        ))))
    }
}

impl TryFrom<std::os::unix::net::UnixStream> for Stream {
    type Error = io::Error;

    /// Converts the stream and makes it non-blocking.
    fn try_from(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::new(Socket::Unix(mio::net::UnixStream::from_std(
            stream,
        ))))
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
