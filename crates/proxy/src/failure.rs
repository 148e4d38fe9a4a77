//! Why a session ends, and what its client is told.

use std::fmt;

/// Who it is that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The backend.
    Backend,
    /// The proxy itself: a limit, a setting, an end that was asked for.
    Proxy,
}

/// The end of a session before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who failed.
    pub side: Side,
    /// The error's number for the client, MySQL's own where it has one for it.
    pub code: u16,
    /// The error's SQLSTATE.
    pub sql_state: [u8; 5],
    /// What happened and what can be done, in one line.
    pub message: String,
}

const GENERAL: [u8; 5] = *b"HY000";
const CONNECTION: [u8; 5] = *b"08S01";
const REFUSED: [u8; 5] = *b"08004";

impl Failure {
    /// `ER_CON_COUNT_ERROR`: clients in all.
    pub(crate) fn too_many_connections() -> Self {
        let message = "Too many connections (the proxy's max-connections)";
        Self::new(Side::Proxy, 1040, REFUSED, message)
    }

    /// The same of the backends.
    pub(crate) fn backends_full() -> Self {
        let message = "Too many connections (max-connections of the proxy's backends)";
        Self::new(Side::Proxy, 1040, REFUSED, message)
    }

    /// `ER_TOO_MANY_USER_CONNECTIONS`.
    pub(crate) fn too_many_of_user(user: &str) -> Self {
        let message = format!(
            "User {user} already has more than 'max_user_connections' active connections (the proxy's setting)"
        );
        Self::new(Side::Proxy, 1203, *b"42000", message)
    }

    /// `CR_CONN_HOST_ERROR`: nobody to connect to.
    pub(crate) fn no_backend(why: &str) -> Self {
        let message = format!("Can't connect to a MySQL server for this client: {why}");
        Self::new(Side::Backend, 2003, GENERAL, message)
    }

    /// `CR_SERVER_LOST`.
    pub(crate) fn backend_lost(name: &str, why: &str) -> Self {
        let message = format!("Lost connection to backend '{name}' during query: {why}");
        Self::new(Side::Backend, 2013, GENERAL, message)
    }

    /// The backend's bytes make no sense.
    pub(crate) fn backend_broken(name: &str, why: &dyn fmt::Display) -> Self {
        let message = format!("Backend '{name}' does not keep to the protocol: {why}");
        Self::new(Side::Backend, 2027, GENERAL, message)
    }

    /// `ER_HANDSHAKE_ERROR`, or `ER_MALFORMED_PACKET` later on.
    pub(crate) fn client_broken(why: &dyn fmt::Display) -> Self {
        let message = format!("Bad packet: {why}");
        Self::new(Side::Client, 1835, CONNECTION, message)
    }

    /// The client is gone; it is told nothing.
    pub(crate) fn client_lost() -> Self {
        Self::new(Side::Client, 0, CONNECTION, "the client is gone")
    }

    /// `ER_SECURE_TRANSPORT_REQUIRED`.
    pub(crate) fn tls_required() -> Self {
        let message =
            "Connections using insecure transport are prohibited: use TLS (ssl-mode=REQUIRED)";
        Self::new(Side::Client, 3159, GENERAL, message)
    }

    /// `CR_SSL_CONNECTION_ERROR`, towards the backend.
    pub(crate) fn backend_tls(name: &str, why: &dyn fmt::Display) -> Self {
        let message = format!("TLS with backend '{name}' failed: {why}");
        Self::new(Side::Backend, 2026, GENERAL, message)
    }

    /// TLS with the client failed.
    pub(crate) fn client_tls(why: &dyn fmt::Display) -> Self {
        Self::new(
            Side::Client,
            0,
            CONNECTION,
            format!("TLS with the client failed: {why}"),
        )
    }

    /// `ER_NET_READ_INTERRUPTED` and its like: a time is over.
    pub(crate) fn timed_out(what: &str) -> Self {
        Self::new(Side::Proxy, 1159, CONNECTION, format!("Timeout: {what}"))
    }

    /// `ER_CLIENT_INTERACTION_TIMEOUT`.
    pub(crate) fn idle() -> Self {
        let message =
            "The client was disconnected by the proxy because of inactivity (idle-timeout)";
        Self::new(Side::Proxy, 4031, GENERAL, message)
    }

    /// `ER_SERVER_SHUTDOWN`.
    pub(crate) fn shutdown() -> Self {
        Self::new(
            Side::Proxy,
            1053,
            CONNECTION,
            "Server shutdown in progress (the proxy is being stopped or drained)",
        )
    }

    /// `ER_OUTOFMEMORY`.
    pub(crate) fn out_of_memory() -> Self {
        Self::new(Side::Proxy, 1037, *b"HY001", "Out of memory in the proxy")
    }

    /// A password that would have to leave an encrypted side for one that is not, or the other way round.
    pub(crate) fn password_exposed(plugin: &str) -> Self {
        let message = format!(
            "The password can't pass for '{plugin}': one side of the proxy is TLS (or a Unix socket) and the other is not; use TLS \
             on both sides, or log in once where the server caches it"
        );
        Self::new(Side::Proxy, 2061, GENERAL, message)
    }

    /// Killed by an administrator.
    pub(crate) fn killed() -> Self {
        Self::new(
            Side::Proxy,
            1927,
            *b"70100",
            "Connection was killed (by an administrator of the proxy)",
        )
    }

    fn new(side: Side, code: u16, sql_state: [u8; 5], message: impl Into<String>) -> Self {
        Self {
            side,
            code,
            sql_state,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
