//! Why a command ended early, and how the user is told.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::process::ExitCode;

use onecopy_mysql::Error;

use crate::hint;
use crate::output::text::{Lines, push_visible};
use crate::progress_line;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of MySQL's, or of a connection to it.
    Database(Error),
    /// An error of Valkey's or Redis's, or of a connection to it.
    Valkey(onecopy_valkey::Error),
    /// The reader of our output has closed the pipe, as `head` does. Not an error.
    ReaderGone,
    /// A signal asked for the end.
    Cancelled {
        /// Its number; the exit status is 128 more.
        signal: u8,
    },
    /// Anything else, in a line for the user.
    Other(String),
}

impl Failure {
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }

    /// Whether a deadline passed.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_timeout())
    }

    /// Tells the user on standard error, with a hint where there is one. `place`: the statement that failed.
    pub(crate) fn report(&self, place: Option<&dyn fmt::Display>) -> ExitCode {
        match self {
            Self::ReaderGone => ExitCode::SUCCESS,
            Self::Cancelled { signal } => {
                say("cancelled");
                ExitCode::from(128 + signal)
            }
            _ => {
                say(&self.text(place, self.hint()));
                ExitCode::FAILURE
            }
        }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Database(error) => hint::mysql::find(error),
            Self::Valkey(error) => hint::valkey::find(error),
            _ => None,
        }
    }

    /// The lines of [`report`](Self::report), with this hint.
    pub(crate) fn text(&self, place: Option<&dyn fmt::Display>, hint: Option<&str>) -> String {
        let text = match self {
            Self::ReaderGone | Self::Cancelled { .. } => String::new(),
            Self::Database(error) => match error.server() {
                Some(error) => format!(
                    " {} ({}): {}",
                    error.code,
                    error.sql_state.as_deref().unwrap_or("no sqlstate"),
                    error.message
                ),
                None => format!(": {error}"),
            },
            Self::Valkey(error) => match error.server() {
                Some(server) if !error.is_closed() => {
                    format!(" {}: {}", server.code(), server.message())
                }
                _ => format!(": {error}"),
            },
            Self::Other(text) => format!(": {text}"),
        };
        let mut lines = format!("{RED}error{PLAIN}");
        // A server's line feed must not begin a line that looks like one of ours.
        push_visible(&text, Lines::Escaped, &mut lines);
        if let Some(place) = place {
            let _ = write!(lines, "\n   at: {place}");
        }
        let in_doubt = match self {
            Self::Database(error) if error.maybe_executed() => Some("statement"),
            Self::Valkey(error) if error.maybe_executed() && error.decode().is_none() => {
                Some("command")
            }
            _ => None,
        };
        if let Some(what) = in_doubt {
            let _ = write!(lines, "\n note: the {what} may or may not have run");
        }
        if let Some(hint) = hint {
            let _ = write!(lines, "\n {BOLD}hint{PLAIN}: {hint}");
        }
        lines
    }
}

const RED: &str = "\x1b[1;31m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// A line on standard error; colours only where it is a terminal and NO_COLOR is not set. A closed standard error is no
/// reason to fail, let alone to panic as `eprintln` does.
pub(crate) fn say(line: &str) {
    progress_line::clear();
    let _ = writeln!(anstream::stderr(), "{line}");
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<onecopy_valkey::Error> for Failure {
    fn from(error: onecopy_valkey::Error) -> Self {
        Self::Valkey(error)
    }
}

/// Reads of a value and writes of the output both fail with an [`io::Error`]: the first have ours inside.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        let error = match error.downcast::<Error>() {
            Ok(error) => return Self::Database(error),
            Err(error) => error,
        };
        match error.downcast::<onecopy_valkey::Error>() {
            Ok(error) => Self::Valkey(error),
            Err(_) if kind == io::ErrorKind::BrokenPipe => Self::ReaderGone,
            Err(error) => Self::Other(format!("can't write the output: {error}")),
        }
    }
}
