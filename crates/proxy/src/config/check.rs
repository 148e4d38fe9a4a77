//! Configurations that cannot be served although each key is well-formed.

mod address;
mod pooling;

use std::fmt;
use std::time::Duration;

use onecopy_net::Endpoint;

use super::{Actions, Config, ListenerConfig, Mode};
use address::Listening;
pub use pooling::PoolError;

/// With less memory a worker could not serve a session: one read of ordinary size, 16 KiB.
pub(crate) const LEAST_BUDGET: usize = 16 << 10;

/// Why a configuration cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no listener, or none of them has an address.
    NothingToListenOn,
    /// A listener has no backend.
    NoBackend {
        /// The name of the listener.
        listener: String,
    },
    /// A listener is to find servers, and there are no health checks that log in and ask.
    DiscoveryNeedsHealth {
        /// The name of the listener.
        listener: String,
    },
    /// The admin listener has an address and no password.
    NoAdminPassword,
    /// The page has actions on any address, and there is no administrator's password.
    NoPasswordForActions,
    /// A number or time is 0, which would refuse or fail everything.
    Zero {
        /// The key.
        key: &'static str,
        /// The name of the table that contains it; empty for the top of the file.
        table: String,
        /// The value to write instead.
        instead: &'static str,
    },
    /// The memory is less than each worker needs for one session.
    Memory {
        /// The configured memory, in bytes.
        bytes: usize,
        /// The required memory, in bytes.
        least: usize,
        /// The number of workers that share it.
        workers: usize,
    },
    /// A listener whose clients share server connections cannot be served.
    Pool {
        /// The name of the listener.
        listener: String,
        /// How they share them.
        mode: Mode,
        /// What is wrong with it.
        error: PoolError,
    },
    /// Two listeners have the same address; `[metrics]`, `[web]` and `[admin]` are listeners too.
    SameAddress {
        /// One listener and its address.
        one: (String, Endpoint),
        /// The other listener and its address.
        other: (String, Endpoint),
    },
    /// A backend is the proxy itself.
    OwnBackend {
        /// The listener with this backend.
        listener: String,
        /// The backend.
        backend: (String, Endpoint),
        /// The listener at the backend's address.
        is: String,
        /// Whether sessions return to `listener` only through `is` and its backends.
        is_indirect: bool,
    },
}

impl Config {
    /// Checks for settings that make a configuration useless or harmful although each key is well-formed. If a backend has the
    /// port of a listener, its host name is resolved; a name without an address is not an error here.
    ///
    /// # Errors
    /// Fails with the first problem found.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_listeners()?;
        self.check_zeros()?;
        self.check_pools()?;
        self.check_memory()?;
        let listening = self.check_addresses()?;
        self.check_backends(&listening)
    }

    fn check_listeners(&self) -> Result<(), ConfigError> {
        if self.listeners.iter().all(|all| all.listen.is_empty()) {
            return Err(ConfigError::NothingToListenOn);
        }
        let mut listeners = self.listeners.iter();
        if let Some(listener) = listeners.find(|listener| listener.backends.is_empty()) {
            let listener = listener.name.clone();
            return Err(ConfigError::NoBackend { listener });
        }
        let asks = self.health.login.is_some() && self.health.interval.is_some();
        let mut listeners = self.listeners.iter();
        if !asks && let Some(listener) = listeners.find(|one| one.discovery.is_some()) {
            let listener = listener.name.clone();
            return Err(ConfigError::DiscoveryNeedsHealth { listener });
        }
        let has_actions = self.web.listen.is_some() && self.web.actions == Actions::On;
        match self.admin.password.is_empty() {
            true if self.admin.listen.is_some() => Err(ConfigError::NoAdminPassword),
            true if has_actions => Err(ConfigError::NoPasswordForActions),
            _ => Ok(()),
        }
    }

    fn check_zeros(&self) -> Result<(), ConfigError> {
        const NO_LIMIT: &str = "give at least 1, or leave it out for no limit";
        const TIME: &str = "give a time, as \"5s\"";
        not_zero(
            "max-connections",
            "",
            self.max_connections == 0,
            "give at least 1",
        )?;
        if self.upgrade.socket.is_some() {
            let is_zero = self.upgrade.ready_timeout.is_zero();
            not_zero("ready-timeout", "[upgrade]", is_zero, TIME)?;
        }
        if self.health.interval.is_some() {
            let health = &self.health;
            not_zero("timeout", "[health]", health.timeout.is_zero(), TIME)?;
            not_zero("fall", "[health]", health.fall == 0, "give at least 1")?;
            not_zero("rise", "[health]", health.rise == 0, "give at least 1")?;
        }
        for listener in &self.listeners {
            let table = format!("listener '{}'", listener.name);
            let has_no_user = listener.max_user_connections == Some(0);
            not_zero("max-user-connections", &table, has_no_user, NO_LIMIT)?;
            let has_no_time = listener.handshake_timeout == Duration::ZERO;
            not_zero("handshake-timeout", &table, has_no_time, TIME)?;
            for backend in &listener.backends {
                let table = format!("backend '{}' of {table}", backend.name);
                let has_no_session = backend.max_connections == Some(0);
                not_zero(
                    "max-connections",
                    &table,
                    has_no_session,
                    "give at least 1, leave it out for no limit, or set weight = 0 to send it no new sessions",
                )?;
                let has_no_time = backend.connect_timeout == Duration::ZERO;
                not_zero("connect-timeout", &table, has_no_time, TIME)?;
            }
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let workers = self.worker_count();
        let least = LEAST_BUDGET.saturating_mul(workers);
        match self.memory < least {
            true => Err(ConfigError::Memory {
                bytes: self.memory,
                least,
                workers,
            }),
            false => Ok(()),
        }
    }

    /// Gives all addresses that are listened on, if no two are the same.
    fn check_addresses(&self) -> Result<Vec<Listening>, ConfigError> {
        let mut all: Vec<Listening> = Vec::new();
        let mysql = self.listeners.iter().flat_map(|listener| {
            let name = format!("listener '{}'", listener.name);
            let each = listener.listen.iter();
            each.map(move |endpoint| (name.clone(), endpoint))
        });
        let metrics = self.metrics.listen.iter();
        let metrics = metrics.map(|endpoint| ("[metrics]".to_owned(), endpoint));
        let admin = self.admin.listen.iter();
        let admin = admin.map(|endpoint| ("[admin]".to_owned(), endpoint));
        let web = self.web.listen.iter();
        let web = web.map(|endpoint| ("[web]".to_owned(), endpoint));
        let upgrade = self.upgrade.socket.clone().map(Endpoint::Unix);
        let upgrade = upgrade
            .iter()
            .map(|endpoint| ("[upgrade]".to_owned(), endpoint));
        let control = metrics.chain(web).chain(admin).chain(upgrade);
        for (name, endpoint) in mysql.chain(control) {
            let new = Listening::new(name, endpoint);
            if let Some(other) = all.iter().find(|other| other.is_in_the_way_of(&new)) {
                return Err(ConfigError::SameAddress {
                    one: other.described(),
                    other: new.described(),
                });
            }
            all.push(new);
        }
        Ok(all)
    }

    fn check_backends(&self, listening: &[Listening]) -> Result<(), ConfigError> {
        // Where each listener's backends lead.
        let mut leads: Vec<Vec<usize>> = vec![Vec::new(); self.listeners.len()];
        let at = |name: &str| {
            let is_it = |known: &ListenerConfig| format!("listener '{}'", known.name) == name;
            self.listeners.iter().position(is_it)
        };
        for (from, listener) in self.listeners.iter().enumerate() {
            for backend in &listener.backends {
                let found = listening
                    .iter()
                    .filter(|known| known.takes(&backend.endpoint));
                for known in found {
                    let to = at(known.name());
                    // Behind [metrics], [web] and [admin] there is no server.
                    let is_wrong = to.is_none_or(|to| to == from || reaches(&leads, to, from));
                    if is_wrong {
                        return Err(ConfigError::OwnBackend {
                            listener: listener.name.clone(),
                            backend: (backend.name.clone(), backend.endpoint.clone()),
                            is: known.name().to_owned(),
                            is_indirect: to.is_some_and(|to| to != from),
                        });
                    }
                    leads[from].extend(to);
                }
            }
        }
        Ok(())
    }

    /// Worker threads.
    pub(crate) fn worker_count(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        }
    }
}

fn not_zero(
    key: &'static str,
    table: &str,
    is_zero: bool,
    instead: &'static str,
) -> Result<(), ConfigError> {
    match is_zero {
        true => Err(ConfigError::Zero {
            key,
            table: table.to_owned(),
            instead,
        }),
        false => Ok(()),
    }
}

/// Whether sessions come from one listener to another.
fn reaches(leads: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; leads.len()];
    let mut next = vec![from];
    while let Some(here) = next.pop() {
        if here == to {
            return true;
        }
        if !std::mem::replace(&mut seen[here], true) {
            next.extend(&leads[here]);
        }
    }
    false
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToListenOn => f.write_str("there is nothing to listen on"),
            Self::NoBackend { listener } => write!(f, "listener '{listener}' has no backend"),
            Self::DiscoveryNeedsHealth { listener } => write!(
                f,
                "`discover` of listener '{listener}' needs health checks with a login; give health.user and health.interval"
            ),
            Self::NoAdminPassword => {
                f.write_str("the admin listener has no password; give admin.password-file")
            }
            Self::NoPasswordForActions => f.write_str(
                "the page's actions need an administrator's password; give admin.password-file",
            ),
            Self::Zero {
                key,
                table,
                instead,
            } => {
                write!(f, "`{key}`")?;
                if !table.is_empty() {
                    write!(f, " of {table}")?;
                }
                write!(f, " can't be 0; {instead}")
            }
            Self::Memory {
                bytes,
                least,
                workers,
            } => write!(
                f,
                "`memory` is {bytes} bytes, but {workers} workers need {least} to serve one session each; raise it"
            ),
            Self::Pool {
                listener,
                mode,
                error,
            } => error.fmt(listener, *mode, f),
            Self::SameAddress { one, other } if one.1 == other.1 => write!(
                f,
                "{} and {} both listen on {}; give each its own address",
                one.0, other.0, one.1
            ),
            Self::SameAddress { one, other } => write!(
                f,
                "{} listens on {} and {} on {}, which overlap; give each its own address",
                one.0, one.1, other.0, other.1
            ),
            Self::OwnBackend {
                listener,
                backend: (name, endpoint),
                is,
                is_indirect,
            } => {
                write!(
                    f,
                    "backend '{name}' of listener '{listener}' is at {endpoint}, "
                )?;
                match is_indirect {
                    _ if is.starts_with('[') => {
                        write!(f, "where {is} of this proxy listens")?;
                    }
                    false => f.write_str("where the listener itself listens")?,
                    true => write!(f, "where {is} listens, which leads back to it")?,
                }
                f.write_str("; give the address of the database server")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests;
