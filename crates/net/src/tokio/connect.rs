//! Connects a socket within one deadline, including the name lookup.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, UnixStream, lookup_host};

use super::Stream;
use super::drive::within;
use crate::{ConnectError, Endpoint, SocketOptions};

/// Connects to `endpoint`. The addresses of a name are tried in turn, each with its share of the time left.
///
/// # Errors
/// Fails with the error of the last address, or with `Timeout`.
///
/// # Cancel safety
/// If the future is dropped before it completes, nothing is left behind.
pub async fn connect(
    endpoint: &Endpoint,
    options: &SocketOptions,
    deadline: Option<Instant>,
) -> Result<Stream, ConnectError> {
    let late = || ConnectError::Timeout {
        endpoint: endpoint.to_string(),
    };
    match endpoint {
        Endpoint::Unix(path) => {
            let stream = within(deadline, connect_unix(path))
                .await
                .ok_or_else(late)?;
            stream
                .map(Stream::from)
                .map_err(|source| ConnectError::Connect {
                    endpoint: endpoint.to_string(),
                    source,
                })
        }
        Endpoint::Tcp { host, port } => {
            let addresses: Vec<_> = within(deadline, lookup_host((host.as_str(), *port)))
                .await
                .ok_or_else(late)?
                .map_err(|source| ConnectError::Resolve {
                    host: host.clone(),
                    source,
                })?
                .collect();
            let mut last = ConnectError::Connect {
                endpoint: endpoint.to_string(),
                source: io::Error::other("the name has no address"),
            };
            for (tried, address) in addresses.iter().enumerate() {
                let share = deadline.map(|deadline| share(deadline, addresses.len() - tried));
                match within(share, TcpStream::connect(address)).await {
                    None => {
                        last = ConnectError::Timeout {
                            endpoint: address.to_string(),
                        }
                    }
                    Some(connected) => match connected.and_then(|stream| {
                        options.apply(&stream)?;
                        Ok(stream)
                    }) {
                        Ok(stream) => return Ok(stream.into()),
                        Err(source) => {
                            last = ConnectError::Connect {
                                endpoint: address.to_string(),
                                source,
                            }
                        }
                    },
                }
            }
            Err(last)
        }
    }
}

/// Connects a Unix socket. The wait for a full backlog cannot use readiness, because the kernel refuses at once.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    const PAUSE: Duration = Duration::from_millis(5);
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(PAUSE).await;
            }
            connected => return connected,
        }
    }
}

fn share(deadline: Instant, candidates: usize) -> Instant {
    let now = Instant::now();
    let left =
        deadline.saturating_duration_since(now) / u32::try_from(candidates).unwrap_or(1).max(1);
    now + left.max(Duration::from_millis(1))
}
