//! A non-blocking stream in clear text or over TLS.

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

/// A non-blocking stream: a socket of TCP or Unix, and either side of TLS over it.
///
/// Without TLS it is 24 bytes and holds no memory beside; what passes goes from the kernel to the caller's buffers and back.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Over TLS everything goes through this.
    tls: Option<Box<Session>>,
    /// An event has said that the peer sends nothing more. None comes for it again, so from then on a short read does not
    /// mean that nothing is left: the end is.
    is_ending: bool,
    /// The peer was told over TLS that nothing more comes.
    has_said_end: bool,
    /// A write has found the socket full.
    is_full: bool,
    /// Events tell when something can be written.
    hears_of_room: bool,
}

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Bytes are in the buffers.
    Bytes {
        /// How many. 0 only over TLS, where what was received is not a whole record yet.
        len: usize,
        /// Nothing more is to be had before the next event, so there is no need to ask. Otherwise a further call may bring
        /// more, and has to be made some time: no event comes for what is there already.
        is_drained: bool,
    },
    /// Nothing has come. The next event tells.
    WouldBlock,
    /// The peer sends nothing more. It may still read.
    Closed,
}

/// Begins to connect. Once the stream is registered, an event says that it may be [connected](Stream::connected).
///
/// # Errors
/// What fails at once, as an address of no route or a path of no socket. `WouldBlock` for a Unix socket whose server has as
/// many clients waiting as it lets wait: no event comes for that, so it is a failure as others.
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

    /// Whether a connect that was begun has come to its end.
    ///
    /// # Errors
    /// Why it has failed.
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

    /// The same connection for the blocking driver. One that is registered is to be deregistered before.
    ///
    /// # Errors
    /// The system's; `InvalidInput` where TLS was begun.
    pub fn into_blocking(self) -> io::Result<crate::blocking::Stream> {
        if self.tls.is_some() {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.socket.into_blocking()
    }

    /// Registers it for reading and writing, edge-triggered. What has come already makes an event.
    ///
    /// # Errors
    /// The system's; `AlreadyExists` where it is registered.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(self.socket.source(), token, interest)?;
        self.hears_of_room = true;
        Ok(())
    }

    /// Registers one that is connected for reading only, edge-triggered: most never find their socket full, and are spared the
    /// event that says that it is not. Whoever writes looks at [`needs_room`](Self::needs_room) afterwards.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_for_reading(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self.socket.source(), token, Interest::READABLE)
    }

    /// Whether a write has found the socket full, or has not sent all that TLS holds, and no event will tell when it takes more:
    /// [`await_room`](Self::await_room) is to be called.
    #[inline]
    pub fn needs_room(&self) -> bool {
        self.is_full && !self.hears_of_room
    }

    /// From now on events tell also when something can be written; one comes at once where it can be already.
    ///
    /// # Errors
    /// The system's; `NotFound` where it is not registered.
    #[cold]
    pub fn await_room(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.reregister(self.socket.source(), token, interest)?;
        self.hears_of_room = true;
        Ok(())
    }

    /// Takes it out, as before it goes to another loop. A stream that is dropped needs no call.
    ///
    /// # Errors
    /// The system's; `NotFound` where it is not registered.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.hears_of_room = false;
        registry.deregister(self.socket.source())
    }

    /// Tells the stream of an event of its own, to be called before anything else is done about it: the one that says that
    /// the peer has closed comes only once, and a read that brings the last bytes could pass for one that has left nothing.
    #[inline]
    pub fn observe(&mut self, event: &Event) {
        self.is_ending |= event.is_read_closed() || event.is_error();
    }

    /// Makes the buffers ready and fills them with one read. Over TLS what was received before comes first, without a call of
    /// the system.
    ///
    /// # Errors
    /// The socket's; over TLS one that [`TlsError::from_io`](crate::TlsError::from_io) takes out. A [`WireError`] as source
    /// where the buffers can't be made ready: nothing was read then. After an error of the socket or of TLS nothing can be
    /// done but [`shutdown`](Self::shutdown).
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

    /// Writes what the slices begin with, with one call of the system; gives how many bytes were taken, `None` where none
    /// were. In clear text one that takes less than all has filled the socket: the next event says when it takes more. Over
    /// TLS it takes at most 64 KiB of a large first slice and 16 KiB of small ones, so call again with the rest until it is
    /// `None`; what was taken may still have to leave: [`has_unsent`](Self::has_unsent).
    ///
    /// # Errors
    /// As [`read`](Self::read). How much has left is not known then.
    #[inline]
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        if self.tls.is_some() {
            return self.write_tls(slices);
        }
        let written = self.socket.write(slices)?;
        self.is_full |= written.is_none();
        Ok(written)
    }

    /// Whether TLS holds ciphertext that has not left. An event that something can be written is then to be answered by
    /// [`flush`](Self::flush), or a write.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// How many bytes of ciphertext TLS holds that have not left; 0 without TLS.
    pub fn unsent_len(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.unsent().len())
    }

    /// Says that nothing more comes from here; the peer may go on. `false`: it can't be said yet, call again once something
    /// can be written.
    ///
    /// # Errors
    /// As [`write`](Self::write).
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

    /// Whether the peer has said over TLS that nothing more comes. One that has died has not.
    pub fn has_heard_end(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_closed())
    }

    /// The same as [`shutdown_write`](Self::shutdown_write) without a word of TLS: the peer finds the end of the stream and nothing before it, as of a client that has died. A
    /// server that looks for that end while it is busy, by a poll and the number of bytes that wait, takes an alert for the next
    /// command of one that is still there.
    ///
    /// # Errors
    /// As [`write`](Self::write).
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

    /// Ends both directions as [`shutdown`](Self::shutdown) does, and
    /// [without a word of TLS](Self::shutdown_write_unsaid).
    pub fn shutdown_unsaid(&mut self) {
        self.has_said_end = true;
        self.shutdown();
    }

    /// Ends both directions. TLS says so where it can be said at once, and why if something went wrong.
    ///
    /// Bytes that the peer has sent and nobody has read make the kernel reset the connection, and last words in clear text that
    /// are still in flight may be lost by that: after those, [`shutdown_write`](Self::shutdown_write) and reads until the
    /// peer closes, within a deadline.
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

    /// The peer's address, where it is one of TCP; an IPv4 address is one, also on a socket of IPv6.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().map(canonical)
    }

    /// The own address, where it is one of TCP.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().map(canonical)
    }

    /// Whether only the kernel is between the two ends.
    pub fn is_unix(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// Whether TLS was begun.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What TLS agreed on, once it has.
    pub fn tls(&self) -> Option<TlsSession> {
        self.tls.as_ref().and_then(|tls| tls.agreed())
    }

    /// Bytes that TLS copied on the way, the library's own copies included.
    pub fn bytes_copied_by_tls(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.copied())
    }

    /// Sets options of TCP; a Unix socket has none of them.
    ///
    /// # Errors
    /// The system's.
    pub fn set_options(&self, options: &SocketOptions) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => options.apply(stream),
            Socket::Unix(_) => Ok(()),
        }
    }

    /// What went wrong with the socket since this was last asked.
    ///
    /// # Errors
    /// The system's, where it can't be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Gives TLS's buffers back until at most `keep` bytes of each stay; what is in them stays. Without TLS there are none.
    pub fn release(&mut self, keep: usize) {
        if let Some(tls) = &mut self.tls {
            tls.release(keep);
        }
    }

    /// Bytes that have come for TLS and were not given to anybody yet: ciphertext, of a handshake too, and what was decrypted
    /// and had no room; 0 without TLS.
    pub fn unread_len(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.unread_len())
    }

    /// Bytes of TLS's buffers, which [`release`](Self::release) gives back as far as they are empty; 0 without TLS.
    pub fn buffer_bytes(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.buffer_bytes())
    }

    /// Bytes of memory that it holds, without those inside of the TLS library.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.tls.as_ref().map_or(0, |tls| tls.memory())
    }
}

/// An IPv4 address that came by way of IPv6 as what it is.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cold]
fn no_buffer(error: WireError) -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, error)
}

impl TryFrom<std::net::TcpStream> for Stream {
    type Error = io::Error;

    /// Makes it non-blocking.
    fn try_from(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::new(Socket::Tcp(mio::net::TcpStream::from_std(
            stream,
        ))))
    }
}

impl TryFrom<std::os::unix::net::UnixStream> for Stream {
    type Error = io::Error;

    /// Makes it non-blocking.
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
