//! Tests with real sentinels, which the testkit starts: 3 of them watch a primary with 2 replicas; and with sentinels that lie.
//! `ONECOPY_SOAK=1` runs the large counts.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../cluster/drops.rs"]
mod drops;
mod fake;
mod load;
#[path = "../cluster/relay.rs"]
mod relay;

mod basics;
mod consumers;
mod cuts;
mod failover;
mod hostile;
mod news;
mod subscriptions;
mod tls;
#[path = "../cluster/workers.rs"]
mod workers;
