//! Tests of client-side caching, on a real server and with one that is a script. `ONECOPY_SOAK=1` runs the large counts.
#![allow(clippy::unwrap_used)]

mod cluster;
mod common;
mod drops;
#[path = "../cluster/drops.rs"]
mod drops_of_calls;
mod moved;
mod sentinel;
mod server;
mod stale;

use onecopy_testkit::alloc::Allocator;

/// Counts what a hit allocates.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;
