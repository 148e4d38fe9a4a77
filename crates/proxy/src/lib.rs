//! A transparent proxy for MySQL and MariaDB, as a library. The command `onecopy proxy` runs it.
//!
//! It stands between any MySQL client and one or several servers: health checks, roles, TLS and compression on each side separately,
//! `KILL` across servers, reload, drain, metrics. Clients log in with the servers' own users. Unlike a TCP proxy it knows what each
//! session is doing; unlike ProxySQL it stores no users and changes no statement. It does not pool connections or split reads from
//! writes yet.
//!
//! ```no_run
//! use onecopy_proxy::Proxy;
//! use onecopy_proxy::config::Config;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::from_file("proxy.toml".as_ref())?; // `onecopy proxy --print-config` prints one with every key
//! let proxy = Proxy::start(config)?;
//! println!("listening on {:?}", proxy.addresses());
//! std::thread::park();
//! # Ok(()) }
//! ```
//!
//! # Structure
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
