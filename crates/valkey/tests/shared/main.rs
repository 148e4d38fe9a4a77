//! Tests of the handle that many tasks share, against a real server: a private Valkey or Redis, or the one that
//! `ONECOPY_TEST_VALKEY_URL` names. `ONECOPY_SOAK=1` runs the large counts.
#![allow(clippy::unwrap_used)]

mod common;
mod relay;

mod basics;
mod close;
mod dedicated;
mod drops;
mod duplex;
mod futures;
mod gaps;
mod groups;
mod herd;
mod large;
mod late;
mod loss;
mod memory;
mod peer;
mod scripts;
mod shard_unsubscribe;
mod subscriptions;
mod unresponsive;
