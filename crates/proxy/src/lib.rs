//! A transparent proxy for MySQL and MariaDB, as a library. The command `onecopy proxy` runs it.
//!
//! It stands between any MySQL client and one or several servers: health checks, roles, TLS and compression on each side
//! separately, `KILL` across servers, reload, drain, metrics. Clients log in with the servers' own users. Unlike a TCP proxy it
//! knows what each session is doing; unlike ProxySQL it changes no statement. Clients of a pooled listener
//! ([`Mode::Transaction`](config::Mode)) share a few server connections, outlive a failover, and can read from replicas. Unix only.
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
//! # Configuration
//! [`config::Config`] is a plain struct. Create it in code, or read it from a TOML file with
//! [`Config::from_file`](config::Config::from_file). [`config::DEFAULTS`] is the text of a file with every key and its default.
//! [`Config::check`](config::Config::check) validates a configuration without starting anything.
//!
//! # Start, reload, drain, stop
//! - [`Proxy::start`] listens and serves from its own threads: one event loop per CPU, and threads for monitoring. It returns at
//!   once. [`Proxy::start_logging`] also writes a log; without it the library logs nothing.
//! - [`Proxy::reload`] switches to another configuration atomically.
//! - [`Proxy::drain`] accepts no new sessions; existing ones end after their transactions, at the latest after the configured drain
//!   timeout. [`Proxy::is_drained`] says when all have.
//! - [`Proxy::take_over`] starts the proxy in the place of one in another process, whose listening sockets it takes over, and
//!   [`Proxy::start_with_sockets`] uses sockets that a service manager has made.
//! - [`Proxy::stop`], or dropping the proxy, ends all sessions.
//!
//! # Errors
//! [`Error`] says why a proxy could not be started or reloaded, and [`config::FileError`] names file, line, column and a hint. A
//! session that fails does not affect the others: its client gets an error packet, [`Failure`], whose [`Reason`] is counted in
//! [`Snapshot`] and logged. If a thread of the proxy dies, [`Proxy::failure`] and [`Proxy::on_failure`] report it.
#![forbid(unsafe_code)]

// Floors, the lowest first. A module uses only those of the floors before its own; `tests/floors.rs` checks it.
mod key;
mod lock;
mod packed;
mod resolve;

pub mod config;

mod failure;

mod error;
mod log;
mod open_files;
mod stats;

mod sockets;
mod statement_log;

mod digests;

mod alarm;

mod queue;

mod backend;

mod errand;
mod pooling;
mod registry;

mod kill;
mod listener;

mod client;
mod moved;

mod buffers;
mod codec;
mod gate;
mod mailbox;

mod session;

mod killer;
mod worker;

mod acceptor;

mod running;

mod discovery;
mod server_accounts;
mod watch;

mod control;

mod takeover;

mod proxy;

#[cfg(feature = "measure")]
#[doc(hidden)]
pub mod measure;

pub use control::Killed;
pub use error::Error;
pub use failure::{Failure, Reason, Side};
pub use log::Log;
pub use open_files::raise_open_files;
pub use proxy::Proxy;
pub use sockets::Sockets;
pub use stats::{
    ClientInfo, CompressionCounts, Counters, Entrance, Kind, Latency, PoolInfo, Route, Snapshot,
};
pub use takeover::{SuccessorCommand, Takeover, Upgraded, request_upgrade};
