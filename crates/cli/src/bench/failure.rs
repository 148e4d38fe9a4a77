//! Why a benchmark or the tour could not be carried out.
//!
//! Apart from the other commands' failure, for here the IO errors are those of sockets, not of the output.

use std::io;

use onecopy_mysql::Error;

use crate::failure;

/// A failure that ends the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// MySQL's, or a connection's to it.
    Client(Error),
    /// Valkey's or Redis's, or a connection's to it.
    Valkey(onecopy_valkey::Error),
    /// A stream's or a file's.
    Io(io::Error),
    /// Our own, with what to do.
    Said(String),
}

impl Failure {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// Whether the server refused with this number.
    pub(crate) fn is_server(&self, code: u16) -> bool {
        matches!(self, Self::Client(error) if error.server().is_some_and(|server| server.code == code))
    }
}

/// As every command's failure is told.
impl From<Failure> for failure::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Client(error) => Self::Database(error),
            Failure::Valkey(error) => Self::Valkey(error),
            Failure::Io(error) => Self::other(error.to_string()),
            Failure::Said(text) => Self::Other(text),
        }
    }
}

/// The other way round, of what finds a server.
impl From<failure::Failure> for Failure {
    fn from(failure: failure::Failure) -> Self {
        match failure {
            failure::Failure::Database(error) => Self::Client(error),
            failure::Failure::Valkey(error) => Self::Valkey(error),
            failure::Failure::Other(text) => Self::Said(text),
            failure::Failure::ReaderGone | failure::Failure::Cancelled { .. } => {
                Self::said("cancelled")
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<onecopy_valkey::Error> for Failure {
    fn from(error: onecopy_valkey::Error) -> Self {
        Self::Valkey(error)
    }
}

impl From<io::Error> for Failure {
    /// A value's reader wraps the client's error: it is taken out again.
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Error>() {
            Ok(error) => return Self::Client(error),
            Err(error) => error,
        };
        match error.downcast::<onecopy_valkey::Error>() {
            Ok(error) => Self::Valkey(error),
            Err(error) => Self::Io(error),
        }
    }
}
