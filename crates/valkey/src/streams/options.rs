//! What a consumer reads, and how.

use std::time::Duration;

use super::EntryId;
use crate::cluster::{ClusterError, key_slot};
use crate::{Backoff, Error};

/// Which entries a group begins with when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupStart {
    /// The first entry of the stream.
    #[default]
    Beginning,
    /// The first entry that is added after the group is created.
    End,
    /// The first entry behind this one.
    After(EntryId),
}

/// What happens with an entry that was delivered more than [`max_deliveries`](ConsumerOptions::max_deliveries) times.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Poison {
    /// It is added to the stream of this key, then acknowledged. Its fields are followed by `onecopy-stream`, `onecopy-group`,
    /// `onecopy-id` and `onecopy-deliveries`. If the connection is lost in between, it may be added twice. In a cluster, the key
    /// has to be on the node of the stream: use the same `{...}`.
    MoveTo(Vec<u8>),
    /// It is acknowledged, which drops it.
    Discard,
}

/// The options of a consumer.
///
/// ```
/// use std::time::Duration;
///
/// use onecopy_valkey::streams::{ConsumerOptions, Poison};
///
/// let mut options = ConsumerOptions::new("orders", "billing", "worker-1");
/// options.batch = 500;
/// options.ack_batch = 100;
/// options.claim_min_idle = Some(Duration::from_secs(300)); // longer than an order takes
/// options.max_deliveries = Some(5);
/// options.poison = Poison::MoveTo("orders:failed".into());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsumerOptions {
    /// The key of the stream.
    pub key: Vec<u8>,
    /// The name of the group.
    pub group: Vec<u8>,
    /// The name of this consumer in the group. Two consumers that run at the same time need different names. A process that
    /// starts again with the name that it had continues with its own pending entries at once.
    pub consumer: Vec<u8>,
    /// Whether the group, and the stream, are created if they do not exist when the consumer connects, and where the group
    /// begins. Default: at the beginning. `None`: they are not created.
    pub create: Option<GroupStart>,
    /// Whether the group is created again, at the beginning of the stream, if it disappears later: after FLUSHALL, or a failover
    /// to a server without it. Default: no; `next` then fails with an error for which
    /// [`Error::is_no_group`](crate::Error::is_no_group) is true.
    pub recreate: bool,
    /// The maximum number of entries that are read together, and held until the caller takes them. At least 1. Default: 100.
    pub batch: usize,
    /// How long a read waits for new entries at the server before it is repeated, at least 1 ms. Default: 5 seconds.
    pub block: Duration,
    /// Entries that nobody has acknowledged for so long after their last delivery are taken over, from any consumer. Set it
    /// above the longest time that processing takes, or slow entries are processed twice. Default: 60 seconds. `None`: nothing
    /// is taken over. Needs a server of 6.2 or later.
    pub claim_min_idle: Option<Duration>,
    /// The time between two searches for such entries. Default: 30 seconds.
    pub claim_interval: Duration,
    /// How many acknowledgements are sent together. Default: 1, so that each `ack` waits until the server has it. With more,
    /// `ack` returns at once until there are so many, and before the next batch is read they are sent too, in the same write. If
    /// the process ends before, these entries are processed again.
    pub ack_batch: usize,
    /// How many entries the caller may have taken and not acknowledged. Then `next` fails. Default: 10,000. It bounds the memory
    /// that remembers their IDs.
    pub max_unacknowledged: usize,
    /// How often an entry is delivered before it counts as poison. Default: `None`, no limit.
    pub max_deliveries: Option<u64>,
    /// What happens with it then. Default: it is discarded.
    pub poison: Poison,
    /// The delays before attempts to reconnect.
    pub backoff: Backoff,
    /// How many attempts to reconnect may fail in a row before `next` returns the error. Default: `None`, no limit. An error that
    /// no retry can fix, such as a wrong password, is always returned at once.
    pub max_attempts: Option<u32>,
}

impl ConsumerOptions {
    /// The defaults, for one consumer of a group.
    pub fn new(
        key: impl Into<Vec<u8>>,
        group: impl Into<Vec<u8>>,
        consumer: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            key: key.into(),
            group: group.into(),
            consumer: consumer.into(),
            create: Some(GroupStart::Beginning),
            recreate: false,
            batch: 100,
            block: Duration::from_secs(5),
            claim_min_idle: Some(Duration::from_secs(60)),
            claim_interval: Duration::from_secs(30),
            ack_batch: 1,
            max_unacknowledged: 10_000,
            max_deliveries: None,
            poison: Poison::Discard,
            backoff: Backoff::default(),
            max_attempts: None,
        }
    }

    /// # Errors
    /// The keys are in different slots of a cluster.
    pub(crate) fn check_slots(&self) -> Result<(), Error> {
        match &self.poison {
            Poison::MoveTo(to) if key_slot(to) != key_slot(&self.key) => Err(Error::cluster_error(
                ClusterError::cross_slot(&self.key, to),
            )),
            _ => Ok(()),
        }
    }
}
