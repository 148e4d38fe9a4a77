//! What passes between a client and a server that talk to each other: for proxies that forward bytes as they are.
//!
//! [`Relay`] follows the command phase. It looks at packet headers and the few bytes that decide, keeps what is known of
//! the session, and says how many of the bytes that were read may be sent on. [`login`] is what comes before it.
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

pub use self::core::Relay;
pub use error::{RelayError, Side};
pub use passage::{Event, Passage};
pub use password::{PasswordGuard, Protection, Verdict};
