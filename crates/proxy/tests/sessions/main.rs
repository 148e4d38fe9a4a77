//! Sessions through a proxy in front of a real server.
#![allow(clippy::unwrap_used)]

mod basics;
mod changes;
mod common;
mod endings;
mod memory;
