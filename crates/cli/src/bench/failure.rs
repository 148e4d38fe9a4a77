//! Why a command could not be carried out, with what to do.

use std::{fmt, io};

use onecopy_mysql::Error;

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

/// A failure that ends the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client's or the server's.
    Client(Error),
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f)?,
            Self::Io(error) => error.fmt(f)?,
            Self::Said(text) => f.write_str(text)?,
        }
        if self.is_server(NO_SUCH_TABLE) {
            f.write_str("; `onecopy bench setup --url URL` makes the tables")?;
        }
        Ok(())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<io::Error> for Failure {
    /// A value's reader wraps the client's error: it is taken out again.
    fn from(error: io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(error) => Self::Client(error),
            Err(error) => Self::Io(error),
        }
    }
}
