//! A stream for the tokio runtime, and TLS over it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use tokio::net::{TcpStream, UnixStream};

use super::socket::{Socket, Transport};
use crate::Peeked;
use crate::tls::{Read, Session, TlsConnector, TlsError, TlsSession};

/// A connected stream.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// A failed write, kept back while the peer's last words are read.
    pub(super) refused: Option<io::Error>,
    /// Over TLS everything goes through this.
    tls: Option<Box<Session>>,
    /// TLS for when the protocol asks for it.
    connector: Option<Box<TlsConnector>>,
}

impl Stream {
    /// Creates a stream over a user-provided transport.
    pub fn own(transport: impl Transport + 'static) -> Self {
        Self::new(Socket::Own(Mutex::new(Box::new(transport))))
    }

    fn new(socket: Socket) -> Self {
        Self {
            socket,
            refused: None,
            tls: None,
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
        self.tls.as_ref().and_then(|tls| tls.agreed())
    }

    /// Returns the number of bytes that TLS copied, including the library's own copies.
    pub fn bytes_copied_by_tls(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.copied())
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
    /// user-provided transport.
    pub fn try_send(&mut self, bytes: &[u8]) {
        let Some(tls) = &mut self.tls else {
            return self.socket.try_send(bytes);
        };
        if !tls.has_unsent() && tls.write(&[IoSlice::new(bytes)]).is_ok() {
            // Without it the peer sees an end like any other.
            let _ = tls.close_notify();
            self.socket.try_send(tls.unsent());
            tls.drop_unsent();
        }
    }

    /// Shuts down both directions.
    pub fn shutdown(&mut self) {
        if let Some(tls) = &mut self.tls {
            self.socket.try_send(tls.last_words());
            tls.drop_unsent();
        }
        self.socket.shutdown();
    }

    /// Returns what an idle stream's peer has done, without a wait and without taking it. Always [`Peeked::Nothing`] over a
    /// user-provided transport.
    #[inline]
    pub fn peek(&self) -> Peeked {
        match &self.tls {
            Some(tls) if tls.has_input() => Peeked::Bytes,
            _ => self.socket.peek(),
        }
    }

    /// Releases TLS buffers until at most `keep` bytes of them are held. A stream without TLS has no buffers.
    pub fn release(&mut self, keep: usize) {
        if let Some(tls) = &mut self.tls {
            tls.release(keep);
        }
    }

    /// One read of the peer's bytes.
    #[inline]
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_read(context, slices),
            Some(tls) => poll_read_tls(context, &mut self.socket, tls, slices),
        }
    }

    /// Whether it is a socket in clear text, for which memory need not be set to zero to be read into.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none() && !self.socket.is_own()
    }

    /// One read into the spare capacity of a vector, which need not be set to zero for it. Of a stream that
    /// [`is_plain`](Self::is_plain).
    #[cold]
    pub(crate) fn poll_read_spare(
        &mut self,
        context: &mut Context<'_>,
        home: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_read_spare(context, home)
    }

    /// One write. What TLS has taken has left, as far as the caller may know: [`has_unsent`](Self::has_unsent).
    #[inline]
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_write(context, slices),
            Some(tls) => poll_write_tls(context, &mut self.socket, tls, slices),
        }
    }

    /// Whether TLS holds bytes that were written and have not left: they do with
    /// [`poll_unsent`](Self::poll_unsent), or ahead of the next read or write.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// Sends what TLS holds.
    pub(crate) fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.tls {
            None => Poll::Ready(Ok(())),
            Some(tls) => poll_send(context, &mut self.socket, tls),
        }
    }

    /// Returns whether TLS has begun.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Begins TLS: nothing goes in clear text from here on, whatever becomes of it. Then
    /// [`shake_hands`](Self::shake_hands) until it is done. `false` where none was offered.
    pub(crate) fn start_tls(&mut self) -> Result<bool, TlsError> {
        let Some(connector) = self.connector.take() else {
            return Ok(false);
        };
        self.tls = Some(Box::new(connector.session()?));
        Ok(true)
    }

    /// Goes on with the handshake. `false`: send what is unsent, [`poll_receive`](Self::poll_receive), and call again.
    /// Once it is `true` there may be something unsent too.
    pub(crate) fn shake_hands(&mut self) -> Result<bool, TlsError> {
        let Some(tls) = &mut self.tls else {
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
    pub(crate) fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => Poll::Ready(Ok(0)),
            Some(tls) => poll_receive(context, &mut self.socket, tls),
        }
    }

    /// Drops what TLS holds unsent: the peer takes nothing any more.
    #[cold]
    pub(crate) fn drop_unsent(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.drop_unsent();
        }
    }
}

#[cold]
fn poll_read_tls(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
    slices: &mut [IoSliceMut<'_>],
) -> Poll<io::Result<usize>> {
    loop {
        match tls.read(slices)? {
            Read::Bytes(n) => return Poll::Ready(Ok(n)),
            Read::Closed => return Poll::Ready(Ok(0)),
            Read::NeedInput => {}
        }
        match poll_send(context, socket, tls) {
            // What it has said is heard all the same.
            Poll::Ready(Err(error)) if is_gone(&error) => tls.drop_unsent(),
            Poll::Ready(sent) => sent?,
            // A peer that waits to be read takes nothing before.
            Poll::Pending => {}
        }
        if ready!(poll_receive(context, socket, tls))? == 0 {
            return Poll::Ready(Ok(0));
        }
    }
}

#[cold]
fn poll_write_tls(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    ready!(poll_send(context, socket, tls))?;
    let n = tls.write(slices)?;
    match poll_send(context, socket, tls) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        // These bytes are taken, whenever they leave.
        _ => Poll::Ready(Ok(n)),
    }
}

/// Whether the peer takes nothing any more. What it said before may still be in flight.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Sends all ciphertext that waits.
fn poll_send(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
) -> Poll<io::Result<()>> {
    while tls.has_unsent() {
        match ready!(socket.poll_write(context, &[IoSlice::new(tls.unsent())]))? {
            0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
            n => tls.sent(n),
        }
    }
    Poll::Ready(Ok(()))
}

/// One read of ciphertext.
fn poll_receive(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
) -> Poll<io::Result<usize>> {
    tls.prepare()?;
    let n = ready!(socket.poll_read(context, tls.targets().as_mut()))?;
    tls.commit(n);
    Poll::Ready(Ok(n))
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
