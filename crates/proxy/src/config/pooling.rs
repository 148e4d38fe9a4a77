//! How a listener shares server connections among its clients.

use std::fmt;
use std::time::Duration;

use onecopy_pool::Rate;

use super::{ListenerConfig, Secret, StoredHash};

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

    /// Whether a client's server connection is its own until it leaves.
    pub(crate) fn keeps_connection(self) -> bool {
        self != Self::Transaction
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
    /// What the server stores of the password, where the configuration is not to have it. The proxy logs in with what the first client
    /// has proven to know.
    pub hash: Option<StoredHash>,
    /// Whether it was read from a server, [`ListenerConfig::server_accounts`](super::ListenerConfig), and is read again.
    pub is_of_server: bool,
    /// How long its statements may take; `None`: as long as the listener's, [`ListenerConfig::query_timeout`](super::ListenerConfig);
    /// zero: as long as they like.
    pub query_timeout: Option<Duration>,
    /// How many statements its clients may send together, as text, to be prepared, or to be executed; more get error 1226. `None`: any
    /// number.
    pub statement_rate: Option<Rate>,
    /// Where its reads go; `None`: where those of the listener go. Without effect where the listener does not use replicas,
    /// [`ListenerConfig::replica_reads`](super::ListenerConfig).
    pub reads: Option<Reads>,
    /// How its clients share connections; `None`: as those of the listener. With [`Session`](Mode::Session) and [`Pass`](Mode::Pass) its
    /// reads go to the primary. With `Pass` each client has a server connection of its own from its first command to its end, as with
    /// `Session`, which is closed when the client disconnects; it counts for [`PoolConfig::max`].
    pub mode: Option<Mode>,
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
            reads: None,
            mode: None,
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
            && self.reads == other.reads
            && self.mode == other.mode
    }
}

/// Where a listener's reads go: autocommit `SELECT`s that lock nothing, and transactions that are begun as `READ ONLY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// To the primary, as everything else, except for statements with the comment `/* onecopy: replica */`.
    Primary,
    /// To replicas, except for statements with the comment `/* onecopy: primary */`.
    #[default]
    Replica,
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Replica => "replica",
        })
    }
}

/// What a client's reads on a replica show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// All changes that the client has made before. It needs GTIDs: `log_bin` on MariaDB, `gtid_mode` on MySQL. Without them a client that
    /// has changed something reads from the primary from then on.
    #[default]
    Session,
    /// What the replica has, which may be older than the client's own changes.
    None,
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::None => "none",
        })
    }
}

/// How a listener uses replicas for reads.
///
/// A replica is a backend with the role [`Primary`](super::Role::Primary) or [`Replica`](super::Role::Replica) that is read-only. A
/// statement that is to be read on a replica goes to the primary where none can serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaReads {
    /// Where the reads of users go that have no [setting](AccountConfig::reads) of their own.
    pub to: Reads,
    /// What they show.
    pub consistency: Consistency,
    /// How far a replica may be behind its primary, by its own account; one that is further behind, or does not know, is not used.
    /// `None`: any lag will do, also that of a replica whose source is no backend. The lag is found by health checks.
    pub max_lag: Option<Duration>,
    /// How long a read waits on a replica for the client's own changes, before it is done on the primary.
    pub read_wait: Duration,
}

impl Default for ReplicaReads {
    fn default() -> Self {
        Self {
            to: Reads::Replica,
            consistency: Consistency::Session,
            max_lag: Some(Duration::from_secs(10)),
            read_wait: Duration::from_millis(100),
        }
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
    /// How long a client's new transaction waits while no server is there for it, as between the loss of a primary and the promotion of
    /// a replica, or while the listener is paused; after that it gets error 1429. Zero: it does not wait.
    pub failover_timeout: Duration,
    /// While others wait for a connection, how long one stays with its client after an error or a warning, so that it can be asked
    /// about. While nobody waits it stays until the client's next command.
    pub warning_hold: Duration,
    /// The maximum number of prepared statements that a connection keeps. All connections of the pool keep at most half of the server's
    /// `max_prepared_stmt_count`.
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
            failover_timeout: Duration::from_secs(5),
            warning_hold: Duration::from_millis(50),
            statements: 256,
        }
    }
}
