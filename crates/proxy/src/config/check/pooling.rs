//! Listeners whose clients share server connections.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use super::{ConfigError, not_zero};
use crate::config::{
    Config, ListenerConfig, Mode, Offered, Rate, Role, RuleConfig, RuleTarget, compile,
};

const ONE: &str = "give at least 1";

/// Why a pooled listener cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// It has no account, so that nobody could log in.
    NoAccount,
    /// Accounts are to be read from a server, and there is no health login to read them with.
    NoHealthLogin,
    /// Two accounts have the same user.
    SameUser(String),
    /// A setting is for the mode in which sessions share connections between transactions.
    NeedsTransactions {
        /// The key.
        key: &'static str,
    },
    /// Reads go to replicas, and no backend can be one: none has the role of a primary or of a replica.
    NoReplica,
    /// Two rules have the same name.
    SameRule(String),
    /// A rule says where reads go, and the listener does not use replicas.
    RuleNeedsReads(String),
    /// A rule sends reads to a backend that is none of the listener's, or that is never a replica.
    RuleTarget {
        /// The rule.
        rule: String,
        /// The name of the backend.
        backend: String,
        /// Whether there is one, whose role is `any` or `backup`.
        is_there: bool,
    },
    /// The expressions of the rules cannot be compiled.
    Expressions(String),
    /// More idle connections are kept than there may be connections.
    Min {
        /// The number of idle connections to keep.
        min: usize,
        /// The maximum number of connections.
        max: usize,
    },
    /// A setting is for statements, which the proxy follows on pooled listeners only.
    NeedsPool {
        /// The key.
        key: &'static str,
    },
    /// A setting belongs to a server connection that is one client's own.
    NotShared {
        /// The key.
        key: &'static str,
        /// The backend that it is set for; empty for the listener itself.
        backend: String,
    },
}

impl Config {
    pub(super) fn check_pools(&self) -> Result<(), ConfigError> {
        let mut pooled = self.listeners.iter();
        pooled.try_for_each(|listener| match listener.mode.is_pooled() {
            true => listener.check_pool(self.health.login.is_some()),
            false => listener.check_unpooled(),
        })
    }
}

impl ListenerConfig {
    fn check_unpooled(&self) -> Result<(), ConfigError> {
        let key = match (self.query_timeout, self.server_accounts, self.replica_reads) {
            (None, None, None) if self.retry_reads => "retry-reads",
            (None, None, None) if self.rules.is_empty() => return Ok(()),
            (None, None, None) => "rule",
            (Some(_), ..) => "query-timeout",
            (_, Some(_), _) => "accounts",
            _ => "reads",
        };
        Err(ConfigError::Pool {
            listener: self.name.clone(),
            mode: self.mode,
            error: PoolError::NeedsPool { key },
        })
    }

    fn check_pool(&self, has_login: bool) -> Result<(), ConfigError> {
        let pool = &self.pool;
        let table = format!("[mysql.pool] of listener '{}'", self.name);
        not_zero("max", &table, pool.max == 0, ONE)?;
        let is_often = self.server_accounts == Some(Duration::ZERO);
        let listener = format!("listener '{}'", self.name);
        not_zero(
            "accounts-interval",
            &listener,
            is_often,
            "give a time, as \"10s\"",
        )?;
        not_zero("statements", &table, pool.statements == 0, ONE)?;
        rate_not_zero(["connect-rate", "connect-burst"], &table, pool.connect_rate)?;
        let waits = !pool.wait_timeout.is_zero();
        not_zero("wait-timeout", &table, !waits, "give a time, as \"5s\"")?;
        let lasts = pool.lifetime != Some(Duration::ZERO);
        not_zero("lifetime", &table, !lasts, "give a time, or \"off\"")?;
        for rule in &self.rules {
            let table = format!("rule '{}' of listener '{}'", rule.name, self.name);
            rate_not_zero(["rate", "burst"], &table, rule.rate)?;
        }
        for account in &self.accounts {
            let table = format!("account '{}' of listener '{}'", account.user, self.name);
            rate_not_zero(
                ["statement-rate", "statement-burst"],
                &table,
                account.statement_rate,
            )?;
        }
        self.pool_error(has_login).map_or(Ok(()), |error| {
            Err(ConfigError::Pool {
                listener: self.name.clone(),
                mode: self.mode,
                error,
            })
        })
    }

    fn pool_error(&self, has_login: bool) -> Option<PoolError> {
        if self.server_accounts.is_some() && !has_login {
            return Some(PoolError::NoHealthLogin);
        }
        if self.accounts.is_empty() && self.server_accounts.is_none() {
            return Some(PoolError::NoAccount);
        }
        let mut users = HashSet::new();
        let mut accounts = self.accounts.iter();
        if let Some(twice) = accounts.find(|account| !users.insert(account.user.as_str())) {
            return Some(PoolError::SameUser(twice.user.clone()));
        }
        let mut roles = self.backends.iter().map(|backend| backend.role);
        if self.replica_reads.is_some() && self.mode != Mode::Transaction {
            return Some(PoolError::NeedsTransactions { key: "reads" });
        }
        if self.retry_reads && self.mode != Mode::Transaction {
            return Some(PoolError::NeedsTransactions { key: "retry-reads" });
        }
        if self.replica_reads.is_some() && !roles.any(Role::asks) {
            return Some(PoolError::NoReplica);
        }
        if let Some(error) = self.rule_error() {
            return Some(error);
        }
        let (min, max) = (self.pool.min, self.pool.max);
        if min > max {
            return Some(PoolError::Min { min, max });
        }
        if self.compression != Offered::Off {
            let backend = String::new();
            let key = "compression";
            return Some(PoolError::NotShared { key, backend });
        }
        let mut backends = self.backends.iter();
        let compressed = backends.find(|backend| backend.compression.is_some());
        compressed.map(|backend| PoolError::NotShared {
            key: "compression",
            backend: backend.name.clone(),
        })
    }
}

impl ListenerConfig {
    fn rule_error(&self) -> Option<PoolError> {
        let mut names = HashSet::new();
        let mut rules = self.rules.iter();
        if let Some(twice) = rules.find(|rule| !names.insert(rule.name.as_str())) {
            return Some(PoolError::SameRule(twice.name.clone()));
        }
        let mut rules = self.rules.iter();
        if self.replica_reads.is_none()
            && let Some(rule) = rules.find(|rule| rule.to.is_some())
        {
            return Some(PoolError::RuleNeedsReads(rule.name.clone()));
        }
        if let Some(error) = self.rules.iter().find_map(|rule| self.target_error(rule)) {
            return Some(error);
        }
        let expressions = self.rules.iter().filter_map(|rule| rule.digest.as_deref());
        let expressions: Vec<_> = expressions.collect();
        compile(&expressions).err().map(PoolError::Expressions)
    }

    fn target_error(&self, rule: &RuleConfig) -> Option<PoolError> {
        let Some(RuleTarget::Backend(name)) = &rule.to else {
            return None;
        };
        let backend = self.backends.iter().find(|backend| backend.name == *name);
        let is_right = match backend {
            Some(backend) => backend.role.asks(),
            // It may be found later.
            None => self.discovery.is_some(),
        };
        (!is_right).then(|| PoolError::RuleTarget {
            rule: rule.name.clone(),
            backend: name.clone(),
            is_there: backend.is_some(),
        })
    }
}

/// Checks a rate and its burst, with their keys.
fn rate_not_zero(
    [key, burst]: [&'static str; 2],
    table: &str,
    rate: Option<Rate>,
) -> Result<(), ConfigError> {
    let Some(rate) = rate else {
        return Ok(());
    };
    let has_none = rate.per_second == 0;
    let instead = "give at least 1, or \"off\"";
    not_zero(key, table, has_none, instead)?;
    not_zero(burst, table, rate.burst == 0, ONE)
}

impl PoolError {
    pub(super) fn fmt(
        &self,
        listener: &str,
        mode: Mode,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        match self {
            Self::NoAccount => write!(
                f,
                "listener '{listener}' has mode = \"{mode}\" and no account; add account = [{{ user = \"...\", password-file = \
                 \"...\" }}]"
            ),
            Self::NoHealthLogin => write!(
                f,
                "listener '{listener}' has accounts = \"server\", and [health] has no `user` to read them with; add one that may read \
                 mysql.global_priv (MariaDB) or mysql.user (MySQL)"
            ),
            Self::SameUser(user) => write!(
                f,
                "listener '{listener}' has two accounts of user '{user}'; remove one of them"
            ),
            Self::NeedsTransactions { key } => write!(
                f,
                "`{key}` of listener '{listener}' is not supported with mode = \"{mode}\"; use mode = \"transaction\" or remove it"
            ),
            Self::NoReplica => write!(
                f,
                "listener '{listener}' has `reads`, and no backend that can be a replica; give two or more backends role = \"primary\" \
                 (the read-only ones serve reads), or some of them role = \"replica\""
            ),
            Self::SameRule(name) => write!(
                f,
                "listener '{listener}' has two rules called '{name}'; rename one of them"
            ),
            Self::RuleNeedsReads(name) => write!(
                f,
                "rule '{name}' of listener '{listener}' has `to`, and the listener has no `reads`; add reads = \"primary\" or \"replica\""
            ),
            Self::RuleTarget {
                rule,
                backend,
                is_there: false,
            } => write!(
                f,
                "rule '{rule}' of listener '{listener}' has to = \"{backend}\", which is none of its backends; give \"primary\", \"replica\" or \
                 the name of a backend"
            ),
            Self::RuleTarget { rule, backend, .. } => write!(
                f,
                "rule '{rule}' of listener '{listener}' sends reads to backend '{backend}', which is never a replica; give that backend \
                 role = \"replica\" or \"primary\""
            ),
            Self::Expressions(why) => write!(
                f,
                "the `digest` expressions of the rules of listener '{listener}' are not valid: {}",
                why.lines().last().unwrap_or_default().trim()
            ),
            Self::Min { min, max } => write!(
                f,
                "`min` of [mysql.pool] of listener '{listener}' is {min}, but its `max` is {max}; lower `min` or raise `max`"
            ),
            Self::NeedsPool { key } => write!(
                f,
                "`{key}` of listener '{listener}' is not supported with mode = \"{mode}\"; use a pooled mode or remove it"
            ),
            Self::NotShared { key, backend } => {
                write!(f, "`{key}` of ")?;
                if !backend.is_empty() {
                    write!(f, "backend '{backend}' of ")?;
                }
                write!(
                    f,
                    "listener '{listener}' is not supported with mode = \"{mode}\"; remove it"
                )
            }
        }
    }
}
