//! The options of a shared handle.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::limits::{Limits, Offline};
use super::tracker::{Tracker, Trackers};
use crate::{Backoff, Config, Reply};

/// The longest time that is passed to a clock: an "unlimited" time must not overflow it.
const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The push listener.
pub(super) type Listener = Box<dyn FnMut(Event<'_>) + Send>;

/// What a push listener is called with.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'r> {
    /// A push message of the server that belongs to no [`Subscription`](super::Subscription): an invalidated key.
    Push(Reply<'r>),
    /// The connection was lost and replaced by a new one. Push messages in between are missing, and the server has forgotten its
    /// state for the old connection.
    Gap,
}

/// The limits and behavior of a [`Shared`](super::Shared) handle.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::Config;
/// use onecopy_valkey::aio::{Event, Shared, SharedOptions};
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let options = SharedOptions::default().fail_fast().on_push(|event| {
///     if let Event::Push(message) = event {
///         println!("{message:?}");
///     }
/// });
/// let shared = Shared::connect_with(&Config::default(), options).await?;
/// # Ok(()) }
/// ```
#[non_exhaustive]
pub struct SharedOptions {
    /// The maximum number of requests in flight on the shared connection. Default: 16,384. When it is reached, callers wait for
    /// their turn. A caller whose turn has come holds it until its future is polled or dropped.
    pub max_in_flight: usize,
    /// The maximum number of unsent request bytes; the last request may exceed it. Default: 16 MiB. When it is reached, callers
    /// wait for their turn. Large arguments that own their bytes are counted, although their memory is shared with the caller.
    pub max_unsent_bytes: usize,
    /// The queue for commands while there is no connection. Default: [`OfflineQueue::default`]. `None`: they fail at once.
    pub offline: Option<OfflineQueue>,
    /// The delays before attempts to reconnect.
    pub backoff: Backoff,
    /// The size of a reply in bytes from which the next runs of a read-only command use dedicated connections. Default: 1 MiB.
    /// `usize::MAX`: never. See [`Shared`](super::Shared).
    pub large_reply: usize,
    /// The maximum number of dedicated connections: for blocking commands, large replies and transactions that watch keys.
    /// Default: 16. When it is reached, callers wait for their turn.
    pub max_dedicated: usize,
    /// How long an idle dedicated connection is kept. Default: 30 seconds.
    pub dedicated_idle_time: Duration,
    /// Overrides [`Config::unresponsive_timeout`]; zero turns it off. Default: `None`, the value of the configuration or its URL.
    pub unresponsive_timeout: Option<Duration>,
    /// How long [`close`](super::Shared::close) waits for accepted commands. Default: 30 seconds. `None`: until they are
    /// finished.
    pub close_timeout: Option<Duration>,
    /// Whether subscriptions use a connection of their own, as they always do with RESP2. Default: off. Use it where messages are
    /// so large or so many that they would delay the replies to commands.
    pub own_subscription_connection: bool,
    pub(super) listener: Option<Listener>,
    /// Who hears which keys change.
    pub(super) tracker: Option<Arc<dyn Tracker>>,
    /// The same for each of several connections.
    trackers: Option<Arc<dyn Trackers>>,
    /// Whether a connection that is lost is made again. Otherwise the handle is closed then.
    pub(super) reconnects: bool,
}

/// The offline queue: how callers wait while there is no connection. Waiting commands are not copied. If a caller gives up or has
/// waited too long, its command was certainly not executed. When a connection is lost, callers that were waiting for room, and
/// callers whose command was not sent, count towards these limits as if they had just arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfflineQueue {
    /// The maximum number of waiting callers. Default: 10,000.
    pub max_commands: usize,
    /// The maximum total size of their commands in bytes. Default: 16 MiB.
    pub max_bytes: usize,
    /// How long a command waits at most. Default: 10 seconds.
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
            own_subscription_connection: false,
            listener: None,
            tracker: None,
            trackers: None,
            reconnects: true,
        }
    }
}

impl SharedOptions {
    /// Makes commands fail at once while there is no connection.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.offline = None;
        self
    }

    /// Sets a listener for push messages, and for gaps in them. The connection's task calls it, so all callers wait until it
    /// returns.
    #[must_use]
    pub fn on_push(mut self, listener: impl FnMut(Event<'_>) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Sets who hears which keys change.
    #[cfg(feature = "caching")]
    pub(in crate::aio) fn tracked_by(mut self, tracker: Arc<dyn Tracker>) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// Sets who hears which keys change, on each of several connections.
    #[cfg(feature = "caching")]
    pub(in crate::aio) fn tracked_by_all(mut self, trackers: Arc<dyn Trackers>) -> Self {
        self.trackers = Some(trackers);
        self
    }

    /// Returns who hears which keys change.
    pub(in crate::aio) fn trackers(&self) -> Option<&Arc<dyn Trackers>> {
        self.trackers.as_ref()
    }

    /// Returns the same for a node of a cluster: without a listener, and its commands do not wait for it, as another node may have
    /// taken its slots.
    pub(in crate::aio) fn for_node(&self) -> Self {
        Self {
            offline: None,
            listener: None,
            tracker: self.trackers.as_ref().map(|trackers| trackers.new_line()),
            trackers: self.trackers.clone(),
            ..*self
        }
    }

    /// Returns the same for a server that may have another role by the next connection: whoever has made this one looks for the
    /// right server then.
    pub(in crate::aio) fn for_one_connection(&self) -> Self {
        Self {
            reconnects: false,
            ..self.for_node()
        }
    }

    /// Returns how long a server may send nothing while it owes a reply; `None` means no limit.
    pub(super) fn unresponsive_timeout(&self, config: &Config) -> Option<Duration> {
        self.unresponsive_timeout
            .or(config.unresponsive_timeout)
            .filter(|timeout| !timeout.is_zero())
    }

    pub(super) fn limits(&self, config: &Config) -> Limits {
        Limits {
            // With room for none everybody would wait forever.
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
            .field(
                "own_subscription_connection",
                &self.own_subscription_connection,
            )
            .field("has_listener", &self.listener.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_end_are_a_hundred_years() {
        let config = Config {
            command_timeout: Some(Duration::MAX),
            ..Config::default()
        };
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
