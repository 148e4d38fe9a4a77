//! Connects a socket within one deadline, including the name lookup.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{io, thread};

use socket2::{Domain, SockAddr, Socket, Type};

use super::Stream;
use crate::{ConnectError, Endpoint, SocketOptions};

/// Connects to `endpoint`. The addresses of a name are tried in turn, each with its share of the time left.
///
/// # Errors
/// Fails with the error of the last address, or with `Timeout`.
pub fn connect(
    endpoint: &Endpoint,
    options: &SocketOptions,
    deadline: Option<Instant>,
) -> Result<Stream, ConnectError> {
    match endpoint {
        Endpoint::Unix(path) => connect_unix(path, deadline)
            .map(Stream::from)
            .map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if deadline.is_some() => {
                    ConnectError::Timeout {
                        endpoint: endpoint.to_string(),
                    }
                }
                _ => failed(endpoint, source),
            }),
        Endpoint::Tcp { host, port } => {
            let addresses = resolve(host, *port, deadline)?;
            let mut last = failed(endpoint, io::Error::other("the name has no address"));
            for (candidates, address) in (1..=addresses.len()).rev().zip(&addresses) {
                match connect_tcp(*address, candidates, options, deadline) {
                    Ok(stream) => return Ok(stream),
                    Err(error) if error.kind() == io::ErrorKind::TimedOut && deadline.is_some() => {
                        last = ConnectError::Timeout {
                            endpoint: address.to_string(),
                        };
                    }
                    Err(source) => {
                        last = ConnectError::Connect {
                            endpoint: address.to_string(),
                            source,
                        }
                    }
                }
            }
            Err(last)
        }
    }
}

fn connect_tcp(
    address: SocketAddr,
    candidates: usize,
    options: &SocketOptions,
    deadline: Option<Instant>,
) -> io::Result<Stream> {
    let stream = match deadline {
        None => TcpStream::connect(address)?,
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(candidates).unwrap_or(1).max(1);
            TcpStream::connect_timeout(&address, share.max(Duration::from_millis(1)))?
        }
    };
    options.apply(&stream)?;
    Ok(stream.into())
}

/// Connecting a Unix socket blocks while the server's backlog is full. The socket's write timeout limits that.
fn connect_unix(path: &Path, deadline: Option<Instant>) -> io::Result<UnixStream> {
    let Some(deadline) = deadline else {
        return UnixStream::connect(path);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
    socket.connect(&SockAddr::unix(path)?)?;
    socket.set_write_timeout(None)?;
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

/// Resolves a name. The system's resolver has no timeout: with a deadline it runs on a thread of its own, which is abandoned if
/// it is late.
fn resolve(
    host: &str,
    port: u16,
    deadline: Option<Instant>,
) -> Result<Vec<SocketAddr>, ConnectError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let look_up = move |host: &str| -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    };
    let found = match deadline {
        None => look_up(host),
        Some(deadline) => {
            let (sender, receiver) = mpsc::channel();
            let name = host.to_owned();
            let spawned = thread::Builder::new().spawn(move || {
                // Nobody listens any more when the look-up was late.
                let _ = sender.send(look_up(&name));
            });
            spawned.map_err(|source| ConnectError::Resolve {
                host: host.to_owned(),
                source,
            })?;
            receiver
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
                .map_err(|_| ConnectError::Timeout {
                    endpoint: host.to_owned(),
                })?
        }
    };
    found.map_err(|source| ConnectError::Resolve {
        host: host.to_owned(),
        source,
    })
}

fn failed(endpoint: &Endpoint, source: io::Error) -> ConnectError {
    ConnectError::Connect {
        endpoint: endpoint.to_string(),
        source,
    }
}
