//! The server's role: the login of a client, then its commands and the replies to them.
//!
//! It implements the protocol of a server; its user determines what a statement means: a test kit that acts as any server, honest
//! or hostile, or a proxy. [`ServerHandshake`] becomes a [`ServerCore`].
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
