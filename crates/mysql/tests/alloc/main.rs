//! Memory that can't be had: of each conversation the first, second, third ... allocation above 4 KiB inside our calls
//! fails, until the conversation succeeds. Over both drivers, by scripts and on a real server.
//!
//! Each failure is a typed error, and says whether the connection continues. Then it does, and the next command gets its own
//! answer; or it is closed, and says so.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod conversation;

mod login;
mod packets;
mod pool;
mod prepared;
mod replies;
mod server;
mod text;

use onecopy_testkit::alloc::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// What an allocation must have more of to count: 4 KiB. What is smaller is bounded by a constant of ours.
const LARGE: usize = 4 << 10;
