//! The options of a transaction.

/// How strictly a transaction is isolated from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Reads rows that others have not committed.
    ReadUncommitted,
    /// Each statement reads what was committed before it.
    ReadCommitted,
    /// All statements read what was committed before the first of them. The servers' default.
    RepeatableRead,
    /// Reads also lock what they read.
    Serializable,
}

/// The options of a new transaction. By default it reads and writes, at the session's isolation level.
///
/// ```
/// use onecopy_mysql::{Isolation, TransactionOptions};
///
/// let options = TransactionOptions {
///     isolation: Some(Isolation::ReadCommitted),
///     ..TransactionOptions::default()
/// };
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TransactionOptions {
    /// The isolation level of this transaction. `None`: that of the session.
    pub isolation: Option<Isolation>,
    /// Whether the transaction may only read, which the server enforces.
    pub read_only: bool,
    /// Whether the snapshot that the transaction reads from is taken when it begins, and not at its first read. It has an effect
    /// only with [`Isolation::RepeatableRead`].
    pub consistent_snapshot: bool,
}

impl TransactionOptions {
    /// The statement that sets the isolation of the next transaction, and of no later one.
    pub(crate) fn isolation_sql(&self) -> Option<&'static str> {
        Some(match self.isolation? {
            Isolation::ReadUncommitted => "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            Isolation::ReadCommitted => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            Isolation::RepeatableRead => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Isolation::Serializable => "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        })
    }

    pub(crate) fn start_sql(&self) -> &'static str {
        match (self.consistent_snapshot, self.read_only) {
            (false, false) => "START TRANSACTION",
            (false, true) => "START TRANSACTION READ ONLY",
            (true, false) => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            (true, true) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        }
    }
}
