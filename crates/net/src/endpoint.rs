//! Where a server is, and how its socket is set.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A host's name or address, and a port. Every address that the name has is tried in turn.
    Tcp {
        /// Name, IPv4 or IPv6 address without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket: nobody but the two processes and the kernel sees its bytes.
    Unix(PathBuf),
}

impl Endpoint {
    /// Whether nobody on a network can see the bytes: a Unix socket, or a host that is this one by its address.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => {
                host == "localhost"
                    || host
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|address| address.is_loopback())
            }
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// From one probe of keepalive to the next, at the most.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// So many of them without an answer are the end.
const PROBES: u32 = 3;

/// Options of TCP sockets. Unix sockets have none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOptions {
    /// TCP_NODELAY: commands leave at once. On.
    pub nodelay: bool,
    /// Idle time before the kernel probes the peer. One minute; `None` for never. Probes follow each other by ten seconds, or by
    /// this time where it is shorter, and after three without an answer the peer is gone: where its host has vanished that takes
    /// 90 s and not the kernel's own 12 minutes.
    pub keepalive: Option<Duration>,
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged. `None` for the kernel's own.
    pub user_timeout: Option<Duration>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            nodelay: true,
            keepalive: Some(Duration::from_secs(60)),
            user_timeout: None,
        }
    }
}

impl SocketOptions {
    pub(crate) fn apply<'s>(&self, socket: impl Into<socket2::SockRef<'s>>) -> io::Result<()> {
        let socket = socket.into();
        socket.set_tcp_nodelay(self.nodelay)?;
        if let Some(idle) = self.keepalive {
            let keepalive = socket2::TcpKeepalive::new().with_time(idle);
            let keepalive = keepalive
                .with_interval(idle.min(PROBE_INTERVAL))
                .with_retries(PROBES);
            socket.set_tcp_keepalive(&keepalive)?;
        }
        #[cfg(target_os = "linux")]
        if self.user_timeout.is_some() {
            socket.set_tcp_user_timeout(self.user_timeout)?;
        }
        Ok(())
    }

    /// The same for a socket that had others before: what is not set is as it is from the start.
    #[cfg(feature = "evented")]
    pub(crate) fn apply_anew<'s>(&self, socket: impl Into<socket2::SockRef<'s>>) -> io::Result<()> {
        let socket = socket.into();
        socket.set_keepalive(self.keepalive.is_some())?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(self.user_timeout.unwrap_or_default()))?;
        self.apply(&*socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_is_local() {
        let tcp = |host: &str| Endpoint::Tcp {
            host: host.into(),
            port: 3306,
        };
        for (host, local) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("10.0.0.1", false),
            ("db", false),
        ] {
            assert_eq!(tcp(host).is_local(), local, "{host}");
        }
        assert!(Endpoint::Unix("/run/mysqld.sock".into()).is_local());
    }

    #[test]
    fn an_ipv6_address_is_shown_in_brackets() {
        assert_eq!(
            Endpoint::Tcp {
                host: "::1".into(),
                port: 3306
            }
            .to_string(),
            "[::1]:3306"
        );
    }
}
