//! Sentinel: what [`blocking::Sentinel`](crate::blocking::Sentinel) and `aio::Sentinel` have in common.
//!
//! Sentinels are processes that watch a primary and its replicas, and make a replica the new primary when the old one fails. The
//! client asks a sentinel for the address of the primary, connects to it, and checks by `ROLE` that it is one.
//!
//! # When the primary is looked for again
//! | what happens | `aio::Sentinel` | `blocking::Sentinel` |
//! |---|---|---|
//! | the connection is lost | at once | at the next command |
//! | a reply is READONLY or UNBLOCKED: the server became a replica | at once; the connection is left | at once; the connection is left |
//! | a sentinel announces another primary (`+switch-master`) | at once; the connection is left | |
//! | nothing, for [`SentinelConfig::refresh_interval`] | yes | |
//!
//! A connection that is left gets no more commands. Those that were sent have half a second to be answered. There is one search at
//! a time, at least 200 ms after the last one, and after failures up to a second later at random.
//!
//! # What is repeated, and what is not
//! | a server answers, or fails | the client |
//! |---|---|
//! | READONLY, UNBLOCKED | looks for the primary, and sends the command there |
//! | LOADING, MASTERDOWN | sends the command to the primary, after a pause |
//! | it can't be reached, or the connection is lost before anything of the command was sent | looks for the primary, and sends the command there |
//! | the connection is lost behind that | the same if the command only reads; otherwise the command fails, and [`Error::maybe_executed`](crate::Error::maybe_executed) is true |
//!
//! A command that could not be executed within [`SentinelConfig::max_wait`] fails with the error of its last attempt.

mod answers;
mod attempts;
mod book;
mod config;
mod error;
mod failures;
mod pace;
mod query;
#[cfg(any(test, feature = "fuzz", feature = "tokio"))]
mod switch;

pub use config::SentinelConfig;
pub use error::SentinelError;

pub(crate) use answers::{Answers, Role};
#[cfg(feature = "fuzz")]
pub(crate) use answers::{Listed, primary as listed_primary, servers as listed_servers};
pub(crate) use attempts::{Again, Attempts};
pub(crate) use book::Book;
pub(crate) use failures::Failures;
pub(crate) use pace::Pace;
pub(crate) use query::{Query, VERIFY_TIMEOUT, server_config};
#[cfg(any(feature = "fuzz", feature = "tokio"))]
pub(crate) use switch::Switch;
