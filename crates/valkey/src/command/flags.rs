//! What a connection has to know of a command.

use std::fmt;

/// A set of facts about a command.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It changes nothing: it can be sent again where its reply was lost.
    pub const READONLY: Self = Self(1);
    /// It may change keys.
    pub const WRITE: Self = Self(1 << 1);
    /// It looks after the server.
    pub const ADMIN: Self = Self(1 << 2);
    /// The server may keep its reply back, and with it those of all later commands: it wants a connection of its own.
    pub const BLOCKING: Self = Self(1 << 3);
    /// It names no keys.
    pub const KEYLESS: Self = Self(1 << 4);
    /// After it there is no longer one reply a request: SUBSCRIBE and its like, MONITOR, SYNC, CLIENT REPLY.
    pub const BREAKS_ORDER: Self = Self(1 << 5);
    /// It leaves something behind on its connection: another user, database, protocol or name.
    pub const CONNECTION_STATE: Self = Self(1 << 6);
    /// It leaves a transaction or watched keys on its connection, until one that ends them: MULTI, WATCH.
    pub const TRANSACTION: Self = Self(1 << 7);
    /// It ends a transaction, and watches keys no more: EXEC, DISCARD, UNWATCH.
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

    /// These and the others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These but for the others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of the others are among these.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether any of the others is among these.
    pub const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Their names, for people.
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
