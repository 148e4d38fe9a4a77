//! The server's role: the login of a client, then its commands and the replies to them.
//!
//! It says what a server says; what a statement means is for whoever drives it: a test kit that plays any server, honest or
//! hostile, or a proxy. [`ServerHandshake`] becomes a [`ServerCore`].
#![deny(clippy::indexing_slicing)]

mod core;
mod error;
mod handshake;
mod limits;
mod reply;
mod statement;

#[cfg(test)]
pub(crate) mod testing;

pub use self::core::{ServerCore, ServerMessage};
pub use error::ServerError;
pub use handshake::{
    Account, ServerHandshake, ServerHandshakeConfig, ServerHandshakeMessage, ServerSession,
};
pub use limits::ServerLimits;
pub use reply::Field;
pub use statement::ServerStatement;
