//! The role of a backend.

use std::fmt;

/// Which sessions a backend may receive; its weight then determines its share.
///
/// Whether a server is read-only is known only from health checks with a [login](super::HealthLogin), once per
/// [interval](super::HealthConfig::interval). Until the next check, a session may still go to a server that has just changed.
/// Existing sessions stay where they are. Before the first result, and without such checks, a server may be in either state; it
/// is chosen only after servers that are known to be in the right one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Receives all sessions.
    #[default]
    Any,
    /// Receives new sessions while the server is writable: `@@global.read_only` is off.
    Primary,
    /// Receives new sessions while the server is read-only.
    Replica,
    /// Receives new sessions while no other backend of the listener is available: each one is down, is excluded by its role, or
    /// did not answer this session or the previous one. Backends that are merely full count as available.
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
