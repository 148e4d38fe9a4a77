//! Logins to pooled listeners, and of the proxy to the servers behind them, with real clients and servers.
#![allow(clippy::unwrap_used)]

mod backends;
mod changes_of_user;
mod clear_passwords;
mod clients;
mod common;
mod from_server;
mod hashes;
mod limits;
mod programs;
#[path = "../sessions/raw.rs"]
#[allow(dead_code)] // other tests use the rest
mod raw;
mod reloads;
#[path = "../sessions/sides.rs"]
#[allow(dead_code)] // other tests use the rest
mod sides;
mod wrong;
