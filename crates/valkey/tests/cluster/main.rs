//! Tests against real clusters, which the testkit starts: 3 primaries with a replica each; and against nodes that lie.
//! `ONECOPY_SOAK=1` runs the large counts, and the tests that take minutes.
#![allow(clippy::unwrap_used)]

mod common;
mod fake;

mod basics;
mod blocking_face;
mod blocking_subscriptions;
mod consumers;
mod cuts;
mod drops;
mod failover;
mod gaps;
mod hostile;
mod keys;
mod load;
mod node_subscriptions;
mod relay;
mod reshard;
mod subscriptions;
mod tls;
mod workers;
