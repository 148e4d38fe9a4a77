//! A stream that blocks, and the timeouts it is under.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A stream of the caller's own: a tunnel, a test's script.
///
/// A call that ran into the timeout gives `WouldBlock` or `TimedOut`.
pub trait Transport: Send {
    /// Fills the slices in order with at least one byte; 0 at the end of the stream.
    ///
    /// # Errors
    /// As [`Read::read_vectored`].
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Takes at least one byte of the slices.
    ///
    /// # Errors
    /// As [`Write::write_vectored`].
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;

    /// From now on one call waits at most this long.
    ///
    /// # Errors
    /// The stream's own.
    fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()>;

    /// Ends both directions; errors are of no interest any more.
    fn shutdown(&mut self) {}

    /// Whether nobody but the kernel is between the two ends, as on a Unix socket: passwords may be sent over it.
    fn is_unix(&self) -> bool {
        false
    }
}

/// What is left of a deadline is not cut any more below this: 8 ms.
const SHORT: Duration = Duration::from_millis(8);

/// A connected stream and the timeout that is set on it.
pub struct Stream {
    kind: Kind,
    /// Set on the socket now, for reads and writes alike.
    timeout: Option<Duration>,
}

enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
    Own(Box<dyn Transport>),
}

impl Stream {
    /// A stream over the caller's own transport.
    pub fn own(transport: impl Transport + 'static) -> Self {
        Self {
            kind: Kind::Own(Box::new(transport)),
            timeout: None,
        }
    }

    /// Whether only the kernel is between the two ends.
    pub fn is_unix(&self) -> bool {
        match &self.kind {
            Kind::Tcp(_) => false,
            Kind::Unix(_) => true,
            Kind::Own(transport) => transport.is_unix(),
        }
    }

    /// Sends a few last words where the kernel takes them at once; nobody waits for them, and a failure is of no interest.
    /// Not over a transport of the caller's own, which may block.
    pub fn try_send(&mut self, bytes: &[u8]) {
        let _ = match &self.kind {
            Kind::Tcp(stream) => last_words(stream, bytes),
            Kind::Unix(stream) => last_words(stream, bytes),
            Kind::Own(_) => Ok(0),
        };
    }

    /// Ends both directions.
    pub fn shutdown(&mut self) {
        // The peer may be gone already: then there is nothing to end.
        let _ = match &mut self.kind {
            Kind::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Kind::Unix(stream) => stream.shutdown(Shutdown::Both),
            Kind::Own(transport) => {
                transport.shutdown();
                Ok(())
            }
        };
    }

    /// One read. A single slice is read plainly, which is a little cheaper.
    #[inline]
    pub(crate) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match (&mut self.kind, slices) {
            (Kind::Unix(stream), [slice]) => stream.read(slice),
            (Kind::Tcp(stream), [slice]) => stream.read(slice),
            (Kind::Unix(stream), slices) => stream.read_vectored(slices),
            (Kind::Tcp(stream), slices) => stream.read_vectored(slices),
            (Kind::Own(transport), slices) => transport.read_vectored(slices),
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match (&mut self.kind, slices) {
            (Kind::Unix(stream), [slice]) => stream.write(slice),
            (Kind::Tcp(stream), [slice]) => stream.write(slice),
            (Kind::Unix(stream), slices) => stream.write_vectored(slices),
            (Kind::Tcp(stream), slices) => stream.write_vectored(slices),
            (Kind::Own(transport), slices) => transport.write_vectored(slices),
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

    /// Whether a failed call is to be made again: it was interrupted, or its timeout was shorter than the deadline.
    pub(crate) fn is_early(&self, error: &io::Error) -> bool {
        match error.kind() {
            io::ErrorKind::Interrupted => true,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                self.timeout.is_some() && !matches!(self.kind, Kind::Own(_))
            }
            _ => false,
        }
    }

    fn arm_slow(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let fits = match (self.timeout, left) {
            (Some(set), Some(left)) => set <= left && set >= left / 2,
            (set, left) => set == left,
        };
        if !fits {
            // A transport of the caller's own is told the whole time: what it says of it is final.
            let is_own = matches!(self.kind, Kind::Own(_));
            let left = left.map(|left| match left {
                short if short < SHORT || is_own => short,
                long => long - long / 8,
            });
            match &mut self.kind {
                Kind::Tcp(stream) => stream
                    .set_read_timeout(left)
                    .and_then(|()| stream.set_write_timeout(left)),
                Kind::Unix(stream) => stream
                    .set_read_timeout(left)
                    .and_then(|()| stream.set_write_timeout(left)),
                Kind::Own(transport) => transport.set_timeout(left),
            }?;
            self.timeout = left;
        }
        Ok(())
    }
}

fn last_words<'s>(socket: impl Into<socket2::SockRef<'s>>, bytes: &[u8]) -> io::Result<usize> {
    let socket = socket.into();
    socket.set_nonblocking(true)?;
    socket.send(bytes)
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self {
            kind: Kind::Tcp(stream),
            timeout: None,
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self {
            kind: Kind::Unix(stream),
            timeout: None,
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Tcp(stream) => stream.fmt(f),
            Kind::Unix(stream) => stream.fmt(f),
            Kind::Own(_) => f.write_str("Own"),
        }
    }
}
