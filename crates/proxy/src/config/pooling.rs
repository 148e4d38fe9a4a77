//! How a listener shares server connections among its clients.

use std::fmt;
use std::time::Duration;

use onecopy_pool::Rate;

use super::{ListenerConfig, NativePasswordHash, Secret};

/// Whether clients have server connections of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Each client has a server connection and logs in to the server itself.
    #[default]
    Pass,
    /// Each client has a server connection from its first command to its end; the connection is reset and used again.
    Session,
    /// A server connection is shared between transactions.
    Transaction,
}

impl Mode {
    /// Whether the proxy logs clients in itself.
    pub fn is_pooled(self) -> bool {
        self != Self::Pass
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Session => "session",
            Self::Transaction => "transaction",
        })
    }
}

/// An account of a pooled listener: its clients log in with it, and the proxy logs in to the servers with it.
#[derive(Debug, Clone)]
pub struct AccountConfig {
    /// The name of the user.
    pub user: String,
    /// The password; empty for none, and with a hash.
    pub password: Secret,
    /// What the server stores of the password, where the proxy is not to know it. Clients and the proxy then log in with
    /// `mysql_native_password`: the proxy with what the first client has proven to know.
    pub hash: Option<NativePasswordHash>,
    /// Whether it was read from a server, [`ListenerConfig::server_accounts`](super::ListenerConfig), and is read again.
    pub is_of_server: bool,
    /// How long its statements may take; `None`: as long as the listener's, [`ListenerConfig::query_timeout`](super::ListenerConfig);
    /// zero: as long as they like.
    pub query_timeout: Option<Duration>,
    /// How many statements its clients may send together, as text, to be prepared, or to be executed; more get error 1226. `None`: any
    /// number.
    pub statement_rate: Option<Rate>,
}

impl AccountConfig {
    /// An account without limits of its own.
    pub fn new(user: impl Into<String>, password: Secret) -> Self {
        Self {
            user: user.into(),
            password,
            hash: None,
            is_of_server: false,
            query_timeout: None,
            statement_rate: None,
        }
    }

    /// Whether both log in with the same secret.
    pub(crate) fn has_password_of(&self, other: &Self) -> bool {
        self.password.expose() == other.password.expose() && self.hash == other.hash
    }
}

impl ListenerConfig {
    /// Has these accounts in place of those that it had of a server; those of the configuration stay, and come first.
    pub(crate) fn take_server_accounts(&mut self, accounts: Vec<AccountConfig>) {
        self.accounts.retain(|account| !account.is_of_server);
        if self.server_accounts.is_none() {
            return;
        }
        for account in accounts {
            let is_known = |own: &AccountConfig| own.user == account.user;
            if account.is_of_server && !self.accounts.iter().any(is_known) {
                self.accounts.push(account);
            }
        }
    }
}

/// Compares without wiping the passwords, because both are kept anyway.
impl PartialEq for AccountConfig {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user
            && self.has_password_of(other)
            && self.is_of_server == other.is_of_server
            && self.query_timeout == other.query_timeout
            && self.statement_rate == other.statement_rate
    }
}

/// The server connections of a pooled listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolConfig {
    /// The maximum number of connections to one server.
    pub max: usize,
    /// The number of connections that are kept when no client needs them. Where there are fewer they are made in the background, of the kind
    /// that clients used last, so none before the first client.
    pub min: usize,
    /// How long a connection beyond `min` may be idle before it is closed.
    pub idle_timeout: Duration,
    /// The age at which a connection is closed when it becomes free, less up to a tenth; `None`: unlimited.
    pub lifetime: Option<Duration>,
    /// How many new connections are made to one server, over all workers; `None`: any number. Clients that need one more wait.
    pub connect_rate: Option<Rate>,
    /// How long a client waits for a connection before it gets error 1040.
    pub wait_timeout: Duration,
    /// While others wait for a connection, how long one stays with its client after an error or a warning, so that it can be asked
    /// about. While nobody waits it stays until the client's next command.
    pub warning_hold: Duration,
    /// The maximum number of prepared statements that a connection keeps.
    pub statements: usize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max: 16,
            min: 0,
            idle_timeout: Duration::from_secs(60),
            lifetime: Some(Duration::from_secs(3_600)),
            connect_rate: Some(Rate {
                per_second: 100,
                burst: 32,
            }),
            wait_timeout: Duration::from_secs(5),
            warning_hold: Duration::from_millis(50),
            statements: 256,
        }
    }
}
