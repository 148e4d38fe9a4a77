//! Which server to connect to, as which user, and with which limits.

use std::time::Duration;

use onecopy_mysql_proto::auth::native_password::PasswordHash;
use onecopy_mysql_proto::auth::{AuthOptions, Dialog, PluginSet, PublicKey};
use onecopy_mysql_proto::client::Limits;
use onecopy_net::{Endpoint, Pem, SocketOptions, TlsCache};

use crate::crypto::AwsLc;
use crate::{
    Compression, Error, Password, PoolConfig, ProgressReports, ServerTarget, SlowQueries, SslMode,
    TraceParent,
};

/// What happens to an abandoned statement: its future or its rows were dropped, or its call timed out.
///
/// The connection must deal with the rest of the statement's reply before it runs the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abandoned {
    /// Reads and discards the rest of the reply. If that takes longer than a login took (at least 10 ms, at most 1 s), cancels
    /// the statement on the server, over a second connection to the same address.
    ///
    /// A statement that changes data and has not finished may therefore be rolled back. Behind a load balancer with several
    /// servers at one address, the cancel request could reach another server; that is detected only if the servers' versions
    /// differ.
    Cancel,
    /// Reads and discards the rest of the reply, however long that takes.
    Drain,
}

/// The settings of a connection. Create it from a URL, or from [`Config::default`] and set its fields.
///
/// # Example
/// ```no_run
/// use std::time::Duration;
///
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{Config, Endpoint};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut config = Config::default();
/// config.endpoint = Endpoint::Tcp { host: "db.example.com".into(), port: 3306 };
/// config.user = "shop".into();
/// config.password = "secret".into();
/// config.database = Some("shop".into());
/// config.connect_timeout = Some(Duration::from_secs(3));
/// let conn = Connection::connect_with(&config)?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server's address. Default: `localhost:3306`.
    pub endpoint: Endpoint,
    /// More servers, which are tried in their order if `endpoint` cannot be used. Each has an equal share of the time that
    /// `connect_timeout` leaves. A refused login ends the search, so that a wrong password is not tried on every server.
    pub alternatives: Vec<Endpoint>,
    /// Whether a server is good enough only if it accepts writes, or only if it does not. Default: any server.
    pub target: ServerTarget,
    /// Whether `endpoint` and `alternatives` are tried in a random order. Default: off.
    pub load_balance: bool,
    /// The user to log in as.
    pub user: String,
    /// The user's password.
    pub password: Password,
    /// What `mysql_native_password` uses in place of the password; every other plugin is refused then. Default: none.
    pub password_hash: Option<PasswordHash>,
    /// The passwords of the account's second and third factor, for MySQL's multi-factor authentication. Default: none.
    pub more_passwords: [Password; 2],
    /// What answers questions of the plugin `dialog` that the password does not answer, such as one-time codes. The first secret
    /// question is answered by `password`, if there is one. `auth_plugins` must contain [`PluginSet::DIALOG`]. Default: none.
    pub dialog: Option<Dialog>,
    /// The default database.
    pub database: Option<String>,
    /// The TLS mode. `None`: clear text to this host, and `VerifyFull` to any other host, or if `ssl_ca`, `ssl_cert` or
    /// `ssl_server_name` is set.
    pub ssl_mode: Option<SslMode>,
    /// The trusted CA certificates. `None`: those of the system.
    pub ssl_ca: Option<Pem>,
    /// The client certificate and its intermediates, for servers that ask for one.
    pub ssl_cert: Option<Pem>,
    /// The private key of `ssl_cert`.
    pub ssl_key: Option<Pem>,
    /// The host name that the server's certificate must have, if it differs from the host in `endpoint`.
    pub ssl_server_name: Option<String>,
    /// Whether a server whose certificate no trusted CA has signed may prove it with the password, as MariaDB does since 11.4. It applies
    /// to [`SslMode::VerifyFull`] without `ssl_ca`. Only hashes are sent before the proof, with `mysql_native_password`,
    /// `client_ed25519` or `parsec`, and no statement; without a proof the connection fails. A man in the middle learns what
    /// lets them try passwords offline, and can pass the login on to the server to have a session of their own there. Default: on.
    pub verify_by_password: bool,
    /// The allowed authentication plugins. Default: [`PluginSet::SAFE`], which does not contain `mysql_clear_password` and `dialog`.
    /// Those are used only over a Unix socket or over TLS that verifies the server, whatever is set here.
    pub auth_plugins: PluginSet,
    /// The server's RSA public key, with which `caching_sha2_password` and `sha256_password` encrypt the password on connections
    /// without TLS. Over a Unix socket only `sha256_password` does so, and asks the server for its key if this is `None`.
    /// Default: `None`.
    pub server_public_key: Option<PublicKey>,
    /// Whether to ask the server for its key if `server_public_key` is `None`, and to encrypt the password with the key that
    /// arrives. A man in the middle can substitute its own key and read the password. Default: off.
    pub get_server_public_key: bool,
    /// Whether `caching_sha2_password` and `sha256_password` may send the password itself over TLS that does not verify the
    /// server, to a server of unknown identity. Default: off. Over TLS no other option applies, because servers accept no
    /// RSA-encrypted password there.
    pub password_over_unverified_tls: bool,
    /// The deadline for name lookup, connect and login together. Default: 10 seconds.
    pub connect_timeout: Option<Duration>,
    /// The timeout of each later call: a command until its first reply, or the next row. It does not limit a whole statement,
    /// whose rows may arrive one by one without end. Default: none.
    pub call_timeout: Option<Duration>,
    /// The timeout of each statement as a whole, from the call that runs it to the end of its last result. After that, each call
    /// for its rows fails with a timeout. It applies to other commands too. As after any timeout, the next command on the
    /// connection cancels the statement on the server if it runs for long, see [`Config::abandoned`]. Default: none.
    pub statement_timeout: Option<Duration>,
    /// What happens to an abandoned statement. Default: [`Abandoned::Cancel`].
    pub abandoned: Abandoned,
    /// Whether one query may contain several statements. Default: off, because it makes SQL injection much more dangerous.
    pub multi_statements: bool,
    /// Whether `affected_rows` counts the rows that were found instead of those that were changed. Default: off.
    pub found_rows: bool,
    /// Whether `load_infile` may be called, which answers a server's request for a file (`LOAD DATA LOCAL INFILE`) with what the
    /// caller's reader gives. No file is ever opened by its name. Default: off; a request is then an error.
    pub local_infile: bool,
    /// Whether MariaDB may omit column definitions that the client already has. Default: on. Turn it off for intermediaries that
    /// do not support it.
    ///
    /// It applies to prepared statements; after an `ALTER TABLE` the server sends them again. MySQL's `resultset_metadata=NONE` is not
    /// used: MySQL does not say when columns have changed, so values could be read as another type.
    pub cached_metadata: bool,
    /// How many statements [`exec`](crate::blocking::Connection::exec) keeps prepared on a connection. Default: 64; 0 prepares each
    /// time. Texts over 32 KiB are not kept. A server's `max_prepared_stmt_count`, by default 16,382, is for all connections together.
    pub statement_cache: usize,
    /// Whether commands may be sent before the replies to earlier ones have arrived. Default: on. Turn it off for intermediaries that
    /// take one command at a time: each then waits for the reply to the one before it.
    pub pipelining: bool,
    /// Whether statements may have attributes, see [`set_query_attributes`](crate::blocking::Connection::set_query_attributes). MySQL
    /// has them since 8.0.23. Each query then has two bytes more. Default: off.
    pub query_attributes: bool,
    /// Whether MariaDB names the types that the protocol has no number for: UUID, INET4, INET6, POINT, JSON and the like, see
    /// [`Definitions::type_name`](crate::Definitions::type_name). Each column definition then has at least one byte more. Default: off.
    pub extended_types: bool,
    /// How the connection may be compressed, best first; the first that the server offers is used. If the list contains
    /// [`Compression::Uncompressed`], the connection is not compressed if the server offers nothing that is listed before it; otherwise the
    /// login fails then, before the user name is sent. Default: empty, for no compression.
    ///
    /// Compression takes CPU on both sides, and a server that is near answers slower with it. It pays on slow or metered networks.
    /// Over TLS, an attacker who can choose a part of what is sent, and sees the lengths, can guess secrets next to that part.
    pub compression: Vec<Compression>,
    /// The compression level, from 1, the fastest, to 9 for zlib and 22 for zstd, which servers use too. `None`: 6 for zlib
    /// and 3 for zstd.
    pub compression_level: Option<u8>,
    /// The socket options.
    pub socket: SocketOptions,
    /// The limits on what the server can make the client do.
    pub limits: Limits,
    /// The maximum size of a result that is collected, in bytes: by `collect_owned`, `collect_as`, `query_as`, `execute_as`, `exec_as` and
    /// `exec_named_as`. Each value counts as its bytes and 32 more, NULL as 32. A larger result fails with an error that
    /// [says so](crate::Error::is_result_too_large), and the connection stays usable. Rows that are read one by one have no limit in total.
    /// Default: `None`, for no limit but the memory.
    pub max_result_bytes: Option<u64>,
    /// How many bytes of memory the connection's buffers may keep after the rows of a command were read. Default: 256 KiB; use
    /// less for many connections.
    ///
    /// The column definitions of statements and of the last text result are added to this. Over TLS, so are as many bytes again
    /// for ciphertext in each direction.
    pub idle_keep: usize,
    /// A function that is called for slow statements. Default: none.
    pub slow_queries: Option<SlowQueries>,
    /// A function that gives the trace of each statement, for MySQL's query attributes. It turns
    /// [`query_attributes`](Self::query_attributes) on. Default: none.
    pub trace_parent: Option<TraceParent>,
    /// A function that is told how far long statements are. MariaDB reports it; MySQL does not. Default: none.
    pub progress: Option<ProgressReports>,
    /// Additional connection attributes, besides the client's name and version. Servers accept 65,535 bytes of attributes in
    /// total.
    pub attributes: Vec<(String, String)>,
    /// The settings of a pool. A single connection ignores them, so that one URL serves both.
    pub pool: PoolConfig,
    /// SQL that a pool runs on each new connection, and again after each reset: one statement without rows, such as `SET time_zone =
    /// '+00:00'`. Default: none.
    pub pool_setup: Option<String>,
    /// What was made of the options of TLS; clones share it, so connections of one configuration resume sessions.
    pub(crate) tls_cache: TlsCache,
    /// What compression works with; clones share it.
    #[cfg(feature = "compression")]
    pub(crate) workspaces: crate::compression::Workspaces,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Tcp {
                host: "localhost".into(),
                port: 3306,
            },
            alternatives: Vec::new(),
            target: ServerTarget::Any,
            load_balance: false,
            user: String::new(),
            password: Password::NONE,
            password_hash: None,
            more_passwords: [Password::NONE; 2],
            dialog: None,
            database: None,
            ssl_mode: None,
            ssl_ca: None,
            ssl_cert: None,
            ssl_key: None,
            ssl_server_name: None,
            verify_by_password: true,
            auth_plugins: PluginSet::SAFE,
            server_public_key: None,
            get_server_public_key: false,
            password_over_unverified_tls: false,
            connect_timeout: Some(Duration::from_secs(10)),
            call_timeout: None,
            statement_timeout: None,
            abandoned: Abandoned::Cancel,
            multi_statements: false,
            found_rows: false,
            local_infile: false,
            cached_metadata: true,
            statement_cache: 64,
            pipelining: true,
            query_attributes: false,
            extended_types: false,
            compression: Vec::new(),
            compression_level: None,
            socket: SocketOptions::default(),
            limits: Limits::default(),
            max_result_bytes: None,
            idle_keep: 256 << 10,
            slow_queries: None,
            trace_parent: None,
            progress: None,
            attributes: Vec::new(),
            pool: PoolConfig::default(),
            pool_setup: None,
            tls_cache: TlsCache::default(),
            #[cfg(feature = "compression")]
            workspaces: crate::compression::Workspaces::default(),
        }
    }
}

impl Config {
    /// Parses a URL: `mysql://user:password@host:port/database?option=value&...`, each part percent-encoded. Several servers are
    /// separated by commas: `mysql://user@db1,db2:3307/shop?target=primary`.
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `defaults-file` | an option file such as `~/.my.cnf`, see below; everything else in the URL overrides it |
    /// | `socket` | path of a Unix socket, instead of host and port |
    /// | `target` | `any`, `primary`, `replica` or `prefer-replica`: which server is good enough, see [`ServerTarget`] |
    /// | `load-balance` | `true` or `false`: whether several servers are tried in a random order |
    /// | `ssl-mode` | `disabled`, `preferred`, `required`, `verify-ca`, `verify-full`, see [`SslMode`]; the default is in [`Config::ssl_mode`] |
    /// | `ssl-ca`, `ssl-cert`, `ssl-key` | PEM files: trusted CAs, this client's certificate, its key |
    /// | `ssl-server-name` | the host name that the server's certificate must have |
    /// | `verify-by-password` | `true` or `false`, see [`Config::verify_by_password`] |
    /// | `auth-plugins` | comma-separated names of the allowed authentication plugins |
    /// | `server-public-key` | PEM file with the server's RSA public key: `public_key.pem` in MySQL's data directory |
    /// | `get-server-public-key`, `password-over-unverified-tls` | `true` or `false` |
    /// | `password-file` | a file whose first line is the password |
    /// | `password-env` | an environment variable that holds the password |
    /// | `password2-file`, `password2-env`, `password3-file`, `password3-env` | the same for a second and a third factor |
    /// | `connect-timeout`, `call-timeout`, `statement-timeout` | seconds, fractions allowed; 0 for none |
    /// | `abandoned` | `cancel` or `drain`: what happens to an abandoned statement, see [`Abandoned`] |
    /// | `multi-statements`, `found-rows`, `local-infile`, `cached-metadata`, `pipelining`, `tcp-nodelay` | `true` or `false` |
    /// | `query-attributes`, `extended-types` | `true` or `false` |
    /// | `compression` | comma-separated `zlib`, `zstd` and `uncompressed`, best first: see [`Config::compression`] |
    /// | `compression-level` | 1 to 9 for zlib, 1 to 22 for zstd |
    /// | `tcp-keepalive`, `tcp-user-timeout` | seconds; 0 for none |
    /// | `statement-cache` | statements, see [`Config::statement_cache`] |
    /// | `max-row-bytes`, `idle-keep` | bytes, see [`Limits::max_row_bytes`] and [`Config::idle_keep`] |
    /// | `max-result-bytes` | bytes; 0 for no limit, see [`Config::max_result_bytes`] |
    /// | `pool-min`, `pool-max` | number of connections of a pool, see [`PoolConfig`] |
    /// | `pool-acquire-timeout`, `pool-idle-timeout`, `pool-lifetime` | seconds, fractions allowed; 0 for none |
    /// | `pool-ping-after`, `pool-reset-timeout` | seconds, fractions allowed |
    /// | `pool-max-connecting` | number of connections that a pool makes at the same time |
    /// | `pool-reset` | `true` or `false`: whether a pool resets the session of a returned connection |
    /// | `pool-setup` | SQL for each new connection of a pool, and after each reset, see [`Config::pool_setup`] |
    /// | `pool-idle-keep` | bytes that an idle connection of a pool may keep |
    ///
    /// Options that begin with `pool-` apply to a pool only; a single connection accepts and ignores them.
    ///
    /// An option file is read only if it is named here. Its groups `[client]`, `[client-server]`, `[client-mariadb]`, `[onecopy]`
    /// and `[client-onecopy]` may set `user`, `password`, `host`, `port`, `socket`, `database`, `connect-timeout`, the options of
    /// TLS (`ssl-mode`, `ssl`, `skip-ssl`, `ssl-verify-server-cert`, `ssl-ca`, `ssl-cert`, `ssl-key`) and the server's public key.
    /// Other options are ignored in the groups that are shared with other programs. A URL with a user does not use the file's
    /// password.
    ///
    /// # Errors
    /// Fails if the URL is invalid or has an unknown option. The error says what is wrong and how to correct it; it never
    /// contains the password.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        crate::url::parse(url)
    }

    pub(crate) fn auth_options(&self) -> AuthOptions {
        AuthOptions {
            allowed: self.auth_plugins,
            password_over_unverified_tls: self.password_over_unverified_tls,
            server_public_key: self.server_public_key.clone(),
            get_server_public_key: self.get_server_public_key,
            password_hash: self.password_hash.clone(),
            dialog: self.dialog.clone(),
            crypto: &AwsLc,
        }
    }

    /// Returns the TLS mode in effect.
    pub fn effective_ssl_mode(&self) -> SslMode {
        let asks_for_tls =
            self.ssl_ca.is_some() || self.ssl_cert.is_some() || self.ssl_server_name.is_some();
        self.ssl_mode
            .unwrap_or(if self.endpoint.is_local() && !asks_for_tls {
                SslMode::Disabled
            } else {
                SslMode::VerifyFull
            })
    }
}

impl std::str::FromStr for Config {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}
