//! The configuration. Everything except the addresses has a default.
//!
//! It consists of plain structs, created in code or [from a file](Config::from_file).

pub(crate) mod changes;
mod check;
mod compression;
mod digests;
mod discovery;
mod file;
mod pooling;
mod role;
mod rule;
mod statement_log;
mod stored_hash;
mod traces;
mod upgrade;
mod web;

use std::time::Duration;

use onecopy_mysql_proto::auth::PublicKey;
use onecopy_mysql_proto::compression::Method;
use onecopy_net::{Endpoint, SocketOptions, TlsAcceptor, TlsConnector};

pub use onecopy_mysql_proto::auth::{PluginSet, Secret};

pub use changes::Changes;
pub(crate) use check::LEAST_BUDGET;
pub use check::{ConfigError, PoolError};
pub use compression::Offered;
pub use digests::DigestsConfig;
pub use discovery::DiscoveryConfig;
pub(crate) use discovery::MOST_DISCOVERED;
pub use file::{DEFAULTS, FileError, endpoint};
pub use onecopy_pool::Rate;
pub use pooling::{AccountConfig, Consistency, Mode, PoolConfig, Reads, ReplicaReads};
pub use role::Role;
pub(crate) use rule::compile;
pub use rule::{RuleConfig, RuleTarget};
pub use statement_log::{
    AuditEvents, AuditLogConfig, Literals, LogFileConfig, SlowLogConfig, WhenFull,
};
pub use stored_hash::StoredHash;
pub use traces::{CollectorUrl, CollectorUrlError, TracesConfig};
pub use upgrade::UpgradeConfig;
pub use web::{Actions, WebConfig};

/// The configuration of a proxy.
///
/// # Example
/// ```
/// use onecopy_proxy::config::Config;
///
/// # fn main() -> Result<(), onecopy_proxy::config::FileError> {
/// let text = "
///     [[mysql]]
///     listen = '127.0.0.1:3307'
///     [[mysql.backend]]
///     server = 'db1.example.com:3306'
/// ";
/// let config = Config::from_toml(text, "proxy.toml".as_ref())?; // the path is for errors
/// assert_eq!(config.listeners.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// The number of worker threads; 0 means one per CPU. It cannot be changed by a reload.
    pub workers: usize,
    /// The memory limit for the buffers of all sessions together, in bytes. When it is reached, sessions wait for each other.
    pub memory: usize,
    /// How long a session may hold buffers whose bytes the other side does not read while other sessions wait for memory. After
    /// that it ends with error 1161. Sessions are not ended while there is memory for all, unless the memory that is held besides
    /// buffers (by TLS, compression and commands sent ahead) alone exceeds `memory`. A kernel that buffers megabytes for a client
    /// reports progress to the sender only in steps of a few hundred KB, so a short time ends clients that read slowly.
    pub stall_timeout: Duration,
    /// The maximum number of clients. Further clients wait for `queue_timeout`, then get error 1040.
    pub max_connections: usize,
    /// How long a client above a limit waits, total or per backend. Zero: it is refused at once.
    pub queue_timeout: Duration,
    /// How many clients may wait for the total limit, and how many more on each listener for a backend. Others are refused at
    /// once.
    pub queue_length: usize,
    /// How often the host names of backends are resolved again; `None`: never.
    pub dns_interval: Option<Duration>,
    /// How often certificate and key files are checked for changes; `None`: never.
    pub certificate_interval: Option<Duration>,
    /// How sessions are drained.
    pub drain: DrainConfig,
    /// The HTTP listener for metrics and health.
    pub metrics: MetricsConfig,
    /// The HTTP listener for the live page, which also serves metrics and health.
    pub web: WebConfig,
    /// The admin listener.
    pub admin: AdminConfig,
    /// The health checks of the backends.
    pub health: HealthConfig,
    /// The log.
    pub log: LogConfig,
    /// Statements by digest.
    pub digests: DigestsConfig,
    /// How another process takes over.
    pub upgrade: UpgradeConfig,
    /// The log of slow statements.
    pub slow_log: SlowLogConfig,
    /// The audit log.
    pub audit_log: AuditLogConfig,
    /// Traces of statements.
    pub traces: TracesConfig,
    /// The listeners for clients.
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
            web: WebConfig::default(),
            admin: AdminConfig::default(),
            health: HealthConfig::default(),
            log: LogConfig::default(),
            digests: DigestsConfig::default(),
            upgrade: UpgradeConfig::default(),
            slow_log: SlowLogConfig::default(),
            audit_log: AuditLogConfig::default(),
            traces: TracesConfig::default(),
            listeners: Vec::new(),
        }
    }
}

impl Config {
    /// All addresses that are listened on.
    pub(crate) fn listens(&self) -> impl Iterator<Item = Endpoint> {
        let mysql = self.listeners.iter();
        let mysql = mysql.flat_map(|listener| listener.listen.clone());
        let control = [&self.metrics.listen, &self.web.listen, &self.admin.listen];
        let upgrade = self.upgrade.socket.clone().map(Endpoint::Unix);
        mysql
            .chain(control.into_iter().flatten().cloned())
            .chain(upgrade)
    }
}

/// How sessions are drained: all of them before the proxy stops, and those of a backend that was removed from the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainConfig {
    /// How long the health endpoint reports unavailability before new clients are refused.
    pub wait: Duration,
    /// How long sessions have to finish their transactions; the rest end with error 1053.
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

/// The HTTP listener for metrics and health.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricsConfig {
    /// The address to listen on; `None`: off.
    pub listen: Option<Endpoint>,
}

/// The admin listener, which uses the MySQL protocol.
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// The address to listen on; `None`: off.
    pub listen: Option<Endpoint>,
    /// The user that may log in.
    pub user: String,
    /// The password of the user. It must not be empty if there is an address.
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

/// Compares without wiping the passwords, because both are kept anyway.
impl PartialEq for AdminConfig {
    fn eq(&self, other: &Self) -> bool {
        let whole = |admin: &Self| (admin.listen.clone(), admin.user.clone());
        whole(self) == whole(other) && self.password.expose() == other.password.expose()
    }
}

/// The health checks of the backends.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthConfig {
    /// The interval between checks. `None`: there are no checks, and only failed connection attempts count.
    pub interval: Option<Duration>,
    /// The timeout of a check.
    pub timeout: Duration,
    /// The number of consecutive failed checks that mark a backend down.
    pub fall: u32,
    /// The number of consecutive successful checks that mark it up.
    pub rise: u32,
    /// The account for the checks. `None`: checks do not log in, and a greeting counts as success.
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

/// An account on all backends that has no privileges except to connect.
#[derive(Debug, Clone)]
pub struct HealthLogin {
    /// The name of the user.
    pub user: String,
    /// The password; empty for none.
    pub password: Secret,
}

impl PartialEq for HealthLogin {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user && self.password.expose() == other.password.expose()
    }
}

/// The settings of the log, which `onecopy proxy` writes to standard error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogConfig {
    /// The format of a line.
    pub format: LogFormat,
    /// The least severe level that is logged.
    pub level: LogLevel,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// A JSON object per line.
    Json,
}

/// The severity of a log line, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// A failure.
    Error,
    /// A likely failure in the near future.
    Warn,
    /// Changes.
    #[default]
    Info,
    /// Every session.
    Debug,
}

/// A listener and its backends.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// The name in metrics and logs.
    pub name: String,
    /// The addresses to listen on; port 0 means any free port.
    pub listen: Vec<Endpoint>,
    /// Whether clients share server connections.
    pub mode: Mode,
    /// The accounts of a pooled listener; empty for [`Mode::Pass`].
    pub accounts: Vec<AccountConfig>,
    /// How often the accounts that log in with `mysql_native_password` are read from a server, in addition to `accounts`; also within a
    /// second after a wrong password. Of these the proxy knows hashes only. Needs a [health login](HealthConfig::login) that may read
    /// `mysql.global_priv` on MariaDB, `mysql.user` on MySQL. `None`: never.
    pub server_accounts: Option<Duration>,
    /// The server connections of a pooled listener.
    pub pool: PoolConfig,
    /// How long a statement of a pooled listener may take before the proxy has the server interrupt it; its client gets error 3024. It is
    /// looked at four times a second. `None`: as long as it likes.
    pub query_timeout: Option<Duration>,
    /// Whether a read outside of transactions is sent once more, with [`Mode::Transaction`], if its server is lost before any of its
    /// result has come. A stored function that writes, called by such a read, may then run twice.
    pub retry_reads: bool,
    /// How reads use replicas, with [`Mode::Transaction`]; `None`: each backend that plays its role gets reads and writes.
    pub replica_reads: Option<ReplicaReads>,
    /// What happens to certain statements of a pooled listener.
    pub rules: Vec<RuleConfig>,
    /// Whether servers are found that the configured ones tell of; needs a [health login](HealthConfig::login) that may ask for them:
    /// REPLICATION MASTER ADMIN on MariaDB, REPLICATION SLAVE on MySQL. `None`: no.
    pub discovery: Option<DiscoveryConfig>,
    /// TLS with clients; `None`: not offered.
    pub tls: Option<TlsAcceptor>,
    /// Whether clients without TLS are refused, except over Unix sockets.
    pub requires_tls: bool,
    /// The compression that is offered to clients.
    pub compression: Offered,
    /// Whether clients must send a PROXY protocol header first, which says who they are.
    pub expects_proxy_header: bool,
    /// Whether the proxy may briefly hold passwords of `caching_sha2_password` and `sha256_password` in clear text, to encrypt
    /// them with another key. This is necessary if only one of client and backend uses TLS, and the server does not have the
    /// password in its cache. Default: off; such a login then fails with an error.
    ///
    /// A client without TLS gets a key of the proxy, of 2,048 bits, which is generated at the start. A backend without TLS is
    /// asked for its key: a man in the middle between it and the proxy can substitute its own key and read the password, unless
    /// the key is [pinned](BackendConfig::public_key). A backend with TLS gets the password itself, so configure its
    /// verification.
    pub reencrypt_passwords: bool,
    /// The maximum number of sessions per user; further ones get error 1203. `None`: unlimited.
    pub max_user_connections: Option<usize>,
    /// The time limit from the greeting to the end of the login. Keep it shorter than the servers' `connect_timeout`, 10 s by
    /// default, or they close first.
    pub handshake_timeout: Duration,
    /// How long a session may have no traffic in either direction before it is ended; `None`: unlimited.
    pub idle_timeout: Option<Duration>,
    /// The socket options for clients.
    pub socket: SocketOptions,
    /// The servers.
    pub backends: Vec<BackendConfig>,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            name: "mysql".to_owned(),
            listen: Vec::new(),
            mode: Mode::default(),
            accounts: Vec::new(),
            server_accounts: None,
            pool: PoolConfig::default(),
            query_timeout: None,
            retry_reads: false,
            replica_reads: None,
            rules: Vec::new(),
            discovery: None,
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

/// A server.
#[derive(Debug, Clone)]
pub struct BackendConfig {
    /// The name in metrics and logs.
    pub name: String,
    /// The address of the server.
    pub endpoint: Endpoint,
    /// Whether another server has told of it, [`ListenerConfig::discovery`].
    pub is_discovered: bool,
    /// Which sessions it receives.
    pub role: Role,
    /// Its share of the sessions, relative to the other servers; 0 for none.
    pub weight: u32,
    /// The maximum number of its sessions; `None`: unlimited.
    pub max_connections: Option<usize>,
    /// TLS with the server; `None`: clear text.
    pub tls: Option<TlsConnector>,
    /// Compression of the connections to the server; `None`: off. A server that does not offer it is not used.
    pub compression: Option<Method>,
    /// The server's RSA public key (MySQL's `public_key.pem`), for passwords that the listener
    /// [reencrypts](ListenerConfig::reencrypt_passwords). `None`: any key that the server sends.
    pub public_key: Option<PublicKey>,
    /// The plugins that the proxy may log in to the server with, by its accounts and for health checks. Default: [`PluginSet::SAFE`].
    /// `mysql_clear_password` and `dialog`, of servers with PAM or LDAP, get the password itself, over verified TLS or a Unix socket only.
    pub auth_plugins: PluginSet,
    /// Whether to send a PROXY protocol header, which tells the server who the client is.
    pub sends_proxy_header: bool,
    /// The timeout of a connection attempt.
    pub connect_timeout: Duration,
    /// The socket options for connections to the server.
    pub socket: SocketOptions,
}

impl BackendConfig {
    /// Creates a server with default settings.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            name: endpoint.to_string(),
            endpoint,
            is_discovered: false,
            role: Role::Any,
            weight: 1,
            max_connections: None,
            tls: None,
            compression: None,
            public_key: None,
            auth_plugins: PluginSet::SAFE,
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
