//! What a connection must know about a command.

use std::fmt;

/// A set of facts about a command.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The command changes nothing: it can be sent again if its reply was lost.
    pub const READONLY: Self = Self(1);
    /// The command may change keys.
    pub const WRITE: Self = Self(1 << 1);
    /// The command administers the server.
    pub const ADMIN: Self = Self(1 << 2);
    /// The server may hold the reply back, and with it the replies to all later commands: the command needs a connection of its
    /// own.
    pub const BLOCKING: Self = Self(1 << 3);
    /// The command names no keys.
    pub const KEYLESS: Self = Self(1 << 4);
    /// After the command, replies no longer match requests one to one: SUBSCRIBE and similar commands, MONITOR, SYNC, CLIENT
    /// REPLY.
    pub const BREAKS_ORDER: Self = Self(1 << 5);
    /// The command changes the state of its connection: the user, database, protocol or name.
    pub const CONNECTION_STATE: Self = Self(1 << 6);
    /// The command opens a transaction or watches keys, until another command ends that: MULTI, WATCH.
    pub const TRANSACTION: Self = Self(1 << 7);
    /// The command ends a transaction and stops watching keys: EXEC, DISCARD, UNWATCH.
    pub const ENDS_TRANSACTION: Self = Self(1 << 8);

    const NAMES: [(Self, &'static str); 9] = [
        (Self::READONLY, "readonly"),
        (Self::WRITE, "write"),
        (Self::ADMIN, "admin"),
        (Self::BLOCKING, "blocking"),
        (Self::KEYLESS, "keyless"),
        (Self::BREAKS_ORDER, "breaks-order"),
        (Self::CONNECTION_STATE, "connection-state"),
        (Self::TRANSACTION, "transaction"),
        (Self::ENDS_TRANSACTION, "ends-transaction"),
    ];

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns this set without `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns whether all of `others` are in this set.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns whether any of `others` is in this set.
    pub const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns the names of the flags, for display.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_set = move |(flag, _): &(Self, &str)| self.contains(*flag);
        Self::NAMES.into_iter().filter(is_set).map(|(_, name)| name)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests;
