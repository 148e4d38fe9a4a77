//! Which server to connect to, as which user, and with which limits.

use std::time::Duration;

use onecopy_net::{Endpoint, Pem, SocketOptions, TlsCache, Verify};
use onecopy_resp_proto::{HandshakeConfig, Limits, Protocol};
use onecopy_wire::BufferConfig;

use crate::{Error, Password, PoolConfig};

/// Size of the first read: most replies fit, and a connection that waits for its next command holds no more.
const INITIAL_READ: usize = 512;

/// How long sent bytes may stay unacknowledged: as long as keepalive takes to find that an idle peer is gone. With less, one lost
/// probe would end a connection.
const USER_TIMEOUT: Duration = Duration::from_secs(90);

/// The port of servers that were given none.
pub(crate) const DEFAULT_PORT: u16 = 6379;

/// The settings of a connection. Create it from a URL, or from [`Config::default`] and set its fields.
///
/// # Example
/// ```no_run
/// use std::time::Duration;
///
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::{Config, Endpoint};
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut config = Config::default();
/// config.endpoint = Endpoint::Tcp { host: "cache.example.com".into(), port: 6379 };
/// config.tls = true;
/// config.password = "secret".into();
/// config.command_timeout = Some(Duration::from_secs(1));
/// let conn = Connection::connect_with(&config)?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server's address. Default: `localhost:6379`.
    pub endpoint: Endpoint,
    /// The ACL user to log in as. `None` means `default`; RESP2's AUTH then has no user name, so that it works on servers before
    /// 6.0 too.
    pub user: Option<String>,
    /// The password. Without TLS it is sent in clear text: the protocol has no other way to log in.
    pub password: Password,
    /// The number of the database. Default: 0, the only one in a cluster.
    pub database: u64,
    /// The protocol version. `None`: RESP3 if the server supports it, else RESP2.
    pub protocol: Option<Protocol>,
    /// The name of the connection, as shown by CLIENT LIST. It must not contain spaces.
    pub client_name: Option<String>,
    /// Whether to send the library's name and version, as shown by CLIENT LIST. Default: on. If the server refuses it, that is
    /// ignored.
    pub client_info: bool,
    /// Whether to use TLS from the first byte on. Default: off; on for `rediss://` and `valkeys://`.
    pub tls: bool,
    /// What is verified of the server's certificate: its CA and its host name.
    pub tls_verify: Verify,
    /// The trusted CA certificates. `None`: those of the system.
    pub tls_ca: Option<Pem>,
    /// The client certificate and its intermediates, for servers that ask for one.
    pub tls_cert: Option<Pem>,
    /// The private key of `tls_cert`.
    pub tls_key: Option<Pem>,
    /// The host name that the server's certificate must have, if it differs from the host in `endpoint`.
    pub tls_server_name: Option<String>,
    /// The deadline for name lookup, connect, TLS and handshake together. Default: 10 seconds.
    pub connect_timeout: Option<Duration>,
    /// The timeout of each command, until its complete reply has arrived. The time that a blocking command asks the server to
    /// wait is added. For a value that is read or written in pieces, it applies to each piece. Default: none.
    pub command_timeout: Option<Duration>,
    /// How long the server of an [`aio::Shared`] handle may send nothing while it owes a reply. Default: 30 seconds; `None`: no
    /// limit. If half of this time has passed since the last byte, a PING is queued after the outstanding commands. Servers
    /// answer in order, so a server that is busy with one command for longer looks like one that is gone: set this above the
    /// duration of the slowest command, or run that command with `run_dedicated`. For other connections only `command_timeout`
    /// applies.
    ///
    /// [`aio::Shared`]: https://docs.rs/onecopy-valkey/latest/onecopy_valkey/aio/struct.Shared.html
    pub unresponsive_timeout: Option<Duration>,
    /// The socket options. `user_timeout` defaults to 90 seconds, the time after which keepalive detects a vanished host too.
    pub socket: SocketOptions,
    /// The limits on what the server can make the client allocate.
    pub limits: Limits,
    /// The maximum size of a reply in bytes, not counting its strings of 64 KiB and more. Default: 512 MiB. These bytes are
    /// stored contiguously.
    pub max_reply: usize,
    /// How many bytes of memory the read buffer and large values may keep from one command to the next. Default: 256 KiB. A
    /// connection that waits for its next command holds less: see [`release`](crate::blocking::Connection::release).
    pub idle_keep: usize,
    /// The settings of a pool. Connections that belong to none ignore them, so that one URL serves both.
    pub pool: PoolConfig,
    /// Whether the connection is for reading from a replica of a cluster.
    pub(crate) readonly: bool,
    /// What was made of the options of TLS; clones share it, so connections of one configuration resume sessions.
    pub(crate) tls_cache: TlsCache,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Tcp {
                host: "localhost".into(),
                port: DEFAULT_PORT,
            },
            user: None,
            password: Password::NONE,
            database: 0,
            protocol: None,
            client_name: None,
            client_info: true,
            tls: false,
            tls_verify: Verify::Full,
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
            tls_server_name: None,
            connect_timeout: Some(Duration::from_secs(10)),
            command_timeout: None,
            unresponsive_timeout: Some(Duration::from_secs(30)),
            socket: SocketOptions {
                user_timeout: Some(USER_TIMEOUT),
                ..SocketOptions::default()
            },
            limits: Limits::default(),
            max_reply: 512 << 20,
            idle_keep: 256 << 10,
            pool: PoolConfig::default(),
            readonly: false,
            tls_cache: TlsCache::default(),
        }
    }
}

impl Config {
    /// Parses a URL: `redis://user:password@host:port/database?option=value&...`, each part percent-encoded.
    ///
    /// | scheme | |
    /// |--------|-|
    /// | `redis://`, `valkey://` | TCP in clear text, including the password |
    /// | `rediss://`, `valkeys://` | TLS; the server is verified |
    /// | `redis+unix://`, `valkey+unix://` | a Unix socket: `redis+unix://user:password@/run/valkey.sock?db=0` |
    ///
    /// `redis://password@host` sets a user and no password; a password alone is written `redis://:password@host`.
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `db` | the number of the database, if it is not in the path |
    /// | `protocol` | `2` or `3`; default: 3 if the server supports it, else 2 |
    /// | `client-name` | the connection's name |
    /// | `client-info` | `true` or `false`: whether to send the library's name and version |
    /// | `tls-ca`, `tls-cert`, `tls-key` | PEM files: trusted CAs, this client's certificate, its key |
    /// | `tls-server-name` | the host that the server's certificate is for |
    /// | `tls-verify` | `full`, `ca` (signed by a CA in `tls-ca`; host name not checked) or `none` |
    /// | `password-file` | a file whose first line is the password |
    /// | `password-env` | an environment variable that holds the password |
    /// | `connect-timeout`, `command-timeout` | seconds, fractions allowed; 0 for none |
    /// | `unresponsive-timeout` | seconds that a shared handle's server may send nothing while it owes a reply; 0 for no limit |
    /// | `tcp-keepalive`, `tcp-user-timeout` | seconds; 0 for none |
    /// | `tcp-nodelay` | `true` or `false` |
    /// | `max-bulk`, `max-line` | bytes of one string, of one line |
    /// | `max-depth`, `max-elements` | nesting depth of aggregates, total elements of one reply |
    /// | `max-total` | total bytes of one aggregate reply |
    /// | `max-reply` | bytes of one reply, not counting its large strings |
    /// | `idle-keep` | bytes kept between commands |
    /// | `pool-min`, `pool-max` | number of connections of a pool, see [`PoolConfig`] |
    /// | `pool-acquire-timeout`, `pool-idle-timeout`, `pool-lifetime` | seconds, fractions allowed; 0 for none |
    /// | `pool-ping-after`, `pool-reset-timeout` | seconds, fractions allowed |
    /// | `pool-max-connecting` | number of connections that a pool makes at the same time |
    /// | `pool-reset` | `true` or `false`: whether a pool undoes what a borrower changed of its connection |
    /// | `pool-idle-keep` | bytes that an idle connection of a pool may keep |
    ///
    /// Options that begin with `pool-` apply to a pool only; a single connection accepts and ignores them.
    ///
    /// # Errors
    /// Fails if the URL is invalid or has an unknown option. The error says what is wrong and how to correct it; it never
    /// contains the password.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        crate::url::parse(url)
    }

    pub(crate) fn buffer_config(&self) -> BufferConfig {
        BufferConfig {
            initial_read: INITIAL_READ,
            max_buffer: self.max_reply,
            idle_keep: self.idle_keep,
            ..BufferConfig::default()
        }
    }

    pub(crate) fn handshake(&self) -> HandshakeConfig {
        let bytes = |text: &String| text.clone().into_bytes();
        let library = |text: &str| self.client_info.then(|| text.as_bytes().to_vec());
        HandshakeConfig {
            protocol: self.protocol,
            user: self.user.as_ref().map(bytes),
            password: self.password.to_secret(),
            client_name: self.client_name.as_ref().map(bytes),
            library_name: library("onecopy"),
            library_version: library(env!("CARGO_PKG_VERSION")),
            database: self.database,
            readonly: self.readonly,
        }
    }
}

impl std::str::FromStr for Config {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}
