//! A proxy that takes over from another one: both in this process, with real sockets and a real server.
#![allow(clippy::unwrap_used)]

mod common;
mod failures;
mod handover;
mod hostile;
mod kill;
mod moves;
