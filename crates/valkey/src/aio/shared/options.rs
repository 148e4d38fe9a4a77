//! How a shared handle behaves.

use std::fmt;
use std::time::Duration;

use super::backoff::Backoff;
use super::limits::{Limits, Offline};
use crate::{Config, Reply};

/// Longest time that is told to a clock: "for ever" must not overflow it.
const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Who is told of what is no reply.
pub(super) type Listener = Box<dyn FnMut(Event<'_>) + Send>;

/// What comes to a listener.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'r> {
    /// The server sent something out of band: an invalidated key, a message.
    Push(Reply<'r>),
    /// The connection was lost and there is a new one: what the server would have sent in between is missing, and what it
    /// knew of the old connection it has forgotten.
    Gap,
}

/// Bounds and manners of a [`Shared`](super::Shared).
#[non_exhaustive]
pub struct SharedOptions {
    /// Requests without a reply, on the shared connection; who wants more waits for his turn, and holds it until his future
    /// is polled or dropped. 16,384.
    pub max_in_flight: usize,
    /// Bytes of requests that wait to be sent; the last one may exceed it. Who finds so many waits for his turn. 16 MiB.
    /// Large arguments that own their bytes are counted, though their memory is shared with the caller.
    pub max_unsent_bytes: usize,
    /// What happens to commands while there is no connection. [`OfflineQueue::default`].
    pub offline: Option<OfflineQueue>,
    /// Pauses before attempts to connect again.
    pub backoff: Backoff,
    /// Bytes of a reply from which on the command's next runs go to connections of their own, if it only reads: 1 MiB;
    /// `usize::MAX` for never. [`Shared`](super::Shared) says more.
    pub large_reply: usize,
    /// Connections beside the shared one: for blocking commands, large replies and transactions that watch keys. 16 at most;
    /// who wants more waits for his turn.
    pub max_dedicated: usize,
    /// How long a connection of these is kept without use. 30 seconds.
    pub dedicated_idle_time: Duration,
    /// In place of [`Config::unresponsive_timeout`]; zero turns it off. `None`: as the configuration or its URL says.
    pub unresponsive_timeout: Option<Duration>,
    /// How long [`close`](super::Shared::close) waits for commands that were taken; `None` for as long as they take. 30 seconds.
    pub close_timeout: Option<Duration>,
    pub(super) listener: Option<Listener>,
}

/// How callers may wait for a connection, when there is none. What waits is not copied; a caller who walks away, or has
/// waited for too long, knows that his command was not executed. Whoever waited for room when a connection was lost, and whose
/// command has not left, is held against the bounds as if he came then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfflineQueue {
    /// Callers who wait at most. 10,000.
    pub max_commands: usize,
    /// Bytes that their commands have in all. 16 MiB.
    pub max_bytes: usize,
    /// How long a command waits. 10 seconds.
    pub max_wait: Duration,
}

impl Default for OfflineQueue {
    fn default() -> Self {
        Self {
            max_commands: 10_000,
            max_bytes: 16 << 20,
            max_wait: Duration::from_secs(10),
        }
    }
}

impl Default for SharedOptions {
    fn default() -> Self {
        Self {
            max_in_flight: 16 << 10,
            max_unsent_bytes: 16 << 20,
            offline: Some(OfflineQueue::default()),
            backoff: Backoff::default(),
            large_reply: 1 << 20,
            max_dedicated: 16,
            dedicated_idle_time: Duration::from_secs(30),
            unresponsive_timeout: None,
            close_timeout: Some(Duration::from_secs(30)),
            listener: None,
        }
    }
}

impl SharedOptions {
    /// Commands fail at once when there is no connection.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.offline = None;
        self
    }

    /// Has `listener` be told of pushes, and of gaps in them. It is called by the connection's task: all callers wait
    /// meanwhile.
    #[must_use]
    pub fn on_push(mut self, listener: impl FnMut(Event<'_>) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// How long a server may send nothing while it owes a reply; `None` for ever.
    pub(super) fn unresponsive_timeout(&self, config: &Config) -> Option<Duration> {
        self.unresponsive_timeout
            .or(config.unresponsive_timeout)
            .filter(|timeout| !timeout.is_zero())
    }

    pub(super) fn limits(&self, config: &Config) -> Limits {
        Limits {
            // With room for none everybody would wait for ever.
            max_in_flight: self.max_in_flight.max(1) as u64,
            max_unsent_bytes: self.max_unsent_bytes.max(1) as u64,
            command_timeout: config.command_timeout.map(|timeout| timeout.min(LONG)),
            offline: self.offline.map(|offline| Offline {
                max_commands: offline.max_commands as u64,
                max_bytes: offline.max_bytes as u64,
                max_wait: offline.max_wait.min(LONG),
            }),
        }
    }
}

impl fmt::Debug for SharedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedOptions")
            .field("max_in_flight", &self.max_in_flight)
            .field("max_unsent_bytes", &self.max_unsent_bytes)
            .field("offline", &self.offline)
            .field("backoff", &self.backoff)
            .field("large_reply", &self.large_reply)
            .field("max_dedicated", &self.max_dedicated)
            .field("dedicated_idle_time", &self.dedicated_idle_time)
            .field("unresponsive_timeout", &self.unresponsive_timeout)
            .field("close_timeout", &self.close_timeout)
            .field("has_listener", &self.listener.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_end_are_a_hundred_years() {
        let mut config = Config::default();
        config.command_timeout = Some(Duration::MAX);
        let mut options = SharedOptions::default();
        options.offline.as_mut().unwrap().max_wait = Duration::MAX;
        let limits = options.limits(&config);
        let century = Duration::from_secs(3_153_600_000);
        assert_eq!(limits.command_timeout, Some(century));
        assert_eq!(limits.offline.unwrap().max_wait, century);
    }

    #[test]
    fn a_default_is_as_documented() {
        let options = SharedOptions::default();
        assert_eq!(options.max_in_flight, 16_384);
        assert_eq!(options.max_unsent_bytes, 16_777_216);
        assert_eq!(options.large_reply, 1_048_576);
        assert_eq!(options.offline.unwrap().max_bytes, 16_777_216);
    }
}
