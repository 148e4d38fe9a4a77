//! Commands as values: the request to send, the type of the reply, and what a connection must know about the command.
//!
//! Each Valkey command has a function that takes its arguments, in the module of the command group that Valkey's documentation
//! lists it in. Options are methods of the value that the function returns. A connection runs that value.
//!
//! ```
//! use onecopy_valkey::command::{list, sorted_set, string};
//!
//! let set = string::set("key", "value").ex(10).nx();
//! let pop = list::blpop(["jobs", "mails"], 1.5);
//! let top = sorted_set::zrange("scores", 0, 9).rev().withscores();
//! ```
//!
//! Typed commands have typed [outputs](Command::Output), borrowed from the reply. If a command's reply has no single type, the
//! output is the [`Reply`] itself. For commands that are not in the table, or are newer, use [`raw`].

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
#[cfg(feature = "modules")]
pub mod json;
pub mod list;
#[cfg(feature = "modules")]
mod matches;
mod output;
mod owned;
pub mod pubsub;
mod raw;
pub mod scripting;
pub mod sentinel;
pub mod server;
pub mod set;
pub mod shape;
#[cfg(feature = "modules")]
mod similar;
pub mod sorted_set;
pub mod stream;
pub mod string;
pub mod table;
pub mod transactions;
mod typed;
#[cfg(feature = "modules")]
pub mod vector_set;
mod view;
pub mod word;

use std::hash::Hasher;

use onecopy_resp_proto::Reply;

pub use blocking::Blocking;
pub use error::DecodeError;
pub use flags::Flags;
#[cfg(feature = "modules")]
pub use matches::Matches;
pub use output::FromReply;
pub use raw::{Raw, raw};
#[cfg(feature = "modules")]
pub use similar::Similar;
#[cfg(feature = "caching")]
pub(crate) use table::encoded_name;
pub use table::table;
pub use typed::Typed;
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
/// It can be implemented for the commands of server modules:
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
///     fn name(&self) -> &str {
///         "BF.EXISTS"
///     }
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
    /// The type that the reply is read as. It borrows from the reply.
    type Output<'r>: FromReply<'r>;

    /// Returns the command's name for traces, in capitals; a subcommand's follows that of its container: `CLIENT SETNAME`. It must
    /// not contain arguments. Default: `OTHER`.
    fn name(&self) -> &str {
        "OTHER"
    }

    /// Returns what a connection must know about the command.
    fn flags(&self) -> Flags;

    /// Writes the command: its head, then its arguments.
    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>);

    /// Reads the reply.
    ///
    /// # Errors
    /// Fails if the reply has another type, or is a server error. A connection checks for server errors before it calls this.
    fn decode<'r>(reply: Reply<'r>) -> Result<Self::Output<'r>, DecodeError> {
        FromReply::from_reply(reply)
    }

    /// Returns the same command, whose reply is read as a type of the caller's: one that owns its values, such as a struct with
    /// `#[derive(FromReply)]`, a tuple, a `Vec` or a `HashMap`. It can be run like any other command, in pipelines, transactions, on
    /// shared handles and clusters too. Reading a reply as such a type copies its values.
    ///
    /// ```no_run
    /// use std::collections::HashMap;
    ///
    /// use onecopy_valkey::blocking::Connection;
    /// use onecopy_valkey::command::{Command as _, hash, string};
    ///
    /// # fn main() -> Result<(), onecopy_valkey::Error> {
    /// let mut conn = Connection::connect("redis://localhost")?;
    /// let stock: HashMap<String, u32> = conn.run(&hash::hgetall("stock").typed())?;
    /// let (name, age) = conn.run(&hash::hmget("user:7", ["name", "age"]).typed::<(String, Option<u16>)>())?;
    /// let visits = conn.run(&string::get("visits").typed::<Option<u64>>())?;
    /// # let _ = (stock, name, age, visits); Ok(()) }
    /// ```
    fn typed<T: for<'r> FromReply<'r>>(self) -> Typed<Self, T>
    where
        Self: Sized,
    {
        Typed::new(self)
    }

    /// Returns how long the server may hold the reply back, in addition to the time for executing the command.
    fn blocking(&self) -> Blocking {
        Blocking::No
    }

    /// Calls `visit` with each key of the command, as it is sent. A [`raw`] command finds its keys by its name. A cluster needs
    /// them to find the node; for a command that shows none it takes the first argument, unless it is
    /// [`KEYLESS`](Flags::KEYLESS).
    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        let _ = visit;
    }

    /// Feeds the command's name and its first key to `hasher`; for a [`raw`] command its name and its first argument. A shared
    /// handle uses this hash to remember which commands have large replies. Commands with the same name and first key may have
    /// the same hash.
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
mod minimal;
#[cfg(test)]
mod tests;
