//! A blocking stream, its timeouts, and TLS over it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::socket::{Socket, Transport};
use crate::Peeked;
use crate::tls::{Read, Session, TlsConnector, TlsError, TlsSession};

/// What is left of a deadline is not cut any more below this: 8 ms.
const SHORT: Duration = Duration::from_millis(8);

/// A connected stream and the timeout that is set on it.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Set on the socket now, for reads and writes alike.
    timeout: Option<Duration>,
    /// Over TLS everything goes through this.
    tls: Option<Box<Session>>,
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
    /// user-provided transport, which may block.
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
    pub(crate) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(slices),
            Some(tls) => read_tls(&mut self.socket, tls, slices),
        }
    }

    /// One read into the spare capacity of a vector, which need not be set to zero for it. Of a stream that
    /// [`is_plain`](Self::is_plain).
    #[cold]
    pub(crate) fn read_spare(&mut self, home: &mut Vec<u8>) -> io::Result<usize> {
        self.socket.read_spare(home)
    }

    /// One write. What TLS has taken has left, as far as the caller may know: [`has_unsent`](Self::has_unsent).
    #[inline]
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(slices),
            Some(tls) => write_tls(&mut self.socket, tls, slices, Socket::write),
        }
    }

    /// One write of what can leave at once; `WouldBlock` where that is nothing. What TLS has taken has left, as for
    /// [`write`](Self::write).
    #[inline]
    pub(crate) fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.try_write(slices),
            Some(tls) => write_tls(&mut self.socket, tls, slices, Socket::try_write),
        }
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
        if self.tls.as_ref().is_some_and(|tls| tls.has_input()) {
            return Ok(true);
        }
        self.arm_own(deadline)?;
        match self.socket.wait(left) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            waited => waited,
        }
    }

    /// One read of what is there, without a write of what TLS holds; `Interrupted` where it brought nothing to the caller.
    #[cold]
    pub(crate) fn read_ready(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.read(slices);
        };
        // A record that was there already may hold nothing for the caller: then there may be nothing to receive.
        if !tls.has_input() && receive(&mut self.socket, tls)? == 0 {
            return Ok(0);
        }
        match tls.read(slices)? {
            Read::Bytes(n) => Ok(n),
            Read::Closed => Ok(0),
            Read::NeedInput => Err(ErrorKind::Interrupted.into()),
        }
    }

    /// Whether TLS holds bytes that were written and have not left: they do with the next write, also one of nothing.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// Returns whether TLS has begun.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether it is a socket in clear text: a short write tells that it is full, and memory need not be set to zero to be
    /// read into.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none() && !self.socket.is_own()
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
        self.tls = Some(Box::new(connector.session()?));
        Ok(true)
    }

    /// Goes on with the handshake. `false`: send what is unsent, [`receive`](Self::receive), and call again. Once it is
    /// `true` there may be something unsent too.
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
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        match &mut self.tls {
            None => Ok(0),
            Some(tls) => receive(&mut self.socket, tls),
        }
    }

    /// Drops what TLS holds unsent: the peer takes nothing any more.
    #[cold]
    pub(crate) fn drop_unsent(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.drop_unsent();
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

/// A call that brought nothing to the caller is `Interrupted`: it is made again, with what is left of the deadline.
#[cold]
fn read_tls(
    socket: &mut Socket,
    tls: &mut Session,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let mut read = tls.read(slices)?;
    if read == Read::NeedInput {
        let sent = if tls.has_unsent() {
            send(socket, tls, Socket::write).map(|()| true)
        } else {
            Ok(false)
        };
        match sent {
            Ok(true) => {}
            // What it has said is heard all the same.
            Err(error) if is_gone(&error) => tls.drop_unsent(),
            Err(error) => return Err(error),
            Ok(false) => {
                if receive(socket, tls)? == 0 {
                    return Ok(0);
                }
                read = tls.read(slices)?;
            }
        }
    }
    match read {
        Read::Bytes(n) => Ok(n),
        Read::Closed => Ok(0),
        Read::NeedInput => Err(ErrorKind::Interrupted.into()),
    }
}

#[cold]
fn write_tls(
    socket: &mut Socket,
    tls: &mut Session,
    slices: &[IoSlice<'_>],
    write: Write,
) -> io::Result<usize> {
    if tls.has_unsent() {
        send(socket, tls, write)?;
        return Err(ErrorKind::Interrupted.into());
    }
    let n = tls.write(slices)?;
    match send(socket, tls, write) {
        // These bytes are taken, whenever they leave.
        Err(error) if is_late(&error) => Ok(n),
        sent => sent.map(|()| n),
    }
}

/// How ciphertext is written: [`Socket::write`] or [`Socket::try_write`].
type Write = fn(&mut Socket, &[IoSlice<'_>]) -> io::Result<usize>;

/// One write of ciphertext.
fn send(socket: &mut Socket, tls: &mut Session, write: Write) -> io::Result<()> {
    match write(socket, &[IoSlice::new(tls.unsent())])? {
        0 => Err(ErrorKind::WriteZero.into()),
        n => {
            tls.sent(n);
            Ok(())
        }
    }
}

/// One read of ciphertext.
fn receive(socket: &mut Socket, tls: &mut Session) -> io::Result<usize> {
    tls.prepare()?;
    let n = socket.read(tls.targets().as_mut())?;
    tls.commit(n);
    Ok(n)
}

/// Whether the peer takes nothing any more. What it said before may still be in flight.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
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
