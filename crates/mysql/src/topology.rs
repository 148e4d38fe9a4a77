//! Several servers in one configuration: which are tried, in what order, for how long, and which one is good enough.
//!
//! ```text
//!  endpoint, alternatives --(load-balance: shuffled)--> candidate, candidate, ...
//!                                                          |  each has an equal share of the time that is left
//!                                      logged in <---------+-------> failed: the next one, unless the account is refused
//!                                          |
//!                            target asks for a role: @@global.read_only
//! ```

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Instant;

use onecopy_net::Endpoint;

use crate::link::deadline_in;
use crate::{Config, Error};

/// Which server of several a connection is for, by whether it accepts writes: by `@@global.read_only`.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Pool;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let servers = "mysql://app:password@db1,db2,db3/shop";
/// let writes = Pool::from_url(&format!("{servers}?target=primary"))?;
/// let reads = Pool::from_url(&format!("{servers}?target=prefer-replica&load-balance=true"))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerTarget {
    /// Any server. Nothing is asked after the login.
    #[default]
    Any,
    /// A server that accepts writes. Costs a round trip after the login, as do the other two.
    Primary,
    /// A read-only server.
    Replica,
    /// A read-only server, or the first other one if no read-only server can be reached.
    PreferReplica,
}

impl ServerTarget {
    const ALL: [Self; 4] = [Self::Any, Self::Primary, Self::Replica, Self::PreferReplica];

    /// Returns the target's name in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Primary => "primary",
            Self::Replica => "replica",
            Self::PreferReplica => "prefer-replica",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    fn wants_read_only(self) -> Option<bool> {
        match self {
            Self::Any => None,
            Self::Primary => Some(false),
            Self::Replica | Self::PreferReplica => Some(true),
        }
    }
}

/// The statement that tells the role. MariaDB and MySQL answer 0 or 1, MariaDB 12 the name of a mode, `OFF` included.
pub(crate) const ROLE_QUERY: &[u8] = b"SELECT @@global.read_only";

/// Whether this answer is that of a read-only server.
pub(crate) fn is_read_only(answer: &str) -> bool {
    !matches!(answer, "0") && !answer.eq_ignore_ascii_case("off")
}

/// The search for a server. `C` is a connection of one of the APIs.
pub(crate) struct Search<C> {
    candidates: std::vec::IntoIter<Endpoint>,
    config: Config,
    deadline: Option<Instant>,
    target: ServerTarget,
    /// A server of the other role.
    second_best: Option<C>,
    failures: Vec<(Endpoint, Error)>,
}

impl<C> Search<C> {
    /// Whether the configuration leaves anything to be searched for.
    pub(crate) fn is_needed(config: &Config) -> bool {
        !config.alternatives.is_empty() || config.target != ServerTarget::Any
    }

    pub(crate) fn new(config: &Config) -> Self {
        let mut candidates = vec![config.endpoint.clone()];
        candidates.extend(config.alternatives.iter().cloned());
        if config.load_balance {
            shuffle(&mut candidates, &RandomState::new());
        }
        Self {
            candidates: candidates.into_iter(),
            config: Config {
                alternatives: Vec::new(),
                ..config.clone()
            },
            deadline: deadline_in(config.connect_timeout),
            target: config.target,
            second_best: None,
            failures: Vec::new(),
        }
    }

    /// Returns the configuration for the next server, and until when to try it: all that are left have the same share of the
    /// time, and what one does not need is the others'.
    pub(crate) fn next(&mut self) -> Option<(&Config, Option<Instant>)> {
        let left = u32::try_from(self.candidates.len()).unwrap_or(u32::MAX);
        self.config.endpoint = self.candidates.next()?;
        let share = self.deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / left
        });
        Some((&self.config, share))
    }

    /// Takes a server that is logged in, with whether it is read-only where that was asked. Returns it if it is good enough.
    pub(crate) fn logged_in(&mut self, connection: C, is_read_only: Option<bool>) -> Option<C> {
        let wanted = self.target.wants_read_only();
        if wanted.is_none() || wanted == is_read_only {
            return Some(connection);
        }
        if self.target == ServerTarget::PreferReplica {
            self.second_best.get_or_insert(connection);
        } else {
            let error = Error::wrong_role(self.target);
            self.failures.push((self.config.endpoint.clone(), error));
        }
        None
    }

    /// Notes that the server under way failed.
    ///
    /// # Errors
    /// Returns the error if no other server would give another answer, or should be asked.
    pub(crate) fn failed(&mut self, error: Error) -> Result<(), Error> {
        if concerns_all(&error) {
            return Err(error);
        }
        self.failures.push((self.config.endpoint.clone(), error));
        Ok(())
    }

    /// The result when no server is left.
    pub(crate) fn end(mut self) -> Result<C, Error> {
        if let Some(connection) = self.second_best {
            return Ok(connection);
        }
        match self.failures.len() {
            1 => Err(self.failures.remove(0).1),
            _ => Err(Error::no_server(self.failures)),
        }
    }
}

/// Whether the fault is the configuration's or the account's: to try a wrong password on every server could lock the account
/// on all of them. SQLSTATE class 28 is a refused login, 42000 a refused or unknown database.
fn concerns_all(error: &Error) -> bool {
    if error.is_configuration() {
        return true;
    }
    let state = error.server().and_then(|error| error.sql_state.as_deref());
    state.is_some_and(|state| state.starts_with("28") || state == "42000")
}

/// Fisher and Yates, with the hasher's random keys as the source of randomness.
fn shuffle<T>(items: &mut [T], random: &RandomState) {
    for last in (1..items.len()).rev() {
        let bound = last as u64 + 1;
        let other = usize::try_from(random.hash_one(last) % bound).unwrap_or(0);
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests;
