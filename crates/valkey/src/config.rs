//! Where to connect, as whom, and under which limits.

use std::time::Duration;

use onecopy_net::{Endpoint, Pem, SocketOptions, TlsCache, Verify};
use onecopy_resp_proto::{HandshakeConfig, Limits, Protocol};
use onecopy_wire::BufferConfig;

use crate::{Error, Password};

/// Size of the first read: most replies fit, and a connection that waits for its next command holds no more.
const INITIAL_READ: usize = 512;

/// How long sent bytes may stay unacknowledged: as long as keepalive takes to find that an idle peer is gone. With less, one lost
/// probe would end a connection.
const USER_TIMEOUT: Duration = Duration::from_secs(90);

/// The port of servers that were given none.
pub(crate) const DEFAULT_PORT: u16 = 6379;

/// Everything that a connection needs to know. Made from a URL, or from [`Config::default`] and its fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server: `localhost:6379` by default.
    pub endpoint: Endpoint,
    /// The user of an access control list. `None`: `default`, whose name servers before 6.0 need not be told.
    pub user: Option<String>,
    /// The password. Without TLS it is sent as it is: that is how these servers log in.
    pub password: Password,
    /// The database's number. 0, which is all that clusters have.
    pub database: u64,
    /// The version of the protocol. `None`: RESP3 where the server has it, else RESP2.
    pub protocol: Option<Protocol>,
    /// The connection's name, which CLIENT LIST shows; without spaces.
    pub client_name: Option<String>,
    /// Tell the server the library's name and version, which CLIENT LIST shows. On; a refusal is ignored.
    pub client_info: bool,
    /// Whether TLS is spoken, from the first byte on. Off; on for `rediss://` and `valkeys://`.
    pub tls: bool,
    /// What of the server's certificate is verified: CA and host.
    pub tls_verify: Verify,
    /// The CAs whose certificates are trusted; `None`: those of the system.
    pub tls_ca: Option<Pem>,
    /// This client's certificate, and those between it and its CA, for servers that ask for one.
    pub tls_cert: Option<Pem>,
    /// The private key of `tls_cert`.
    pub tls_key: Option<Pem>,
    /// The host that the server's certificate must be for, where it is not the one connected to.
    pub tls_server_name: Option<String>,
    /// One deadline over look-up, connect, TLS and handshake. 10 seconds.
    pub connect_timeout: Option<Duration>,
    /// Deadline of each command until its reply has come whole, without what a blocking command asks the server to wait;
    /// of a value that is read or written in pieces, of each piece. None.
    pub command_timeout: Option<Duration>,
    /// How long the server of a [`aio::Shared`] handle may send nothing at all while it owes a reply; `None` for ever. 30
    /// seconds. Half of it after the last byte a PING is sent behind what is outstanding. Servers answer in order, so one that is
    /// busy with a command for longer looks just like one that is gone: raise it above the slowest command, or run that by
    /// `run_dedicated`. Other connections are held to `command_timeout` alone.
    ///
    /// [`aio::Shared`]: https://docs.rs/onecopy-valkey/latest/onecopy_valkey/aio/struct.Shared.html
    pub unresponsive_timeout: Option<Duration>,
    /// Options of the socket. `user_timeout` is 90 seconds, which is when keepalive gives a vanished host up too.
    pub socket: SocketOptions,
    /// What the server may make the client allocate.
    pub limits: Limits,
    /// Longest reply in bytes, without its strings of 64 KiB and more: 512 MiB. It lies in one piece.
    pub max_reply: usize,
    /// Memory that the connection's read buffer and large values keep from one command to the next, in bytes. 256 KiB.
    /// What a connection holds while it waits for its next command is less: see
    /// [`release`](crate::blocking::Connection::release).
    pub idle_keep: usize,
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
            tls_verify: Verify::AuthorityAndHost,
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
            tls_cache: TlsCache::default(),
        }
    }
}

impl Config {
    /// Reads a URL: `redis://user:password@host:port/database?option=value&...`, each part percent-encoded.
    ///
    /// | scheme | |
    /// |--------|-|
    /// | `redis://`, `valkey://` | TCP in clear text, the password too |
    /// | `rediss://`, `valkeys://` | TLS; the server is verified |
    /// | `redis+unix://`, `valkey+unix://` | a Unix socket: `redis+unix://user:password@/run/valkey.sock?db=0` |
    ///
    /// `redis://password@host` has a user and no password: a password alone is written `redis://:password@host`.
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `db` | the database's number, where it is not in the path |
    /// | `protocol` | `2` or `3`; without it 3 where the server has it |
    /// | `client-name` | the connection's name |
    /// | `client-info` | `true` or `false`: whether the server is told the library's name and version |
    /// | `tls-ca`, `tls-cert`, `tls-key` | PEM files: trusted CAs, this client's certificate, its key |
    /// | `tls-server-name` | the host that the server's certificate is for |
    /// | `tls-verify` | `full`, `ca` (any host of a CA in `tls-ca`) or `none` |
    /// | `password-file` | a file whose first line is the password |
    /// | `password-env` | an environment variable that holds the password |
    /// | `connect-timeout`, `command-timeout` | seconds, with a fraction; 0 for none |
    /// | `unresponsive-timeout` | seconds that the server of a shared handle may send nothing while it owes a reply; 0 for any |
    /// | `tcp-keepalive`, `tcp-user-timeout` | seconds; 0 for none |
    /// | `tcp-nodelay` | `true` or `false` |
    /// | `max-bulk`, `max-line` | bytes of one string, of one line |
    /// | `max-depth`, `max-elements` | aggregates inside each other, elements of one reply in all |
    /// | `max-total` | bytes of one reply in all that holds others |
    /// | `max-reply` | bytes of one reply without its large strings |
    /// | `idle-keep` | bytes |
    ///
    /// # Errors
    /// What is wrong with the URL, and what would be right; an unknown option too. The password is never in the text.
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
        }
    }
}

impl std::str::FromStr for Config {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}
