//! A proxy for MySQL and MariaDB that is as transparent as a wire.
//!
//! A session is a client's stream, a backend's stream, and what is known of the state between them. Both streams are on one
//! worker, a thread with one event loop, so that nothing of a session ever waits for another thread. Bytes are forwarded from
//! the buffer they were read into; only packet headers and the few bytes that decide are looked at.
//!
//! | module | what is there |
//! |--------|---------------|
//! | [`config`] | what is asked for |
//! | `proxy` | threads, and what can be asked of them while they run |
//! | `running` | what is in force, and how that changes: reload, drain |
//! | `watch` | what changes by itself: certificates, addresses |
//! | `acceptor` | where clients come in: who may, who waits, and at which sockets workers accept them |
//! | `queue` | sessions that wait for a place |
//! | `worker` | the event loop, its buffers and its sessions |
//! | `session` | one client and its backend: connecting, login, relay, end |
//! | `backend` | the servers, and which one is next |
//! | `key` | RSA, where passwords are put under another key |
//! | `registry` | connection ids that are live |
//! | `control` | metrics, health checks and administration, on threads of their own |
//! | `errand` | the proxy's own connections to backends |
//! | `kill` | `KILL` statements for another backend than the client's |
//! | `open_files` | descriptors, and for how many sessions they do |
//! | `log` | what is said while it runs |
//! | `stats` | what was counted |
#![forbid(unsafe_code)]

mod acceptor;
mod alarm;
mod backend;
pub mod config;
mod control;
mod errand;
mod failure;
mod key;
mod kill;
mod log;
mod open_files;
mod proxy;
mod queue;
mod registry;
mod running;
mod session;
mod stats;
mod watch;
mod worker;

pub use control::Killed;
pub use failure::{Failure, Reason, Side};
pub use log::Log;
pub use open_files::raise_open_files;
pub use proxy::{Error, Proxy};
pub use stats::{
    ClientInfo, CompressionCounts, Counters, Entrance, Kind, Latency, Route, Snapshot,
};
