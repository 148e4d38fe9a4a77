//! Follows a client and a server that talk to each other, for proxies that forward bytes unchanged.
//!
//! [`Relay`] follows the command phase. It reads packet headers and the few bytes that matter, tracks the state of the session,
//! and says how many of the received bytes may be forwarded. [`login`] handles the phase before it.
#![deny(clippy::indexing_slicing)]

mod client;
mod core;
mod error;
pub mod login;
mod packets;
mod passage;
mod password;
mod pending;
mod renumber;
mod server;
mod statements;

pub use self::core::{Outcome, Relay, Tally};
pub use error::{RelayError, Side};
pub use passage::{Event, Passage};
pub use password::{PasswordGuard, Protection, Verdict};
