//! What is asked for. All of it has defaults but the addresses.
//!
//! Plain structs, made by hand or [from a file](Config::from_file).

pub(crate) mod changes;
mod check;
mod compression;
mod file;
mod role;

use std::time::Duration;

use onecopy_mysql_proto::auth::PublicKey;
use onecopy_mysql_proto::compression::Method;
use onecopy_net::{Endpoint, SocketOptions, TlsAcceptor, TlsConnector};

pub use onecopy_mysql_proto::auth::Secret;

pub use changes::Changes;
pub use check::ConfigError;
pub use compression::Offered;
pub use file::{DEFAULTS, FileError, endpoint};
pub use role::Role;

/// A whole proxy.
#[derive(Debug, Clone)]
pub struct Config {
    /// Event loops, each a thread; 0 for one a processor. Stays as it was at the start.
    pub workers: usize,
    /// Bytes that the buffers of all sessions may take together. Sessions wait for their turn beyond it.
    pub memory: usize,
    /// How long a session may keep buffers whose bytes the other side does not take, while others stand in line for them:
    /// then it is ended with error 1161. Nobody is ended while there is memory for all; where what is held beside buffers is
    /// by itself more than that, there need be no line. A kernel that holds megabytes for a
    /// client tells its sender of what is read in steps of some hundred KB: a time that is short ends clients that read slowly.
    pub stall_timeout: Duration,
    /// Clients in all; more wait for `queue_timeout` and then get error 1040.
    pub max_connections: usize,
    /// How long a client waits for a place where it would be one too many, in all or on the backends. Zero: not at all.
    pub queue_timeout: Duration,
    /// Clients that may wait for a place in all, and as many more on each listener for a backend's. Others are refused.
    pub queue_length: usize,
    /// How often the addresses of backends' names are looked up again; `None` for never.
    pub dns_interval: Option<Duration>,
    /// How often it is looked whether certificates and keys have changed; `None` for never.
    pub certificate_interval: Option<Duration>,
    /// How sessions are sent away.
    pub drain: DrainConfig,
    /// Where metrics and the state of the proxy are asked for.
    pub metrics: MetricsConfig,
    /// Where an administrator comes in.
    pub admin: AdminConfig,
    /// How it is found out that a backend is up.
    pub health: HealthConfig,
    /// What is said while it runs.
    pub log: LogConfig,
    /// Where clients come in.
    pub listeners: Vec<ListenerConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workers: 0,
            memory: 256 << 20,
            stall_timeout: Duration::from_secs(60),
            max_connections: 100_000,
            queue_timeout: Duration::ZERO,
            queue_length: 1_000,
            dns_interval: Some(Duration::from_secs(30)),
            certificate_interval: Some(Duration::from_secs(5)),
            drain: DrainConfig::default(),
            metrics: MetricsConfig::default(),
            admin: AdminConfig::default(),
            health: HealthConfig::default(),
            log: LogConfig::default(),
            listeners: Vec::new(),
        }
    }
}

/// How sessions are sent away: all of them before the proxy ends, those of a backend that is no longer configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainConfig {
    /// From the moment at which health says that no client shall come any more to the one at which none can.
    pub wait: Duration,
    /// How long sessions may take to end their transactions; the rest is ended with error 1053.
    pub timeout: Duration,
}

impl Default for DrainConfig {
    fn default() -> Self {
        Self {
            wait: Duration::ZERO,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Metrics and health over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricsConfig {
    /// Where it is listened; `None` for nowhere.
    pub listen: Option<Endpoint>,
}

/// Administration over MySQL's own protocol.
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Where it is listened; `None` for nowhere.
    pub listen: Option<Endpoint>,
    /// Who may come in.
    pub user: String,
    /// And with which password. Never empty where it is listened.
    pub password: Secret,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: None,
            user: "admin".to_owned(),
            password: Secret::default(),
        }
    }
}

/// Wipes nothing while it compares: both are kept anyway.
impl PartialEq for AdminConfig {
    fn eq(&self, other: &Self) -> bool {
        let whole = |admin: &Self| (admin.listen.clone(), admin.user.clone());
        whole(self) == whole(other) && self.password.expose() == other.password.expose()
    }
}

/// How backends are asked whether they are up.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthConfig {
    /// From one question to the next; `None` for no questions: then only connects that fail tell.
    pub interval: Option<Duration>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Answers missing one after the other until a backend is down.
    pub fall: u32,
    /// Answers one after the other until it is up again.
    pub rise: u32,
    /// Who asks; `None`: nobody logs in, a greeting is answer enough.
    pub login: Option<HealthLogin>,
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(5)),
            timeout: Duration::from_secs(2),
            fall: 2,
            rise: 1,
            login: None,
        }
    }
}

/// An account on all backends that may do nothing but connect.
#[derive(Debug, Clone)]
pub struct HealthLogin {
    /// Its name.
    pub user: String,
    /// Its password; empty for none.
    pub password: Secret,
}

impl PartialEq for HealthLogin {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user && self.password.expose() == other.password.expose()
    }
}

/// What is said while it runs, on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogConfig {
    /// How a line looks.
    pub format: LogFormat,
    /// From what on something is said.
    pub level: LogLevel,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object of JSON a line.
    Json,
}

/// How much something matters; what matters less comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Something does not work that should.
    Error,
    /// Something may soon not work.
    Warn,
    /// What has changed.
    #[default]
    Info,
    /// Every session.
    Debug,
}

/// One listener, and where it leads.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Its name in metrics and logs.
    pub name: String,
    /// Addresses that are listened on; a port of 0 is any that is free.
    pub listen: Vec<Endpoint>,
    /// TLS with clients; `None` where it is not offered.
    pub tls: Option<TlsAcceptor>,
    /// Whether clients without TLS are refused; over Unix sockets they never are.
    pub requires_tls: bool,
    /// Which algorithms clients may compress by.
    pub compression: Offered,
    /// Whether clients have to say first, by the PROXY protocol, who they are.
    pub expects_proxy_header: bool,
    /// Whether the proxy may hold passwords of `caching_sha2_password` and `sha256_password` in clear text, for the moment
    /// that it takes to put them under another key: where a client has TLS and its backend has not, or the other way round,
    /// and the server does not know the password yet. Off by default: such a login ends with an error then.
    ///
    /// A client without TLS gets a key of the proxy's own, of 2,048 bits, made at the start. A backend without TLS is asked
    /// for its key, so that whoever is between it and the proxy can put in a key of their own and read the password, unless
    /// the key is [pinned](BackendConfig::public_key). Over TLS a backend gets the password itself; have it verified.
    pub reencrypt_passwords: bool,
    /// Clients of one user; more get error 1203. `None` for any number.
    pub max_user_connections: Option<usize>,
    /// From the greeting to the end of the login. Shorter than the servers' `connect_timeout`, 10 s by default, or these close first.
    pub handshake_timeout: Duration,
    /// Time without a byte in either direction after which a client is told to go; `None` for ever.
    pub idle_timeout: Option<Duration>,
    /// How sockets of clients are set.
    pub socket: SocketOptions,
    /// The servers.
    pub backends: Vec<BackendConfig>,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            name: "mysql".to_owned(),
            listen: Vec::new(),
            tls: None,
            requires_tls: false,
            compression: Offered::default(),
            expects_proxy_header: false,
            reencrypt_passwords: false,
            max_user_connections: None,
            handshake_timeout: Duration::from_secs(8),
            idle_timeout: None,
            socket: SocketOptions::default(),
            backends: Vec::new(),
        }
    }
}

/// One server.
#[derive(Debug, Clone)]
pub struct BackendConfig {
    /// Its name in metrics and logs.
    pub name: String,
    /// Where it is.
    pub endpoint: Endpoint,
    /// Which sessions it gets.
    pub role: Role,
    /// Its share of the sessions beside the others'; 0 for none.
    pub weight: u32,
    /// Sessions that it gets at the most; `None` for any number.
    pub max_connections: Option<usize>,
    /// TLS with it; `None` for clear text.
    pub tls: Option<TlsConnector>,
    /// How bytes are compressed on the way to and from it; `None`: they are not. A server that does not offer it is not used.
    pub compression: Option<Method>,
    /// Its RSA key, MySQL's own `public_key.pem`, for passwords that the listener
    /// [puts under another key](ListenerConfig::reencrypt_passwords); `None`: whichever it sends.
    pub public_key: Option<PublicKey>,
    /// Whether the server is told, by the PROXY protocol, who the client is.
    pub sends_proxy_header: bool,
    /// How long a connect may take.
    pub connect_timeout: Duration,
    /// How sockets to it are set.
    pub socket: SocketOptions,
}

impl BackendConfig {
    /// A server with all defaults.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            name: endpoint.to_string(),
            endpoint,
            role: Role::Any,
            weight: 1,
            max_connections: None,
            tls: None,
            compression: None,
            public_key: None,
            sends_proxy_header: false,
            connect_timeout: Duration::from_secs(5),
            socket: SocketOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_another_one_where_its_name_or_its_password_is() {
        let login = |user: &str, password: &str| HealthLogin {
            user: user.to_owned(),
            password: Secret::new(password.as_bytes().to_vec()),
        };
        assert_eq!(login("a", "1"), login("a", "1"));
        assert_ne!(login("a", "1"), login("b", "1"));
        assert_ne!(login("a", "1"), login("a", "2"));
    }
}
