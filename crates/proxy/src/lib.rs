//! A transparent proxy for MySQL and MariaDB.
//!
//! A session consists of a client's stream, a backend's stream, and the tracked state of the conversation between them. Both
//! streams belong to one worker, a thread with one event loop, so a session never waits for another thread. Bytes are forwarded
//! from the buffer into which they were read; only packet headers and the few bytes that matter are examined.
//!
//! | module | contents |
//! |--------|---------------|
//! | [`config`] | the configuration |
//! | `proxy` | the threads, and the operations of a running proxy |
//! | `running` | the current configuration, and how it changes: reload, drain |
//! | `watch` | watches for changed certificates and addresses |
//! | `acceptor` | accepts clients: limits, waiting clients, and the sockets on which workers accept |
//! | `queue` | sessions that wait because a limit is reached |
//! | `worker` | the event loop, its buffers and its sessions |
//! | `session` | a client and its backend: connecting, login, relay, end |
//! | `backend` | the servers, and the choice of the next one |
//! | `key` | RSA, to reencrypt passwords |
//! | `registry` | the connection ids in use |
//! | `control` | metrics, health checks and administration, on separate threads |
//! | `errand` | the proxy's own connections to backends |
//! | `kill` | `KILL` statements for a backend other than the client's |
//! | `open_files` | file descriptors, and how many sessions they allow |
//! | `log` | the log |
//! | `stats` | the counters |
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
