//! Commands as values: what is sent, what its reply is read as, and what a connection has to know of it.
//!
//! There is a function for each command of Valkey, in the family that its documentation has it in, with its arguments; options
//! are methods of what it gives. A connection runs it.
//!
//! ```
//! use onecopy_valkey::command::{list, sorted_set, string};
//!
//! let set = string::set("key", "value").ex(10).nx();
//! let pop = list::blpop(["jobs", "mails"], 1.5);
//! let top = sorted_set::zrange("scores", 0, 9).rev().withscores();
//! ```
//!
//! Typed commands have typed [outputs](Command::Output), borrowed from the reply; where a server's reply has not one type, the
//! output is the [`Reply`] itself. What is not in the table, or is newer, is a [`raw`] command.

pub mod bitmap;
mod blocking;
pub mod cluster;
pub mod connection;
mod error;
mod flags;
pub mod generic;
pub mod geo;
pub mod hash;
pub mod hyperloglog;
pub mod list;
mod output;
pub mod pubsub;
mod raw;
pub mod scripting;
pub mod sentinel;
pub mod server;
pub mod set;
pub mod shape;
pub mod sorted_set;
pub mod stream;
pub mod string;
pub mod table;
pub mod transactions;
mod view;
pub mod word;

use std::hash::Hasher;

use onecopy_resp_proto::Reply;

pub use blocking::Blocking;
pub use error::DecodeError;
pub use flags::Flags;
pub use output::FromReply;
pub use raw::{Raw, raw};
pub use table::table;
pub use view::{Array, Elements, Entry, Map, Pairs, Scanned};

use crate::request::Request;

/// A command that a connection can run.
///
/// ```
/// use onecopy_valkey::command::{Command, Flags, string};
///
/// let get = string::get("key");
/// assert!(get.flags().contains(Flags::READONLY));
/// ```
///
/// A module's command can be one as well:
///
/// ```
/// use onecopy_valkey::command::{Command, Flags};
/// use onecopy_valkey::{Arg, Request};
///
/// struct BfExists<'a>(Arg<'a>, Arg<'a>);
///
/// impl Command for BfExists<'_> {
///     type Output<'r> = bool;
///
///     fn flags(&self) -> Flags {
///         Flags::READONLY
///     }
///
///     fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
///         request.fixed(b"*3\r\n$9\r\nBF.EXISTS\r\n");
///         request.part(&self.0);
///         request.part(&self.1);
///     }
/// }
/// ```
pub trait Command {
    /// What the reply is read as; borrowed from it.
    type Output<'r>: FromReply<'r>;

    /// What a connection has to know.
    fn flags(&self) -> Flags;

    /// Writes the command: its head, then its arguments.
    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>);

    /// Reads the reply.
    ///
    /// # Errors
    /// The reply is of another type, or an error of the server, which a connection looks for before.
    fn decode<'r>(reply: Reply<'r>) -> Result<Self::Output<'r>, DecodeError> {
        FromReply::from_reply(reply)
    }

    /// How long the server may keep the reply back, apart from what the command itself takes.
    fn blocking(&self) -> Blocking {
        Blocking::No
    }

    /// Shows each key that the command names, as it goes over the wire. A [`raw`] command shows none.
    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        let _ = visit;
    }

    /// Tells `hasher` its name and its first key, or of a [`raw`] command its first argument: by these a shared handle
    /// remembers whose replies are large. For two commands that are alike in both it may be the same.
    fn hash_name_and_key(&self, hasher: &mut dyn Hasher) {
        // The type is the name, whatever it is that it borrows.
        hasher.write(std::any::type_name::<Self>().as_bytes());
        let mut is_first = true;
        self.each_key(&mut |key| {
            if std::mem::take(&mut is_first) {
                hasher.write(key);
            }
        });
    }
}

#[cfg(test)]
mod tests;
