//! Sessions of pooled listeners while their servers change: a primary that is lost, stopped or replaced, a member of a cluster that
//! leaves it, and a listener that is paused.
//!
//! `ONECOPY_SOAK=1` has a thousand rounds of primaries that are lost, a third of each kind.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

mod clocks;
mod cluster;
mod discovery;
mod galera;
mod group;
mod kill;
mod load;
mod lost;
mod moved;
mod named;
#[allow(dead_code)] // the other program uses all of it
#[path = "../insight/page.rs"]
mod page;
mod pair;
mod planned;
mod removed;
mod replicas;
#[path = "../common/replication.rs"]
mod replication;
mod retries;
mod sources;
mod stall;
