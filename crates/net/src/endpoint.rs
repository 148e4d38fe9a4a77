//! The address of a server, and the options of its socket.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A host name or address, and a port. Each address of the name is tried in turn.
    Tcp {
        /// Host name, IPv4 address, or IPv6 address without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// The path of a Unix socket. Only the two processes and the kernel see its bytes.
    Unix(PathBuf),
}

impl Endpoint {
    /// Returns whether the bytes stay on this host: the endpoint is a Unix socket, `localhost`, or a loopback address.
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

/// The maximum interval between two keepalive probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// The connection is lost after this many unanswered probes.
const PROBES: u32 = 3;

/// The options of TCP sockets. They do not apply to Unix sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOptions {
    /// TCP_NODELAY: commands are sent at once. Default: on.
    pub nodelay: bool,
    /// The idle time after which the kernel probes the peer. Default: one minute; `None`: never.
    ///
    /// The probes are ten seconds apart, or this time if it is shorter. After three unanswered probes the connection fails. A
    /// vanished host is thus detected within 90 s instead of the kernel's own 12 minutes.
    pub keepalive: Option<Duration>,
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged. `None`: the kernel's default.
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

    /// Like `apply`, for a socket that had other options before: options that are not set get their initial values.
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
