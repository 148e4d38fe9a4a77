//! The error for a reply that does not have the type of its command's output.

use std::fmt;

use onecopy_resp_proto::{Kind, Reply};

/// A reply has another type than the command's output. The reply itself was complete, and the connection stays usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// The expected type, in words.
    pub expected: &'static str,
    /// The type of the reply.
    pub found: Kind,
}

impl DecodeError {
    /// Creates the error for a reply, or for a value inside a reply.
    #[inline] // or the reply would be in memory only to be passed here
    pub fn new(expected: &'static str, found: Reply<'_>) -> Self {
        Self::of_kind(expected, found.kind())
    }

    #[cold]
    fn of_kind(expected: &'static str, found: Kind) -> Self {
        Self { expected, found }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        write!(
            f,
            "the reply is not {expected} but {}; run the command as a raw one to see it",
            name(*found)
        )
    }
}

impl std::error::Error for DecodeError {}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::SimpleString => "a simple string",
        Kind::SimpleError | Kind::BulkError => "an error",
        Kind::Integer => "an integer",
        Kind::BulkString => "a bulk string",
        Kind::Array => "an array",
        Kind::Null => "null",
        Kind::Boolean => "a boolean",
        Kind::Double => "a double",
        Kind::BigNumber => "a big number",
        Kind::VerbatimString => "a verbatim string",
        Kind::Map => "a map",
        Kind::Set => "a set",
        _ => "something else",
    }
}
