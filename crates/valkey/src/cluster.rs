//! Clusters: what [`blocking::Cluster`](crate::blocking::Cluster) and `aio::Cluster` have in common.
//!
//! A cluster divides its keys into 16,384 [slots](key_slot). Each slot belongs to one primary, which may have replicas. The client
//! learns from any node which node has which slot, and sends each command to the node of its keys. If a slot has moved, the node
//! redirects the command; the client follows, and asks for the slots again: at most once a second, however many commands are
//! redirected.
//!
//! # What is repeated, and what is not
//! | a node answers, or fails | the client |
//! |---|---|
//! | MOVED | sends the command to the node that it names, remembers that, and refreshes the slots |
//! | ASK | sends ASKING and the command to the node that it names |
//! | TRYAGAIN, CLUSTERDOWN, READONLY, UNBLOCKED by a change of role | sends the command again after a pause |
//! | LOADING, MASTERDOWN | sends the command to the primary, after a pause |
//! | it can't be reached, or the connection is lost before anything of the command was sent | refreshes the slots, and sends the command again after a pause |
//! | the connection is lost behind that | the same if the command only reads; otherwise the command fails, and [`Error::maybe_executed`](crate::Error::maybe_executed) is true |
//!
//! A command that waits (`BLPOP`, `XREAD BLOCK`) and is sent again begins anew: its time starts again, and `$` of XREAD is the end of the
//! stream at that moment. `WAIT` fails with UNBLOCKED instead.
//!
//! Pauses are random and grow to half a second. A command fails after [`ClusterConfig::max_redirects`] redirections in a row, or
//! when it could not be executed within [`ClusterConfig::max_wait`], with the error of its last attempt.

mod address;
mod attempts;
mod config;
mod error;
mod pace;
mod query;
mod redirect;
mod route;
mod router;
mod scan;
mod slot;
mod split;
mod stats;
mod topology;

pub use address::NodeAddress;
pub use config::{ClusterConfig, ReadFrom};
pub use error::ClusterError;
pub use slot::key_slot;
pub use stats::ClusterStats;

pub(crate) use attempts::{Again, Attempts, Target};
pub(crate) use pace::{REFRESH_INTERVAL, RefreshPace};
pub(crate) use query::{Asked, Query, more_telling, no_topology};
#[cfg(feature = "fuzz")]
pub(crate) use redirect::Rejection;
pub(crate) use redirect::{ASKING, is_moving, is_rejection};
pub(crate) use route::{OneSlot, Route, encoded_bytes};
pub(crate) use router::{Place, Router};
pub(crate) use scan::{Filter, Progress, Step, View};
pub(crate) use split::Split;
pub(crate) use stats::Counts;
pub(crate) use topology::Topology;
