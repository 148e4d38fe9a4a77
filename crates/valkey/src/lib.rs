//! A client for Valkey and Redis that copies each received byte only once, and counts its copies.
//!
//! This holds for replies that are borrowed, taken owned or streamed, without TLS. `aio::Shared` copies all but large strings once
//! more, into owned ones, and TLS adds two copies; all are counted.
//!
//! ```no_run
//! use onecopy_valkey::blocking::Connection;
//! use onecopy_valkey::command::string;
//!
//! # fn main() -> Result<(), onecopy_valkey::Error> {
//! let mut conn = Connection::connect("redis://user:password@localhost")?;
//! conn.run(&string::set("greeting", "hello"))?;
//! let greeting: Option<&[u8]> = conn.run(&string::get("greeting"))?; // borrowed from the read buffer, not copied
//! println!("{greeting:?}");
//! println!("{}", conn.meter());
//! # Ok(()) }
//! ```
//!
//! [`blocking::Connection`] needs no async runtime. The feature `tokio` adds `aio::Connection`, which has the same methods with
//! `.await`, and `aio::Shared`, which lets many tasks share one connection.
//!
//! # When to use it
//! For services that read large values or run many commands, and want little CPU and bounded memory: a pipelined GET of a
//! borrowed value allocates nothing without TLS (one allocation through `aio::Shared`), and a string of any size can be borrowed,
//! moved, or streamed. Shared connections put the commands of many tasks into one write. Its dependency tree with TLS and tokio has
//! half the crates of redis-rs.
//!
//! Unix only.
//!
//! # Reading replies
//! - [`run`](blocking::Connection::run) borrows the output from the read buffer: nothing is copied, and the next call ends the
//!   borrow.
//! - [`run_owned`](blocking::Connection::run_owned) returns an [`OwnedReply`]: large strings are moved, not copied.
//! - [`run_into`](blocking::Connection::run_into) reads a string into the caller's vector, whose memory is reused.
//! - [`run_streaming`](blocking::Connection::run_streaming) returns a string as a reader, and
//!   [`run_from`](blocking::Connection::run_from) sends a value from a reader. Both use constant memory, whatever the length.
//!
//! - [`typed`](Command::typed) reads a reply as a type that owns its values: a tuple, a collection, a struct.
//!
//! | feature | |
//! |---------|-|
//! | `derive` | `#[derive(FromReply)]`, `ToPairs` and `ToArg`: structs as hashes and as entries of streams, newtypes, enums |
//! | `json` | `Json` and `serde_json::Value` as values |
//! | `modules` | typed commands of JSON documents (valkey-json, RedisJSON) and of vector sets (Redis 8): `command::json`, `command::vector_set` |
//! | `tracing` | commands as spans of `tracing`, with OpenTelemetry's attributes |
//!
//! # Many commands
//! A [`pipeline`](blocking::Connection::pipeline) sends any number of commands together. A
//! [`transaction`](blocking::Connection::transaction) executes all of its commands or none. A
//! [`pipe`](blocking::Connection::pipe) sends an unlimited stream of commands.
//!
//! # Pools
//! [`blocking::Pool`] and `aio::Pool` hand out connections, for borrowed replies and blocking commands of many callers.
//!
//! # Subscriptions
//! [`blocking::Subscriber`] and `aio::Subscriber` borrow messages from a connection of their own; `aio::Shared::subscribe` gives
//! any number of readers of a shared one. See [`pubsub`].
//!
//! # What a server is doing
//! [`blocking::Monitor`] and `aio::Monitor` report every command that the server executes: MONITOR.
//!
//! # Streams
//! [`blocking::Consumer`] and `aio::Consumer` are members of a consumer group: they process entries at least once. See [`streams`].
//!
//! # Scripts
//! [`run_script`](blocking::Connection::run_script) calls a [`Script`] by its digest and loads it if necessary, and
//! [`load_library`](blocking::Connection::load_library) loads functions.
//!
//! # Clusters
//! [`blocking::Cluster`] and `aio::Cluster` send each command to the node of its keys. See [`cluster`].
//!
//! # Sentinel
//! [`blocking::Sentinel`] and `aio::Sentinel` find the primary that sentinels watch, and follow it. See [`sentinel`].
//!
//! # Client-side caching
//! `aio::Cached` (feature `caching`) keeps replies, and drops them when the server says that their keys have changed: of one server, of a
//! cluster, or of the primary that sentinels watch.
//!
//! # Timeouts and cancellation
//! A call may time out, and a future or unread replies may be dropped at any moment: the next command on the connection
//! gets its own reply or, after a partly sent command with large borrowed arguments or with one from a reader, an error that the
//! connection is closed. [`Error::maybe_executed`] says whether a failed command may have reached the server.
#![forbid(unsafe_code)]

#[cfg(feature = "tokio")]
pub mod aio;
mod arg;
mod args;
mod backoff;
pub mod blocking;
#[cfg(feature = "caching")]
pub mod caching;
pub mod cluster;
pub mod command;
mod config;
mod error;
mod fields;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "json")]
mod json;
mod keys;
mod link;
mod monitor;
mod observe;
mod part;
mod parts;
mod pool;
pub mod pubsub;
mod request;
mod response;
mod responses;
mod script;
mod secret;
pub mod sentinel;
mod shown;
mod silence;
pub mod streams;
#[cfg(test)]
mod testing;
mod tls;
mod to_arg;
mod transaction;
mod tuples;
mod url;
#[cfg(feature = "modules")]
mod vector;

pub use arg::Arg;
pub use args::Args;
pub use backoff::Backoff;
pub use command::{Command, DecodeError, FromReply, Raw, raw};
pub use config::Config;
pub use error::{Error, ServerError};
#[cfg(feature = "json")]
pub use json::Json;
pub use monitor::Monitored;
#[cfg(feature = "derive")]
pub use onecopy_derive::{FromReply, ToArg, ToPairs};
pub use onecopy_net::{Endpoint, Pem, SocketOptions, TlsError, TlsSession, Verify};
pub use onecopy_pool::{Closed as PoolClosed, PoolConfig, PoolStats, WaitError as PoolError};
pub use onecopy_resp_proto::{
    ErrorKind as ProtocolErrorKind, Kind, Limits, OwnedReply, Protocol, ProtocolError, Refusal,
    Reply, Session,
};
pub use onecopy_wire::Meter;
pub use part::Part;
pub use request::Request;
pub use script::{Library, Script, ScriptCall};
pub use secret::Password;
pub use to_arg::ToArg;
pub use transaction::{Executed, Results};
pub use tuples::{Pairs, Triples};
#[cfg(feature = "modules")]
pub use vector::{Query, Vector};
