//! A client for Valkey and Redis that copies each byte once, and can show it.
//!
//! ```no_run
//! use onecopy_valkey::blocking::Connection;
//! use onecopy_valkey::command::string;
//!
//! # fn main() -> Result<(), onecopy_valkey::Error> {
//! let mut conn = Connection::connect("redis://user:password@localhost")?;
//! conn.run(&string::set("greeting", "hello"))?;
//! let greeting: Option<&[u8]> = conn.run(&string::get("greeting"))?; // lent from the read buffer, not copied
//! println!("{greeting:?}");
//! println!("{}", conn.meter());
//! # Ok(()) }
//! ```
//!
//! [`blocking::Connection`] needs no runtime. With the feature `tokio` there is `tokio::Connection`, with the same
//! methods and `.await`; and `tokio::Shared`, with which many tasks share one connection.
#![forbid(unsafe_code)]

mod arg;
mod args;
pub mod blocking;
pub mod command;
mod config;
mod error;
mod link;
mod part;
mod parts;
mod request;
mod secret;
mod shown;
#[cfg(test)]
mod testing;
mod tls;
#[cfg(feature = "tokio")]
pub mod tokio;
mod transaction;
mod tuples;
mod url;

pub use arg::Arg;
pub use args::Args;
pub use command::{Command, DecodeError, Raw, raw};
pub use config::Config;
pub use error::{Error, ServerError};
pub use onecopy_net::{Endpoint, Pem, SocketOptions, TlsError, TlsSession, Verify};
pub use onecopy_resp_proto::{
    Kind, Limits, OwnedReply, Protocol, ProtocolError, Refusal, Reply, Session,
};
pub use onecopy_wire::Meter;
pub use part::Part;
pub use request::Request;
pub use secret::Password;
pub use transaction::{Executed, Results};
pub use tuples::{Pairs, Triples};
