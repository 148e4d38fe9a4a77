//! Listens on a TCP address or on the path of a Unix socket.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::{error, fmt};

use mio::net::{TcpListener, UnixListener, UnixStream};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use socket2::{Domain, SockAddr, Socket as Socket2, Type};

use super::socket::{Socket, again};
use super::stream::canonical;
use super::{Address, Stream};
use crate::SocketOptions;

/// The options of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerOptions {
    /// The maximum number of clients that wait to be accepted, as far as the system allows it. Default: 4,096, Linux's own limit.
    pub backlog: u32,
    /// The mode of a Unix socket's file, which decides who may connect. Default: 0o777, everyone, as MySQL servers have it,
    /// because the login decides who gets access.
    pub unix_mode: u32,
    /// The TCP options that clients' streams inherit from the listener, so that they need not be set on each stream.
    /// [`set_options`](Listener::set_options) changes them. Default: [`SocketOptions::default`].
    pub socket: SocketOptions,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            backlog: 4096,
            unix_mode: 0o777,
            socket: SocketOptions::default(),
        }
    }
}

/// A listening socket. The file of a Unix socket is removed when the listener is dropped, unless it
/// [stays](Listener::file_stays_while).
#[derive(Debug)]
pub struct Listener {
    socket: Listening,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener, Place),
}

/// The file of a Unix socket, and what identifies it as still the same file.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    file: Option<[u64; 2]>,
    /// Somebody else removes it, while this is true.
    stays: Arc<AtomicBool>,
}

/// Why no client could be accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// One client's connection failed before it was accepted. Others may be waiting: accept again at once.
    Connection(io::Error),
    /// No file descriptors or memory are left. The client keeps waiting and causes no further event: accept again when a
    /// connection has ended, or after a while.
    Exhausted(io::Error),
    /// The listener itself failed.
    Listener(io::Error),
}

impl Listener {
    /// Creates a listener. On `[::]` it accepts IPv4 clients too.
    ///
    /// A Unix socket's file that a previous listener left behind is removed. It is not removed if a process still listens on it,
    /// and neither is any other file.
    ///
    /// # Errors
    /// Fails with the system's error. It is `AddrInUse` if a process already listens there, or if the path of a Unix socket is
    /// another kind of file.
    pub fn bind(address: &Address, options: &ListenerOptions) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) => Listening::Tcp(bind_tcp(*address, options)?),
            Address::Unix(path) => bind_unix(path, options)?,
        };
        Ok(Self { socket })
    }

    /// Takes over a socket that another process has set up and passed on. It keeps its backlog, and clients that wait in it are
    /// accepted here. The file of a Unix socket is not removed, unless [`file_stays_while`](Self::file_stays_while) says so.
    ///
    /// # Errors
    /// Fails with `InvalidInput` if it is not a listening stream socket of TCP or with a path, otherwise with the system's error.
    pub fn adopt(socket: OwnedFd) -> io::Result<Self> {
        let socket = Socket2::from(socket);
        let refused = |why| Err(io::Error::new(ErrorKind::InvalidInput, why));
        if socket.r#type()? != Type::STREAM {
            return refused("not a stream socket");
        }
        if !socket.is_listener()? {
            return refused("a socket that does not listen");
        }
        socket.set_nonblocking(true)?;
        socket.set_cloexec(true)?;
        let address = socket.local_addr()?;
        let socket = match address.as_pathname() {
            Some(path) => {
                let place = Place {
                    path: path.to_owned(),
                    file: identity(path),
                    stays: Arc::new(AtomicBool::new(true)),
                };
                Listening::Unix(UnixListener::from_std(socket.into()), place)
            }
            None if address.as_socket().is_some() => {
                Listening::Tcp(TcpListener::from_std(socket.into()))
            }
            None => return refused("neither a TCP socket nor a Unix socket with a path"),
        };
        Ok(Self { socket })
    }

    /// The file of a Unix socket stays when the listener is dropped while the flag is true, because another process listens there.
    pub fn file_stays_while(&mut self, stays: &Arc<AtomicBool>) {
        if let Listening::Unix(_, place) = &mut self.socket {
            place.stays = Arc::clone(stays);
        }
    }

    /// Returns whether a file would stay if the listener were dropped now.
    pub fn file_stays(&self) -> bool {
        match &self.socket {
            Listening::Tcp(_) => false,
            Listening::Unix(_, place) => place.stays.load(SeqCst),
        }
    }

    /// Returns the address that it listens on, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// Fails with the system's error.
    pub fn address(&self) -> io::Result<Address> {
        match &self.socket {
            Listening::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Listening::Unix(_, place) => Ok(Address::Unix(place.path.clone())),
        }
    }

    /// Registers the listener, edge-triggered: an event says that at least one client is waiting.
    ///
    /// # Errors
    /// Fails with the system's error.
    pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        let fd = self.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&fd), token, Interest::READABLE)
    }

    /// Registers the listener with one of several event loops, level-triggered. A client wakes one of the waiting loops, not all
    /// of them, and a loop that accepts no client is woken again. A loop that was busy may find that another loop was faster.
    ///
    /// # Errors
    /// Fails with the system's error. It is `Unsupported` on systems other than Linux, because this uses `EPOLLEXCLUSIVE`.
    pub fn share(&self, registry: &Registry, token: Token) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::event::epoll::{EventData, EventFlags, add};
            let event = EventData::new_u64(token.0 as u64);
            Ok(add(
                registry,
                self,
                event,
                EventFlags::IN | EventFlags::EXCLUSIVE,
            )?)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (registry, token);
            Err(ErrorKind::Unsupported.into())
        }
    }

    /// Deregisters the listener.
    ///
    /// # Errors
    /// Fails with the system's error. It is `NotFound` if the listener is not registered.
    pub fn deregister(&self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut SourceFd(&self.as_fd().as_raw_fd()))
    }

    /// Sets the TCP options for the streams of clients that connect from now on. They do not apply to Unix sockets.
    ///
    /// # Errors
    /// Fails with the system's error.
    pub fn set_options(&self, options: &SocketOptions) -> io::Result<()> {
        match &self.socket {
            Listening::Tcp(listener) => options.apply_anew(listener),
            Listening::Unix(..) => Ok(()),
        }
    }

    /// Accepts the next waiting client. Returns its stream, and its address if that is a TCP address. Returns `None` if no client
    /// is waiting; an event announces the next one. The stream is not registered, and has the listener's
    /// [options](ListenerOptions::socket).
    ///
    /// # Errors
    /// Fails with an [`AcceptError`]. After `Connection` and `Exhausted` the listener is still usable.
    pub fn accept(&self) -> Result<Option<(Stream, Option<SocketAddr>)>, AcceptError> {
        let accepted = match &self.socket {
            Listening::Tcp(listener) => again(|| listener.accept()).map(|accepted| {
                accepted.map(|(stream, peer)| (Socket::Tcp(stream), Some(canonical(peer))))
            }),
            Listening::Unix(listener, _) => again(|| listener.accept())
                .map(|accepted| accepted.map(|(stream, _)| (Socket::Unix(stream), None))),
        };
        match accepted {
            Ok(accepted) => Ok(accepted.map(|(socket, peer)| (Stream::new(socket), peer))),
            Err(error) => Err(AcceptError::from(error)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Listening::Tcp(listener) => listener.as_fd(),
            Listening::Unix(listener, _) => listener.as_fd(),
        }
    }
}

fn bind_tcp(address: SocketAddr, options: &ListenerOptions) -> io::Result<TcpListener> {
    let socket = Socket2::new(Domain::for_address(address), Type::STREAM, None)?;
    // A listener that starts again must not wait for the connections that its predecessor has left behind.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A client has those of the moment at which its handshake ends.
    options.socket.apply_anew(&socket)?;
    socket.bind(&address.into())?;
    listen(&socket, options)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn bind_unix(path: &Path, options: &ListenerOptions) -> io::Result<Listening> {
    remove_dead(path)?;
    let socket = Socket2::new(Domain::UNIX, Type::STREAM, None)?;
    // On Linux the file gets no right that the socket has not: it is never open to more than it shall be.
    let file = File::from(OwnedFd::from(socket));
    file.set_permissions(Permissions::from_mode(options.unix_mode))?;
    let socket = Socket2::from(OwnedFd::from(file));
    socket.bind(&SockAddr::unix(path)?)?;
    let place = Place {
        path: path.to_owned(),
        file: identity(path),
        stays: Arc::default(),
    };
    // And here those that the process masks out of every file. From here on `place` removes it where something fails.
    fs::set_permissions(path, Permissions::from_mode(options.unix_mode))?;
    listen(&socket, options)?;
    Ok(Listening::Unix(
        UnixListener::from_std(socket.into()),
        place,
    ))
}

fn listen(socket: &Socket2, options: &ListenerOptions) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))
}

/// Removes a socket's file on which nobody listens.
fn remove_dead(path: &Path) -> io::Result<()> {
    let in_use = |why: &str| {
        Err(io::Error::new(
            ErrorKind::AddrInUse,
            format!("{}: {why}", path.display()),
        ))
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(file) if !file.file_type().is_socket() => {
            return in_use("a file exists there that is not a socket");
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        // Also one that can't be asked is not known to be dead.
        _ => in_use("another process listens there"),
    }
}

fn identity(path: &Path) -> Option<[u64; 2]> {
    let file = fs::symlink_metadata(path).ok()?;
    Some([file.dev(), file.ino()])
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another may have put his own there meanwhile.
        if !self.stays.load(SeqCst) && self.file.is_some() && identity(&self.path) == self.file {
            // What can't be removed stays: the next listener sees that nobody listens there.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl From<io::Error> for AcceptError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                Self::Exhausted(error)
            }
            // Those that accept(2) tells to be treated as nobody waiting: what happened to a connection meanwhile, and a
            // firewall's no.
            Some(
                Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::NETDOWN
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::OPNOTSUPP
                | Errno::TIMEDOUT
                | Errno::PERM,
            ) => Self::Connection(error),
            #[cfg(target_os = "linux")]
            Some(Errno::NONET) => Self::Connection(error),
            _ => Self::Listener(error),
        }
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => {
                write!(f, "a client was gone before it was accepted: {error}")
            }
            Self::Exhausted(error) => write!(
                f,
                "no client can be accepted until descriptors or memory are free: {error}; raise the limit of open files"
            ),
            Self::Listener(error) => write!(f, "no client can be accepted: {error}"),
        }
    }
}

impl error::Error for AcceptError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Connection(error) | Self::Exhausted(error) | Self::Listener(error) => Some(error),
        }
    }
}
