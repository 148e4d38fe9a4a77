//! The client's role: the handshake, then one command after the other.
//!
//! [`ClientCore`] holds the state between commands.

mod ahead;
mod change_user;
mod character_set;
mod command;
mod core;
mod cursor;
mod definitions;
mod encoded;
mod execution;
mod gtids;
mod handshake;
mod large_row;
mod left_out;
mod limits;
mod local_infile;
mod prepare;
mod progress;
mod query_attributes;
mod reply;
mod result;
mod row;
mod rows;
mod statement;
mod streamed_row;

pub use self::core::ClientCore;
pub use definitions::{Column, Definitions};
pub use encoded::EncodedParams;
pub use handshake::{Handshake, HandshakeConfig, HandshakeReply, Session, TlsDemand};
pub use limits::Limits;
pub use progress::ProgressListener;
pub use reply::{OkState, Reply, RowMode};
pub use row::Cell;
pub use statement::{Params, StatementId};
