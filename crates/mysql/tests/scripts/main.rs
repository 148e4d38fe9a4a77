//! Conversations with scripted servers, honest and hostile, each in every delivery and with every fault, through both
//! drivers.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod talk;

mod auth;
mod bulk;
mod change_user;
mod compression;
mod cursors;
mod exec;
mod hostile;
mod hostile_auth;
mod hostile_login;
mod hostile_tls;
mod huge;
mod large;
mod little_memory;
mod local_infile;
mod login;
mod pipelines;
mod pool;
mod prepared;
mod progress;
mod proof;
mod regressions;
mod relay;
mod rsa;
mod session;
mod text;
mod transactions;

use onecopy_testkit::alloc::Allocator;

/// Caps what hostile servers make the client take.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;
