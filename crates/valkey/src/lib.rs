//! A client for Valkey and Redis that copies each byte once, and can show it.
#![forbid(unsafe_code)]

mod arg;
mod args;
pub mod command;
mod part;
mod request;
#[cfg(test)]
mod testing;
mod tuples;

pub use arg::Arg;
pub use args::Args;
pub use command::{Command, DecodeError, Raw, raw};
pub use onecopy_resp_proto::{Kind, OwnedReply, Reply};
pub use part::Part;
pub use request::Request;
pub use tuples::{Pairs, Triples};
