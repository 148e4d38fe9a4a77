//! Descriptors: how many the process may have, for how many sessions they do, and what is kept back of them.
//!
//! A session takes two, its client's and its backend's. On a pooled listener it takes its client's, and shared connections take theirs:
//! where all listeners are pooled, as many as the pools may make are kept back for these. Where sessions could take all, nobody could
//! be told why he is not served, health checks would find no backend, and monitoring would find no proxy. So sessions get what the
//! rest does not need:
//!
//! ```text
//!   limit = open at the start + listeners + control + checks     kept back
//!         + refused clients + servers that have not greeted      a sixteenth each, at most as many as there may be
//!         + clients that wait                                    at most a quarter
//!         + 2 x sessions, or sessions + `max` for each server of each pool
//! ```

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::{Config, ListenerConfig, MOST_DISCOVERED};

/// For the control listeners' clients, 32 over HTTP and 16 administrators with two each, and one more that replaces another; for
/// connections of the proxy's own, files and look-ups.
const CONTROL: usize = 33 + 2 * 17 + 16;

/// For clients of the page: 32 with a request and one more that replaces another, and 32 who watch it.
const PAGE: usize = 33 + 32;

/// Open at the start, where the system does not say how many are: its threads' and listeners' own.
const UNKNOWN: usize = 64;

/// The parts of what is left that refused clients and servers that have not greeted get.
const PART: usize = 16;

/// Raises the limit of open files that is in force as far as the system lets the process, which takes no rights. Programs get the
/// lower one by default for the sake of old system calls, of which the proxy uses none.
///
/// # Errors
/// The system's; the limit is as it was.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return Ok(());
    }
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Whether a call of the system has failed because descriptors or memory are used up here: nothing is wrong with whom it was
/// about.
pub(crate) fn are_used_up(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}

/// What there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFiles {
    /// `None` for any number.
    limit: Option<usize>,
    at_start: usize,
}

/// For how many they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) sessions: usize,
    /// Clients that wait for a place.
    pub(crate) queue: usize,
    /// Clients that are being told that they can't come in.
    pub(crate) refused: usize,
}

impl OpenFiles {
    /// As it is before there are sessions.
    pub(crate) fn measure() -> Self {
        Self {
            limit: limit(),
            at_start: open_now().unwrap_or(UNKNOWN),
        }
    }

    /// What of it a configuration may use.
    pub(crate) fn room(self, config: &Config) -> Room {
        let most = Room {
            sessions: config.max_connections,
            queue: config.queue_length,
            refused: MOST_REFUSED,
        };
        let Some(limit) = self.limit else {
            return most;
        };
        let listeners = config.listeners.iter();
        let each = |listener: &ListenerConfig| {
            // A check of each backend at a time.
            listener.listen.len() + listener.backends.len()
        };
        let page = config.web.listen.as_ref().map_or(0, |_| PAGE);
        let fixed = self.at_start + CONTROL + page + listeners.map(each).sum::<usize>();
        let left = limit.saturating_sub(fixed);
        let refused = (left / PART).clamp(1, MOST_REFUSED);
        let ungreeted = left / PART;
        let queue = match config.queue_timeout.is_zero() {
            true => 0,
            false => config.queue_length.min(left / 4),
        };
        let left = left.saturating_sub(refused + ungreeted + queue);
        let of_pools = most_of_pools(config).map(|connections| left.saturating_sub(connections));
        let sessions = of_pools.unwrap_or_default().max(left / 2);
        Room {
            // With fewer than one there would be no proxy.
            sessions: most.sessions.min(sessions.max(1)),
            queue: most.queue.min(queue),
            refused,
        }
    }

    /// What is to be said of a configuration that asks for more.
    pub(crate) fn warning(self, config: &Config) -> Option<String> {
        let room = self.room(config).sessions;
        let limit = self.limit.filter(|_| room < config.max_connections)?;
        let wanted = config.max_connections;
        Some(format!(
            "max-connections is {wanted}, and the limit of {limit} open files has room for {room} sessions; more clients are \
             refused with error 1040; raise the limit (ulimit -n, LimitNOFILE=) or lower max-connections"
        ))
    }
}

/// As many connections to servers as there may be, whatever the number of sessions; `None` where that bounds them.
fn most_of_pools(config: &Config) -> Option<usize> {
    let of_each = |listener: &ListenerConfig| {
        let found = listener.discovery.map_or(0, |_| MOST_DISCOVERED);
        let servers = listener.backends.len() + found;
        let is_pooled = listener.mode.is_pooled();
        is_pooled.then(|| listener.pool.max.saturating_mul(servers))
    };
    let mut all = config.listeners.iter().map(of_each);
    let sum = all.try_fold(0_usize, |sum, one| Some(sum.saturating_add(one?)));
    sum.filter(|_| !config.listeners.is_empty())
}

/// The most refused clients that are waited for.
const MOST_REFUSED: usize = 256;

/// Connections to servers that have accepted them and do not greet, of each of so many workers.
pub(crate) fn ungreeted(workers: usize) -> usize {
    const MOST: usize = 1_000;
    limit().map_or(MOST, |limit| (limit / PART / workers.max(1)).min(MOST))
}

/// The limit in force.
pub(crate) fn limit() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

/// How many are open; `None` where the system does not say.
pub(crate) fn open_now() -> Option<usize> {
    // One of them is the folder's own.
    let listed = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    Some(listed.ok()?.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Mode;

    fn room(limit: usize, change: impl FnOnce(&mut Config)) -> Room {
        let mut config = Config::default();
        change(&mut config);
        let files = OpenFiles {
            limit: Some(limit),
            at_start: 50,
        };
        let room = files.room(&config);
        assert_eq!(
            files.warning(&config).is_some(),
            room.sessions < config.max_connections
        );
        room
    }

    #[test]
    fn sessions_get_what_is_not_kept_back() {
        let small = room(300, |_| {});
        assert_eq!((small.sessions, small.queue, small.refused), (73, 0, 10));
        let waiting = room(300, |config| config.queue_timeout = Duration::from_secs(1));
        assert_eq!((waiting.sessions, waiting.queue), (53, 41));
        let large = room(1 << 20, |_| {});
        assert_eq!((large.sessions, large.refused), (100_000, 256));
        let few = room(1 << 20, |config| config.max_connections = 10);
        assert_eq!(few.sessions, 10);
        let page = room(300, |config| {
            config.web.listen = crate::config::endpoint("127.0.0.1:9105").ok();
        });
        assert_eq!((page.sessions, page.refused), (45, 6));
        // Those of pools are shared.
        let listener = |mode, max| {
            let mut listener = ListenerConfig {
                mode,
                ..ListenerConfig::default()
            };
            listener.pool.max = max;
            let backend = crate::config::endpoint("127.0.0.1:3306").unwrap();
            listener.backends = vec![crate::config::BackendConfig::new(backend); 2];
            listener
        };
        let pass = room(300, |config| {
            config.listeners = vec![listener(Mode::Pass, 10)]
        });
        let pooled = |max| {
            let all = vec![
                listener(Mode::Transaction, max),
                listener(Mode::Session, max),
            ];
            room(300, |config| config.listeners = all).sessions
        };
        assert_eq!((pass.sessions, pooled(10)), (72, 103));
        assert_eq!(pooled(1_000), 71, "two each do");
        let both = vec![listener(Mode::Transaction, 10), listener(Mode::Pass, 10)];
        assert_eq!(room(300, |config| config.listeners = both).sessions, 71);
        // One session at least.
        assert_eq!(room(20, |_| {}).sessions, 1);
    }
}
