//! What a backend is to its listener.

use std::fmt;

/// Which sessions a backend gets, beside those that its weight gives it.
///
/// Whether a server is read only its health checks ask, with a [login](super::HealthLogin) and every
/// [interval](super::HealthConfig::interval): so long a session may still be sent to one that has just changed. Sessions that
/// are on it stay. Before the first answer, and without checks that ask, a server may be either, and comes after those
/// that are known to be right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// All that come.
    #[default]
    Any,
    /// Those that come while it takes writes: `@@global.read_only` is off.
    Primary,
    /// Those that come while it does not.
    Replica,
    /// Those that come while no other one of the listener can be had: all of them are down, play no part by their role, or did
    /// not answer this session or the last. Full ones can be had.
    Backup,
}

impl Role {
    /// Whether it says something of servers that are read only.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Primary | Self::Replica)
    }

    /// Whether a server that is read only or not plays its part; `None` where that is not known.
    pub(crate) fn is_played(self, is_read_only: Option<bool>) -> Option<bool> {
        match self {
            Self::Any | Self::Backup => Some(true),
            Self::Primary => is_read_only.map(|is| !is),
            Self::Replica => is_read_only,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Primary => "primary",
            Self::Replica => "replica",
            Self::Backup => "backup",
        })
    }
}
