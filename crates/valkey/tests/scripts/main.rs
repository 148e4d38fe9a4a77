//! Conversations with scripted servers, honest and hostile, each in every delivery and with every fault, through both
//! drivers.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod talk;

mod handshake;
mod hostile;
mod little_memory;
mod memory;
mod out_of_band;
mod pipelines;
mod subscriptions;

use onecopy_testkit::alloc::Allocator;

/// Caps what hostile servers make the client take.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;
