//! What goes wrong with sentinels only.

use std::fmt;

use crate::cluster::NodeAddress;

/// An error that only sentinels can cause: see [`Error::sentinel`](crate::Error::sentinel). The command was not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SentinelError {
    /// No sentinel that was asked watches a primary of this name.
    UnknownName {
        /// The name.
        name: String,
        /// The sentinel that was asked last.
        sentinel: NodeAddress,
    },
    /// A sentinel's answer can't be used.
    BadAnswer {
        /// The sentinel.
        sentinel: NodeAddress,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The server that a sentinel names as the primary is not one. After a failover that may be so for a moment.
    NotPrimary {
        /// The server.
        server: NodeAddress,
        /// What it is: `a replica`, `a sentinel`, or `neither`.
        role: &'static str,
    },
    /// No sentinel answered with a primary that can be reached.
    NoPrimary {
        /// What went wrong last.
        last: String,
    },
    /// So many commands wait for a primary that no more may.
    TooManyWaiting {
        /// How many wait.
        waiting: usize,
    },
}

impl SentinelError {
    /// Whether the same command may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::UnknownName { .. } => false,
            Self::BadAnswer { .. }
            | Self::NotPrimary { .. }
            | Self::NoPrimary { .. }
            | Self::TooManyWaiting { .. } => true,
        }
    }
}

impl fmt::Display for SentinelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, sentinel } => write!(
                f,
                "sentinel {sentinel} watches no primary called `{}`; `SENTINEL MASTERS` shows the names that it knows",
                name.escape_debug()
            ),
            Self::BadAnswer { sentinel, problem } => {
                write!(
                    f,
                    "sentinel {sentinel} sent an answer that is not valid: {problem}"
                )
            }
            Self::NotPrimary { server, role } => write!(
                f,
                "the sentinels name {server} as the primary, and it is {role}; if this lasts, compare `ROLE` there with \
                 `SENTINEL MASTERS`"
            ),
            Self::NoPrimary { last } => {
                write!(
                    f,
                    "no sentinel named a primary that can be reached; the last attempt: {last}"
                )
            }
            Self::TooManyWaiting { waiting } => write!(
                f,
                "{waiting} commands wait for a primary: no more may, see SentinelConfig::max_waiting"
            ),
        }
    }
}

impl std::error::Error for SentinelError {}
