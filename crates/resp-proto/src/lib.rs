//! RESP2 and RESP3 without I/O: scanner, borrowed replies, requests, and state machines for the client and the server.
//!
//! For authors of drivers, proxies and test servers; applications use `onecopy-valkey`. The caller owns the stream and the buffers.
//! [`Client`] returns replies, [`Server`] returns requests, each borrowed from the read buffer, and [`RequestWriter`] and
//! [`ReplyWriter`] queue the other direction. Limits apply to everything a peer announces, and malformed input is a typed error.
//!
//! Source: <https://valkey.io/topics/protocol/>.
#![forbid(unsafe_code)]

mod client;
mod error;
mod kind;
mod limits;
mod node;
mod owned_reply;
mod reply;
mod reply_writer;
mod request;
mod scanner;
mod secret;
mod server;

pub use client::{
    Client, Handshake, HandshakeConfig, HandshakeReply, HandshakeRequest, Message, Protocol,
    Refusal, Session,
};
pub use error::{ErrorKind, LikelyCause, ProtocolError};
pub use kind::Kind;
pub use limits::Limits;
pub use owned_reply::OwnedReply;
pub use reply::{Attributes, Children, Pairs, Reply};
pub use reply_writer::ReplyWriter;
pub use request::RequestWriter;
pub use scanner::{Frame, ReplyMode, Scanned, Scanner};
pub use secret::Secret;
pub use server::{Arguments, Request, RequestLimits, Server, ServerMessage};
