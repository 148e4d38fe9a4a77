//! Why there is no server.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a server could not be started, and what the user can do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// No usable server was found, and none could be installed.
    NotFound {
        /// What was looked at and what became of it.
        why: String,
        /// What to type.
        hint: String,
    },
    /// The server's data folder could not be filled.
    Prepare {
        /// The last lines of its log.
        log: String,
    },
    /// The server ended before it answered.
    Exited {
        /// Its exit status, as a shell gives it.
        status: i32,
        /// The last lines of its log.
        log: String,
    },
    /// The server did not answer in time.
    Deadline {
        /// How long we waited.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// The operating system refused something.
    Io {
        /// What we were about to do.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// How it was refused.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { why, hint } => write!(f, "no server: {why}; {hint}"),
            Self::Prepare { log } => write!(
                f,
                "the server could not fill its data folder; its log ends:\n{log}"
            ),
            Self::Exited { status, log } => write!(
                f,
                "the server ended with status {status}; its log ends:\n{log}"
            ),
            Self::Deadline { seconds, log } => {
                write!(
                    f,
                    "the server did not answer within {seconds} s; its log ends:\n{log}"
                )
            }
            Self::Io {
                action,
                path,
                source,
            } => write!(f, "cannot {action} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
