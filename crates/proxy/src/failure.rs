//! Why a session ends, and what its client is told.

use std::fmt;

use onecopy_mysql_proto::relay::Verdict;

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

impl Side {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Client, Self::Backend, Self::Proxy];

    /// Its name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Backend => "backend",
            Self::Proxy => "proxy",
        }
    }
}

/// What kind of end it is: a number for counting, a word for metrics and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// As many clients as there may be, in all or on the backends.
    MaxConnections,
    /// As many of this user as there may be.
    MaxUserConnections,
    /// Nobody to connect to.
    NoBackend,
    /// The backend's own error, word for word: a wrong password, say.
    Refused,
    /// The backend is gone.
    BackendLost,
    /// The backend's bytes make no sense.
    BackendProtocol,
    /// TLS with the backend.
    BackendTls,
    /// The client is gone.
    ClientLost,
    /// The client's bytes make no sense.
    ClientProtocol,
    /// TLS with the client.
    ClientTls,
    /// The client did not ask for TLS, which it has to.
    TlsRequired,
    /// The password could not pass: one side is encrypted and the other is not.
    PasswordExposed,
    /// The client took too long to log in, or to send a packet.
    Timeout,
    /// The client said nothing for too long.
    Idle,
    /// It kept memory for too long that others waited for.
    Stalled,
    /// The proxy stops or is drained.
    Shutdown,
    /// No memory could be had.
    OutOfMemory,
    /// An administrator's order.
    Killed,
    /// No descriptor could be had, or none that is not kept back.
    OpenFiles,
    /// The backend took too long over a login.
    BackendTimeout,
    /// A pooled session's state could not be set on another connection.
    Replay,
    /// A pooled listener does not know the user, or not by this password.
    AccessDenied,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 22] = [
        Self::MaxConnections,
        Self::MaxUserConnections,
        Self::NoBackend,
        Self::Refused,
        Self::BackendLost,
        Self::BackendProtocol,
        Self::BackendTls,
        Self::ClientLost,
        Self::ClientProtocol,
        Self::ClientTls,
        Self::TlsRequired,
        Self::PasswordExposed,
        Self::Timeout,
        Self::Idle,
        Self::Stalled,
        Self::Shutdown,
        Self::OutOfMemory,
        Self::Killed,
        Self::OpenFiles,
        Self::BackendTimeout,
        Self::Replay,
        Self::AccessDenied,
    ];

    /// Who it is that fails so.
    pub const fn side(self) -> Side {
        match self {
            Self::NoBackend
            | Self::Refused
            | Self::BackendLost
            | Self::BackendProtocol
            | Self::BackendTls
            | Self::BackendTimeout => Side::Backend,
            Self::ClientLost
            | Self::ClientProtocol
            | Self::ClientTls
            | Self::TlsRequired
            | Self::Timeout
            | Self::Idle
            | Self::AccessDenied => Side::Client,
            _ => Side::Proxy,
        }
    }

    /// Its name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxConnections => "max_connections",
            Self::MaxUserConnections => "max_user_connections",
            Self::NoBackend => "no_backend",
            Self::Refused => "refused",
            Self::BackendLost => "backend_lost",
            Self::BackendProtocol => "backend_protocol",
            Self::BackendTls => "backend_tls",
            Self::ClientLost => "client_lost",
            Self::ClientProtocol => "client_protocol",
            Self::ClientTls => "client_tls",
            Self::TlsRequired => "tls_required",
            Self::PasswordExposed => "password_exposed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Stalled => "stalled",
            Self::Shutdown => "shutdown",
            Self::OutOfMemory => "out_of_memory",
            Self::Killed => "killed",
            Self::OpenFiles => "open_files",
            Self::BackendTimeout => "backend_timeout",
            Self::Replay => "replay",
            Self::AccessDenied => "access_denied",
        }
    }

    /// Why a server closes behind an error with this number, where that is not its own affair.
    pub(crate) const fn behind_error(code: u16) -> Option<Self> {
        match code {
            PACKET_TOO_LARGE | PACKETS_OUT_OF_ORDER | UNCOMPRESS_ERROR | READ_ERROR
            | MALFORMED_PACKET => Some(Self::ClientProtocol),
            READ_INTERRUPTED => Some(Self::Timeout),
            INTERACTION_TIMEOUT => Some(Self::Idle),
            QUERY_INTERRUPTED | CONNECTION_KILLED => Some(Self::Killed),
            _ => None,
        }
    }
}

/// The end of a session before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who failed.
    pub side: Side,
    /// What kind of end it is.
    pub reason: Reason,
    /// The error's number for the client, MySQL's own where it has one for it; 0 where it is told nothing.
    pub code: u16,
    /// The error's SQLSTATE.
    pub sql_state: [u8; 5],
    /// What happened and what can be done, in one line.
    pub message: String,
}

/// `ER_SECURE_TRANSPORT_REQUIRED`.
const SECURE_TRANSPORT: u16 = 3159;

/// `ER_CONNECT_TO_FOREIGN_DATA_SOURCE`.
pub(crate) const NOT_CONNECTED: u16 = 1429;

/// `CR_SERVER_LOST`, which a client's library has for itself.
pub(crate) const SERVER_LOST: u16 = 2013;

/// What became of a connection that has ended without a word.
pub(crate) const CLOSED: &str = "it closed the connection";

/// Why a backend is left to which no connection could be made in time.
pub(crate) const NO_ANSWER: &str = "it does not answer (connect-timeout)";

/// `ER_NET_PACKET_TOO_LARGE`: more than `max_allowed_packet`.
const PACKET_TOO_LARGE: u16 = 1153;

/// `ER_NET_PACKETS_OUT_OF_ORDER`: a wrong sequence id.
const PACKETS_OUT_OF_ORDER: u16 = 1156;

/// `ER_NET_UNCOMPRESS_ERROR`, `ER_NET_READ_ERROR`.
const UNCOMPRESS_ERROR: u16 = 1157;
const READ_ERROR: u16 = 1158;

/// `ER_NET_READ_INTERRUPTED`: a packet did not come in time.
const READ_INTERRUPTED: u16 = 1159;

/// `ER_QUERY_INTERRUPTED`, MySQL's for a `KILL` of a session in a statement; MariaDB's `ER_CONNECTION_KILLED`.
const QUERY_INTERRUPTED: u16 = 1317;
const CONNECTION_KILLED: u16 = 1927;

/// `ER_MALFORMED_PACKET`.
const MALFORMED_PACKET: u16 = 1835;

/// `ER_CLIENT_INTERACTION_TIMEOUT`.
const INTERACTION_TIMEOUT: u16 = 4031;
const GENERAL: [u8; 5] = *b"HY000";
const CONNECTION: [u8; 5] = *b"08S01";
const REFUSED: [u8; 5] = *b"08004";

impl Failure {
    /// `ER_CON_COUNT_ERROR`: clients in all.
    pub(crate) fn too_many_connections() -> Self {
        let message = "Too many connections (the proxy's max-connections)";
        Self::new(Side::Proxy, Reason::MaxConnections, 1040, REFUSED, message)
    }

    /// The same where descriptors do not do for more.
    pub(crate) fn open_files() -> Self {
        let message = "Too many connections (the proxy's limit of open files)";
        Self::new(Side::Proxy, Reason::OpenFiles, 1040, REFUSED, message)
    }

    /// The same of the backends: of what the proxy lets there be, or of the servers' own.
    pub(crate) fn backends_full() -> Self {
        let message = "Too many connections (max-connections of the proxy's backends)";
        Self::new(Side::Proxy, Reason::MaxConnections, 1040, REFUSED, message)
    }

    /// `ER_TOO_MANY_USER_CONNECTIONS`.
    pub(crate) fn too_many_of_user(user: &[u8]) -> Self {
        let user = String::from_utf8_lossy(user);
        let message = format!(
            "User {user} already has more than 'max_user_connections' active connections (the proxy's setting)"
        );
        Self::new(
            Side::Proxy,
            Reason::MaxUserConnections,
            1203,
            *b"42000",
            message,
        )
    }

    /// `ER_CON_COUNT_ERROR` of a pool: nobody has given a connection back in time.
    pub(crate) fn pool_timeout(
        waited: std::time::Duration,
        connections: usize,
        waiting: usize,
        why: &str,
    ) -> Self {
        let mut message = format!(
            "Too many connections (the proxy's pool: waited {waited:?} for one of {connections}, as {waiting} clients do; see \
             max and wait-timeout of [mysql.pool])"
        );
        if !why.is_empty() {
            message = format!("{message}; new ones fail: {why}");
        }
        Self::new(Side::Proxy, Reason::MaxConnections, 1040, REFUSED, message)
    }

    /// `ER_HOST_IS_BLOCKED`: so many wrong passwords that this one is not looked at.
    pub(crate) fn too_many_wrong_logins(user: &[u8], wait: std::time::Duration) -> Self {
        let user = String::from_utf8_lossy(user);
        let seconds = wait.as_secs() + 1;
        let message = format!(
            "Too many wrong logins of user '{user}' from this host (the proxy answers the next one in {seconds} s)"
        );
        Self::new(Side::Client, Reason::AccessDenied, 1129, GENERAL, message)
    }

    /// `ER_ACCESS_DENIED_ERROR`: a reload has removed the account, and the session needs a connection of it.
    pub(crate) fn account_removed(user: &[u8]) -> Self {
        let user = String::from_utf8_lossy(user);
        let message = format!(
            "Access denied for user '{user}' (the account was removed from the proxy's listener)"
        );
        Self::new(Side::Client, Reason::AccessDenied, 1045, *b"28000", message)
    }

    /// `ER_ACCESS_DENIED_ERROR`: a reload has put another hash in place of the password, nobody has logged in with that one since, and
    /// the session needs a connection.
    pub(crate) fn password_unknown(user: &[u8]) -> Self {
        let user = String::from_utf8_lossy(user);
        let message = format!(
            "Access denied for user '{user}' (the password of the proxy's account has changed; log in again)"
        );
        Self::new(Side::Client, Reason::AccessDenied, 1045, *b"28000", message)
    }

    /// A session's state could not be brought to a connection.
    pub(crate) fn replay(why: &str) -> Self {
        let message = format!(
            "The state of the session could not be set on another server connection: {why}"
        );
        Self::new(Side::Proxy, Reason::Replay, 1105, GENERAL, message)
    }

    /// The same before anything of the client's command was sent: as the server says it.
    pub(crate) fn refused_by_backend(code: u16, sql_state: Option<[u8; 5]>, message: &str) -> Self {
        let sql_state = sql_state.unwrap_or(GENERAL);
        Self::new(Side::Proxy, Reason::Replay, code, sql_state, message)
    }

    /// Nobody to connect to. `CR_CONN_HOST_ERROR`, 2003, is one of a client's own, which
    /// libmariadb takes for a malformed packet where a server says it.
    pub(crate) fn no_backend(why: &str) -> Self {
        let message = format!("Can't connect to a MySQL server for this client: {why}");
        Self::new(
            Side::Backend,
            Reason::NoBackend,
            NOT_CONNECTED,
            GENERAL,
            message,
        )
    }

    /// `CR_SERVER_LOST`; `when` is what the session was at.
    pub(crate) fn backend_lost(name: &str, when: &str, why: &str) -> Self {
        Self::backend_was_lost(format!("Lost connection to backend '{name}' {when}: {why}"))
    }

    /// The same, told later in the words of then.
    pub(crate) fn backend_was_lost(message: String) -> Self {
        Self::new(
            Side::Backend,
            Reason::BackendLost,
            SERVER_LOST,
            CONNECTION,
            message,
        )
    }

    /// The same between commands; the client is told nothing, as by a server that closes.
    pub(crate) fn backend_gone(name: &str, why: &str) -> Self {
        let message = format!("Lost connection to backend '{name}' between commands: {why}");
        Self::new(Side::Backend, Reason::BackendLost, 0, CONNECTION, message)
    }

    /// The backend's bytes make no sense.
    pub(crate) fn backend_broken(name: &str, why: &dyn fmt::Display) -> Self {
        let message = format!("Backend '{name}' violates the protocol: {why}");
        Self::new(
            Side::Backend,
            Reason::BackendProtocol,
            2027,
            GENERAL,
            message,
        )
    }

    /// `ER_HANDSHAKE_ERROR`, or `ER_MALFORMED_PACKET` later on.
    pub(crate) fn client_broken(why: &dyn fmt::Display) -> Self {
        let message = format!("Bad packet: {why}");
        Self::new(
            Side::Client,
            Reason::ClientProtocol,
            MALFORMED_PACKET,
            CONNECTION,
            message,
        )
    }

    /// The client is gone; it is told nothing.
    pub(crate) fn client_lost() -> Self {
        Self::new(
            Side::Client,
            Reason::ClientLost,
            0,
            CONNECTION,
            "the client disconnected",
        )
    }

    /// `ER_SECURE_TRANSPORT_REQUIRED`.
    pub(crate) fn tls_required() -> Self {
        let message =
            "Connections using insecure transport are prohibited: use TLS (ssl-mode=REQUIRED)";
        Self::new(
            Side::Client,
            Reason::TlsRequired,
            SECURE_TRANSPORT,
            GENERAL,
            message,
        )
    }

    /// Nobody to connect to either. `CR_SSL_CONNECTION_ERROR`, 2026, is one of a client's own as well.
    pub(crate) fn backend_tls(name: &str, why: &dyn fmt::Display) -> Self {
        let message = format!("TLS with backend '{name}' failed: {why}");
        Self::new(
            Side::Backend,
            Reason::BackendTls,
            NOT_CONNECTED,
            GENERAL,
            message,
        )
    }

    /// TLS with the client failed.
    pub(crate) fn client_tls(why: &dyn fmt::Display) -> Self {
        Self::new(
            Side::Client,
            Reason::ClientTls,
            0,
            CONNECTION,
            format!("TLS with the client failed: {why}"),
        )
    }

    /// `ER_NET_READ_INTERRUPTED`: the client takes too long to log in.
    pub(crate) fn slow_login(why: &str) -> Self {
        Self::new(
            Side::Client,
            Reason::Timeout,
            READ_INTERRUPTED,
            CONNECTION,
            format!("Timeout: the login took too long ({why})"),
        )
    }

    /// The same where it is the backend's turn.
    pub(crate) fn slow_backend(name: &str) -> Self {
        Self::new(
            Side::Backend,
            Reason::BackendTimeout,
            READ_INTERRUPTED,
            CONNECTION,
            format!(
                "Timeout: backend '{name}' took too long to let the client log in (handshake-timeout)"
            ),
        )
    }

    /// `ER_CLIENT_INTERACTION_TIMEOUT`.
    pub(crate) fn idle() -> Self {
        let message =
            "The client was disconnected by the proxy because of inactivity (idle-timeout)";
        Self::new(
            Side::Client,
            Reason::Idle,
            INTERACTION_TIMEOUT,
            GENERAL,
            message,
        )
    }

    /// `ER_NET_WRITE_INTERRUPTED`, as servers have it for a client that takes nothing.
    pub(crate) fn stalled(who: &str) -> Self {
        Self::new(
            Side::Proxy,
            Reason::Stalled,
            1161,
            CONNECTION,
            format!(
                "Got timeout writing communication packets: {who} while others waited for memory (stall-timeout, memory)"
            ),
        )
    }

    /// `ER_SERVER_SHUTDOWN`.
    pub(crate) fn shutdown() -> Self {
        Self::new(
            Side::Proxy,
            Reason::Shutdown,
            1053,
            CONNECTION,
            "Server shutdown in progress (the proxy is being stopped or drained)",
        )
    }

    /// `ER_SERVER_SHUTDOWN`, where it is not the proxy that ends.
    pub(crate) fn backend_removed() -> Self {
        Self::new(
            Side::Proxy,
            Reason::Shutdown,
            1053,
            CONNECTION,
            "Server shutdown in progress (the proxy's configuration does not have this session's backend any more)",
        )
    }

    /// `ER_OUTOFMEMORY`.
    pub(crate) fn out_of_memory() -> Self {
        Self::new(
            Side::Proxy,
            Reason::OutOfMemory,
            1037,
            *b"HY001",
            "Out of memory in the proxy (its setting memory, or the system's)",
        )
    }

    /// A password that would pass between sides of which only one is secure.
    pub(crate) fn password_exposed(plugin: &[u8], verdict: Verdict) -> Self {
        let plugin = String::from_utf8_lossy(plugin);
        let way_out = match verdict {
            Verdict::Encrypt | Verdict::Decrypt => {
                "use TLS on both sides, set reencrypt-passwords for the proxy's listener, or log in once where the server \
                 keeps what it needs"
            }
            _ => "use TLS on both sides, or another plugin for the account",
        };
        let message = format!(
            "The proxy can't pass the password on for '{plugin}': one side is TLS or a Unix socket and the other is not; {way_out}"
        );
        Self::new(
            Side::Proxy,
            Reason::PasswordExposed,
            SECURE_TRANSPORT,
            GENERAL,
            message,
        )
    }

    /// The same in a change of user.
    pub(crate) fn password_exposed_later() -> Self {
        let message = "The change of user needs the password itself, and one side of the proxy is TLS or a Unix socket and the \
                       other is not; use TLS on both sides, or reconnect";
        Self::new(
            Side::Proxy,
            Reason::PasswordExposed,
            SECURE_TRANSPORT,
            GENERAL,
            message,
        )
    }

    /// Killed by an administrator.
    pub(crate) fn killed() -> Self {
        Self::new(
            Side::Proxy,
            Reason::Killed,
            CONNECTION_KILLED,
            *b"70100",
            "Connection was killed (by an administrator of the proxy)",
        )
    }

    fn new(
        side: Side,
        reason: Reason,
        code: u16,
        sql_state: [u8; 5],
        message: impl Into<String>,
    ) -> Self {
        Self {
            side,
            reason,
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

#[cfg(test)]
mod tests;
