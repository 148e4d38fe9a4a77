//! Why a session keeps its connection between transactions.

/// A part of a session's state that can't be brought to another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Pin {
    UserVariable,
    TemporaryTable,
    SqlPrepare,
    LockTables,
    /// `LOCK INSTANCE`, or `BACKUP` on MariaDB.
    BackupLock,
    NamedLock,
    /// Roles, or a resource group.
    Role,
    /// A variable that can't be set to what it was.
    Variable,
    /// The client has changed what it is told of changes.
    SessionTrack,
    Handler,
    Xa,
    Sequence,
    ConnectionId,
    LastInsertId,
    /// It asks for what the statement before has left.
    RowCount,
    /// Of `SQL_CALC_FOUND_ROWS`, up to the end of the next query.
    FoundRows,
    Cursor,
    LongData,
    TransactionCharacteristics,
    /// One that was set without a transaction.
    Savepoint,
    /// A procedure was called: what it leaves is not always reported, as a named lock or `SELECT ... INTO @a`.
    Call,
    /// Something has changed, and nothing says what.
    Unexplained,
}

impl Pin {
    pub(crate) const COUNT: usize = 22;

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::UserVariable,
        Self::TemporaryTable,
        Self::SqlPrepare,
        Self::LockTables,
        Self::BackupLock,
        Self::NamedLock,
        Self::Role,
        Self::Variable,
        Self::SessionTrack,
        Self::Handler,
        Self::Xa,
        Self::Sequence,
        Self::ConnectionId,
        Self::LastInsertId,
        Self::RowCount,
        Self::FoundRows,
        Self::Cursor,
        Self::LongData,
        Self::TransactionCharacteristics,
        Self::Savepoint,
        Self::Call,
        Self::Unexplained,
    ];

    /// Whether it stays until the session is reset or ends, so that it covers whatever else is left on the connection.
    pub(crate) fn is_for_good(self) -> bool {
        !matches!(
            self,
            Self::LockTables
                | Self::NamedLock
                | Self::Handler
                | Self::Xa
                | Self::FoundRows
                | Self::Cursor
                | Self::LongData
                | Self::TransactionCharacteristics
                | Self::Savepoint
        )
    }

    /// Whether it is of something that its client ends by itself, such as a lock.
    pub(crate) fn is_under_way(self) -> bool {
        !self.is_for_good() || self == Self::BackupLock
    }

    /// For metrics and people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UserVariable => "user_variable",
            Self::TemporaryTable => "temporary_table",
            Self::SqlPrepare => "sql_prepare",
            Self::LockTables => "lock_tables",
            Self::BackupLock => "backup_lock",
            Self::NamedLock => "named_lock",
            Self::Role => "role",
            Self::Variable => "variable",
            Self::SessionTrack => "session_track",
            Self::Handler => "handler",
            Self::Xa => "xa",
            Self::Sequence => "sequence",
            Self::ConnectionId => "connection_id",
            Self::LastInsertId => "last_insert_id",
            Self::RowCount => "row_count",
            Self::FoundRows => "found_rows",
            Self::Cursor => "cursor",
            Self::LongData => "long_data",
            Self::TransactionCharacteristics => "transaction_characteristics",
            Self::Savepoint => "savepoint",
            Self::Call => "call",
            Self::Unexplained => "unexplained",
        }
    }
}

/// The pins of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pins(u32);

impl Pins {
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it was not there before.
    pub(crate) fn insert(&mut self, pin: Pin) -> bool {
        let before = self.0;
        self.0 |= 1 << pin as usize;
        self.0 != before
    }

    /// Whether it was there before.
    pub(crate) fn remove(&mut self, pin: Pin) -> bool {
        let before = self.0;
        self.0 &= !(1 << pin as usize);
        self.0 != before
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Pin> {
        Pin::ALL
            .into_iter()
            .filter(move |pin| self.0 & 1 << *pin as usize != 0)
    }
}
