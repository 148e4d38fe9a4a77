//! A blocking stream, its timeouts, and the layers over it.

mod layered;

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::socket::{Socket, Transport};
use crate::Peeked;
use crate::codec::{Codec, CodecCounts};
use crate::layers::Layers;
use crate::tls::{TlsConnector, TlsError, TlsSession};

/// What is left of a deadline is not cut any more below this: 8 ms.
const SHORT: Duration = Duration::from_millis(8);

/// A connected stream and the timeout that is set on it.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Set on the socket now, for reads and writes alike.
    timeout: Option<Duration>,
    /// TLS and a codec, through which everything goes.
    layers: Option<Box<Layers>>,
    /// TLS for when the protocol asks for it.
    connector: Option<Box<TlsConnector>>,
}

impl Stream {
    /// Creates a stream over a user-provided transport.
    pub fn own(transport: impl Transport + 'static) -> Self {
        Self::new(Socket::Own(Box::new(transport)))
    }

    fn new(socket: Socket) -> Self {
        Self {
            socket,
            timeout: None,
            layers: None,
            connector: None,
        }
    }

    /// Provides TLS for when the protocol requests it.
    pub fn offer_tls(&mut self, connector: TlsConnector) {
        self.connector = Some(Box::new(connector));
    }

    /// Returns whether TLS was [offered](Self::offer_tls) and has not begun.
    pub fn offers_tls(&self) -> bool {
        self.connector.is_some()
    }

    /// Returns the parameters of the TLS session, or `None` without TLS.
    pub fn tls(&self) -> Option<TlsSession> {
        self.layers.as_ref().and_then(|layers| layers.agreed())
    }

    /// Returns the server's certificate in DER, if its verification is
    /// [left to the protocol](crate::TlsOptions::defers_unknown_issuer).
    pub fn certificate_to_verify(&self) -> Option<&[u8]> {
        self.layers.as_ref()?.certificate_to_verify()
    }

    /// Returns the number of bytes that TLS copied, including the library's own copies.
    pub fn bytes_copied_by_tls(&self) -> u64 {
        self.layers
            .as_ref()
            .map_or(0, |layers| layers.bytes_copied_by_tls())
    }

    /// Puts a codec between the protocol and the stream, or the TLS on it. Everything that is sent and read from now on goes
    /// through it, so nothing may have been read ahead.
    pub fn set_codec(&mut self, codec: impl Codec + 'static) {
        self.layers
            .get_or_insert_default()
            .set_codec(Box::new(codec));
    }

    /// Returns the counters of the codec; 0 without one.
    pub fn codec_counts(&self) -> CodecCounts {
        let layers = self.layers.as_ref();
        layers.map_or_else(CodecCounts::default, |layers| layers.codec_counts())
    }

    /// Returns whether there is TLS or a codec, which may hold buffers.
    #[inline]
    pub fn is_layered(&self) -> bool {
        self.layers.is_some()
    }

    /// Tells the codec that no reply is outstanding.
    pub fn settle(&mut self) {
        if let Some(layers) = &mut self.layers {
            layers.settle();
        }
    }

    /// Returns whether only the kernel is between the two ends.
    pub fn is_unix(&self) -> bool {
        self.socket.is_unix()
    }

    /// Returns the peer's address, if it is a TCP address.
    pub fn peer_addr(&self) -> Option<std::net::SocketAddr> {
        self.socket.peer_addr()
    }

    /// Sends a few last bytes if the kernel accepts them at once. It does not wait, and ignores errors. It sends nothing over a
    /// user-provided transport, which may block.
    pub fn try_send(&mut self, bytes: &[u8]) {
        match &mut self.layers {
            None => self.socket.try_send(bytes),
            Some(layers) => layers.try_send(bytes, |bytes| self.socket.try_send(bytes)),
        }
    }

    /// Shuts down both directions.
    pub fn shutdown(&mut self) {
        if let Some(layers) = &mut self.layers {
            layers.end(|bytes| self.socket.try_send(bytes));
        }
        self.socket.shutdown();
    }

    /// Returns what an idle stream's peer has done, without a wait and without taking it. Always [`Peeked::Nothing`] over a
    /// user-provided transport.
    #[inline]
    pub fn peek(&self) -> Peeked {
        match &self.layers {
            Some(layers) if layers.has_input() => Peeked::Bytes,
            _ => self.socket.peek(),
        }
    }

    /// Releases the buffers of TLS and of a codec, each of them if it is larger than `keep` bytes. A stream without either has no
    /// buffers.
    pub fn release(&mut self, keep: usize) {
        if let Some(layers) = &mut self.layers {
            layers.release(keep);
        }
    }

    /// One read of the peer's bytes.
    #[inline]
    pub(crate) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &mut self.layers {
            None => self.socket.read(slices),
            Some(layers) => layered::read(&mut self.socket, layers, slices),
        }
    }

    /// One read into the spare capacity of a vector, which need not be set to zero for it. Of a stream that
    /// [`is_plain`](Self::is_plain).
    #[cold]
    pub(crate) fn read_spare(&mut self, home: &mut Vec<u8>) -> io::Result<usize> {
        self.socket.read_spare(home)
    }

    /// One write. What a layer has taken has left, as far as the caller may know: [`has_unsent`](Self::has_unsent).
    #[inline]
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.layers {
            None => self.socket.write(slices),
            Some(layers) => layered::write(&mut self.socket, layers, slices, Socket::write),
        }
    }

    /// One write of what can leave at once; `WouldBlock` where that is nothing. What a layer has taken has left, as for
    /// [`write`](Self::write).
    #[inline]
    pub(crate) fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.layers {
            None => self.socket.try_write(slices),
            Some(layers) => layered::write(&mut self.socket, layers, slices, Socket::try_write),
        }
    }

    /// Whether a layer holds bytes that were read.
    pub(super) fn has_input(&self) -> bool {
        self.layers
            .as_ref()
            .is_some_and(|layers| layers.has_input())
    }

    /// The socket, for the kernel; `None` for a transport of the caller's own.
    pub(super) fn socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.socket.fd()
    }

    /// Waits until there is something to read, or something can be written; whether it is the former.
    ///
    /// # Errors
    /// `TimedOut` when neither was so by `deadline`, or it has passed: a peer that never stops to send and takes nothing
    /// always has something to be read.
    #[cold]
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<bool> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ErrorKind::TimedOut.into());
        }
        if self.has_input() {
            return Ok(true);
        }
        self.arm_own(deadline)?;
        match self.socket.wait(left) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            waited => waited,
        }
    }

    /// One read of what is there, without a write of what layers hold; `Interrupted` where it brought nothing to the caller.
    #[cold]
    pub(crate) fn read_ready(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &mut self.layers {
            None => self.socket.read(slices),
            Some(layers) => layered::read_ready(&mut self.socket, layers, slices),
        }
    }

    /// Whether a layer holds bytes that were written and have not left: they do with the next write, also one of nothing.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.layers
            .as_ref()
            .is_some_and(|layers| layers.has_unsent())
    }

    /// Returns whether TLS has begun.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.layers
            .as_ref()
            .is_some_and(|layers| layers.tls.is_some())
    }

    /// Whether it is a socket in clear text: a short write tells that it is full, and memory need not be set to zero to be
    /// read into.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.layers.is_none() && !self.socket.is_own()
    }

    /// Whether it is over a transport of the caller's own.
    #[cold]
    pub(crate) fn is_own(&self) -> bool {
        self.socket.is_own()
    }

    /// Begins TLS: nothing goes in clear text from here on, whatever becomes of it. Then
    /// [`shake_hands`](Self::shake_hands) until it is done. `false` where none was offered.
    pub(crate) fn start_tls(&mut self) -> Result<bool, TlsError> {
        let Some(connector) = self.connector.take() else {
            return Ok(false);
        };
        self.layers.get_or_insert_default().tls = Some(connector.session()?);
        Ok(true)
    }

    /// Continues with the handshake. `false`: send what is unsent, [`receive`](Self::receive), and call again. Once it is
    /// `true` there may be something unsent too.
    pub(crate) fn shake_hands(&mut self) -> Result<bool, TlsError> {
        let Some(tls) = self.layers.as_mut().and_then(|layers| layers.tls.as_mut()) else {
            return Ok(true);
        };
        let shaken = tls.shake_hands();
        if shaken.is_err() {
            self.socket.try_send(tls.unsent());
            tls.drop_unsent();
        }
        shaken
    }

    /// One read of ciphertext; 0 at the end of the stream.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        match self.layers.as_mut().and_then(|layers| layers.tls.as_mut()) {
            None => Ok(0),
            Some(tls) => layered::receive(&mut self.socket, tls),
        }
    }

    /// Drops what layers hold unsent: the peer takes nothing any more.
    #[cold]
    pub(crate) fn drop_unsent(&mut self) {
        if let Some(layers) = &mut self.layers {
            layers.drop_unsent();
        }
    }

    /// Sees that the next call ends by `deadline`, or earlier and [`is_early`](Self::is_early). The timeout is set on the
    /// socket only when its shape changes: it is set somewhat too short, and stays as long as it is neither longer than
    /// what is left nor shorter than half of it, so an ordinary command costs no call.
    ///
    /// # Errors
    /// `TimedOut` when the deadline has passed.
    #[inline]
    pub(crate) fn arm(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        if deadline.is_none() && self.timeout.is_none() {
            Ok(())
        } else {
            self.arm_slow(deadline)
        }
    }

    /// The same for a transport of the caller's own alone: a call that never waits needs no timeout.
    #[inline]
    pub(crate) fn arm_own(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        if self.socket.is_own() {
            self.arm(deadline)
        } else {
            Ok(())
        }
    }

    /// Whether a failed call is to be made again: it was interrupted, or its timeout was shorter than the deadline.
    pub(crate) fn is_early(&self, error: &io::Error) -> bool {
        match error.kind() {
            ErrorKind::Interrupted => true,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                self.timeout.is_some() && !self.socket.is_own()
            }
            _ => false,
        }
    }

    fn arm_slow(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ErrorKind::TimedOut.into());
        }
        let fits = match (self.timeout, left) {
            (Some(set), Some(left)) => set <= left && set >= left / 2,
            (set, left) => set == left,
        };
        if !fits {
            // A transport of the caller's own is told the whole time: what it says of it is final.
            let is_own = self.socket.is_own();
            let left = left.map(|left| match left {
                short if short < SHORT || is_own => short,
                long => long - long / 8,
            });
            self.socket.set_timeout(left)?;
            self.timeout = left;
        }
        Ok(())
    }
}

/// Whether the peer takes nothing any more. What it said before may still be in flight.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::new(Socket::Tcp(stream))
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::new(Socket::Unix(stream))
    }
}

#[cfg(test)]
mod tests;
