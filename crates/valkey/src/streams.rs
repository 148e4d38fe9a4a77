//! Consumer groups of streams: entries that are processed at least once.
//!
//! [`blocking::Consumer`](crate::blocking::Consumer) and `aio::Consumer` are one member of a group each, on a connection of their own.
//! [`next`](crate::blocking::Consumer::next) returns one entry after the other, and
//! [`ack`](crate::blocking::Consumer::ack) says that it was processed:
//!
//! ```no_run
//! use onecopy_valkey::blocking::Consumer;
//! use onecopy_valkey::streams::ConsumerOptions;
//!
//! # fn main() -> Result<(), onecopy_valkey::Error> {
//! let options = ConsumerOptions::new("orders", "billing", "worker-1");
//! let mut consumer = Consumer::connect("redis://localhost", options)?;
//! loop {
//!     let order = consumer.next()?;
//!     println!("{}: {:?}", order.id, order.get("amount"));
//!     let id = order.id;
//!     consumer.ack(id)?;
//! }
//! # }
//! ```
//!
//! # Which entries come, in which order
//! 1. Those that this consumer was given before and has not acknowledged: after a start, and after each loss of the connection.
//! 2. Those that others were given and have not acknowledged for
//!    [`claim_min_idle`](ConsumerOptions::claim_min_idle): after 1., and then every
//!    [`claim_interval`](ConsumerOptions::claim_interval), all of them.
//! 3. New ones, in batches of at most [`batch`](ConsumerOptions::batch). The next batch is asked for when the caller has taken all
//!    entries of the last one, so a slow caller holds no more than one batch.
//!
//! # What is guaranteed
//! Each entry is processed at least once, as long as the server keeps it and its pending state: an entry is acknowledged only if
//! the caller says so, or if it no longer exists. It may be processed more than once: by another consumer if it takes longer than
//! `claim_min_idle`, and again if a connection or a process ends between processing and [`ack`](crate::blocking::Consumer::ack).
//! [`Delivery::deliveries`] is greater than 1 then. A failover may lose entries and acknowledgements that were not replicated.
//!
//! Entries that were deleted or trimmed while they were pending can't be processed any more. They are acknowledged, and counted
//! in [`ConsumerStats::deleted`].
//!
//! # Clusters and sentinels
//! [`Consumer::connect`](crate::blocking::Consumer::connect) takes their URLs too, and
//! [`in_cluster`](crate::blocking::Consumer::in_cluster) and [`behind_sentinel`](crate::blocking::Consumer::behind_sentinel) take
//! a handle. The consumer follows the stream when its slot moves, and when another server becomes the primary. `aio::Consumer` also
//! leaves a server that has become silent: within half a second after its handle has learned of another one.

mod command;
mod delivery;
mod entry_id;
mod home;
mod intake;
mod options;
mod page;
mod stats;

pub use delivery::Delivery;
pub use entry_id::EntryId;
pub(crate) use home::{FindsNode, FindsPrimary, Home};
pub(crate) use intake::{Goal, Intake, Step};
pub use options::{ConsumerOptions, GroupStart, Poison};
#[cfg(feature = "fuzz")]
pub(crate) use page::page_of;
pub use stats::ConsumerStats;
