//! Where to connect, as whom, and under which limits.

use std::time::Duration;

use onecopy_mysql_proto::auth::{AuthOptions, PluginSet, PublicKey};
use onecopy_mysql_proto::client::Limits;
use onecopy_net::{Endpoint, Pem, SocketOptions, TlsCache};

use crate::crypto::AwsLc;
use crate::{Error, Password, SslMode};

/// What happens to a statement that nobody waits for any more: its future or its rows were dropped, or its call timed
/// out. The next command has to see to its end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abandoned {
    /// What is left of it is read and dropped; where that takes longer than another login does (at least 10 ms, at most
    /// 1 s), it is cancelled on the server over a second connection to the same address. A statement that changes
    /// something may so be rolled back where it was not done yet. Behind a balancer with several servers at one address
    /// the order could reach another one; that is seen only if their versions differ.
    Cancel,
    /// What is left of it is read and dropped, however long that takes.
    Drain,
}

/// Everything that a connection needs to know. Made from a URL, or from [`Config::default`] and its fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server: `localhost:3306` by default.
    pub endpoint: Endpoint,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Password,
    /// The default database.
    pub database: Option<String>,
    /// `None`: clear text to this host, `VerifyFull` to any other, and wherever `ssl_ca`, `ssl_cert` or
    /// `ssl_server_name` is given.
    pub ssl_mode: Option<SslMode>,
    /// The CAs whose certificates are trusted; `None`: those of the system.
    pub ssl_ca: Option<Pem>,
    /// This client's certificate, and those between it and its CA, for servers that ask for one.
    pub ssl_cert: Option<Pem>,
    /// The private key of `ssl_cert`.
    pub ssl_key: Option<Pem>,
    /// The host that the server's certificate must be for, where it is not the one connected to.
    pub ssl_server_name: Option<String>,
    /// The authentication plugins to take part in; [`PluginSet::SAFE`] by default, which lacks `mysql_clear_password`. That
    /// one is used only over TLS that verifies the server or a Unix socket, whatever stands here.
    pub auth_plugins: PluginSet,
    /// The server's RSA key, which `caching_sha2_password` and `sha256_password` send the password under where there is no
    /// TLS; over a Unix socket only the latter does, and asks the server where this is `None`. None.
    pub server_public_key: Option<PublicKey>,
    /// Where there is no key above, ask the server for its key and send the password under whichever comes. Off: whoever is
    /// on the way can put in a key of their own, and then has the password.
    pub get_server_public_key: bool,
    /// Let these two plugins send the password itself over TLS that does not verify the server, to whoever answered. Off.
    /// It alone decides there: over TLS servers take no password under a key.
    pub password_over_unverified_tls: bool,
    /// One deadline over look-up, connect and login. 10 seconds.
    pub connect_timeout: Option<Duration>,
    /// Deadline of each later call: a command until its first reply, the next row. It does not bound a statement: rows may
    /// come one by one for ever. None.
    pub call_timeout: Option<Duration>,
    /// Deadline of each statement as a whole, from the call that runs it to the end of its last result: each call for its
    /// rows after that is a timeout. Of other commands too. As after any timeout, the next command of the connection cancels
    /// the statement on the server where it goes on for long, see [`Config::abandoned`]. None.
    pub statement_timeout: Option<Duration>,
    /// What happens to a statement that nobody waits for any more. [`Abandoned::Cancel`].
    pub abandoned: Abandoned,
    /// Several statements in one query. Off: it is what turns many an injection into a disaster.
    pub multi_statements: bool,
    /// Affected rows count the rows that were found, not those that were changed.
    pub found_rows: bool,
    /// Let MariaDB leave out column definitions that the client has. On; off for what stands between and can't do it.
    pub cached_metadata: bool,
    /// Options of the socket.
    pub socket: SocketOptions,
    /// What the server may make the client do.
    pub limits: Limits,
    /// Memory that the connection's buffers keep once a command's rows are read, in bytes. 256 KiB; less where there are
    /// many connections. Column definitions of statements and of the last text result come on top, and over TLS as much
    /// again for ciphertext in each direction.
    pub idle_keep: usize,
    /// Further connection attributes, beside the client's name and version. Servers take 65,535 bytes of them in all.
    pub attributes: Vec<(String, String)>,
    /// What was made of the options of TLS; clones share it, so connections of one configuration resume sessions.
    pub(crate) tls_cache: TlsCache,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Tcp {
                host: "localhost".into(),
                port: 3306,
            },
            user: String::new(),
            password: Password::NONE,
            database: None,
            ssl_mode: None,
            ssl_ca: None,
            ssl_cert: None,
            ssl_key: None,
            ssl_server_name: None,
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
            cached_metadata: true,
            socket: SocketOptions::default(),
            limits: Limits::default(),
            idle_keep: 256 << 10,
            attributes: Vec::new(),
            tls_cache: TlsCache::default(),
        }
    }
}

impl Config {
    /// Reads a URL: `mysql://user:password@host:port/database?option=value&...`, each part percent-encoded.
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `socket` | path of a Unix socket, in place of host and port |
    /// | `ssl-mode` | `disabled`, `preferred`, `required`, `verify-ca`, `verify-full`, see [`SslMode`]; the default is in [`Config::ssl_mode`] |
    /// | `ssl-ca`, `ssl-cert`, `ssl-key` | PEM files: trusted CAs, this client's certificate, its key |
    /// | `ssl-server-name` | the host that the server's certificate is for |
    /// | `auth-plugins` | names with a comma between: the authentication plugins to take part in, and no others |
    /// | `server-public-key` | a file with the server's RSA key in PEM: `public_key.pem` of MySQL's data directory |
    /// | `get-server-public-key`, `password-over-unverified-tls` | `true` or `false` |
    /// | `password-file` | a file whose first line is the password |
    /// | `password-env` | an environment variable that holds the password |
    /// | `connect-timeout`, `call-timeout`, `statement-timeout` | seconds, with a fraction; 0 for none |
    /// | `abandoned` | `cancel` or `drain`: what becomes of a statement that nobody waits for any more |
    /// | `multi-statements`, `found-rows`, `cached-metadata`, `tcp-nodelay` | `true` or `false` |
    /// | `tcp-keepalive`, `tcp-user-timeout` | seconds; 0 for none |
    /// | `max-row-bytes`, `idle-keep` | bytes |
    ///
    /// # Errors
    /// What is wrong with the URL, and what would be right; an unknown option too. The password is never in the text.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        crate::url::parse(url)
    }

    pub(crate) fn auth_options(&self) -> AuthOptions {
        AuthOptions {
            allowed: self.auth_plugins,
            password_over_unverified_tls: self.password_over_unverified_tls,
            server_public_key: self.server_public_key.clone(),
            get_server_public_key: self.get_server_public_key,
            crypto: &AwsLc,
        }
    }

    /// The TLS mode in force.
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
