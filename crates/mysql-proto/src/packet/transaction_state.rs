//! The state of a transaction, as session tracking reports it: eight letters, each at its place or `_`.
//!
//! | place | letter     | meaning                                         |
//! |-------|------------|-------------------------------------------------|
//! | 0     | `T` or `I` | begun by a statement, or by autocommit being off |
//! | 1     | `r`        | tables without transactions were read           |
//! | 2     | `R`        | tables with transactions were read              |
//! | 3     | `w`        | tables without transactions were written        |
//! | 4     | `W`        | tables with transactions were written           |
//! | 5     | `s`        | a statement was unsafe for replication          |
//! | 6     | `S`        | rows were sent                                  |
//! | 7     | `L`        | LOCK TABLES is in effect                        |
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/session-state-tracking.html>

/// What has begun a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TransactionBegin {
    /// There is no transaction.
    #[default]
    None,
    /// A statement, while autocommit is off.
    Implicit,
    /// `START TRANSACTION` or `BEGIN`.
    Explicit,
}

/// What a transaction has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TransactionState {
    /// Whether there is one, and since what.
    pub begin: TransactionBegin,
    /// Tables without transactions, such as MyISAM's, were read.
    pub read_nontransactional: bool,
    /// Tables with transactions were read.
    pub read: bool,
    /// Tables without transactions were written: a rollback does not undo it.
    pub wrote_nontransactional: bool,
    /// Tables with transactions were written.
    pub wrote: bool,
    /// A statement was unsafe for statement-based replication, such as one with `UUID()`.
    pub unsafe_statement: bool,
    /// Rows were sent to the client.
    pub sent_rows: bool,
    /// `LOCK TABLES` is in effect.
    pub locked_tables: bool,
}

impl TransactionState {
    /// Reads the eight letters; `None` if they are others.
    #[must_use]
    pub fn parse(letters: &[u8]) -> Option<Self> {
        let &[transaction, r, read, w, wrote, s, sent, locked] = letters else {
            return None;
        };
        let flag = |letter: u8, expected: u8| match letter {
            b'_' => Some(false),
            _ if letter == expected => Some(true),
            _ => None,
        };
        Some(Self {
            begin: match transaction {
                b'_' => TransactionBegin::None,
                b'I' => TransactionBegin::Implicit,
                b'T' => TransactionBegin::Explicit,
                _ => return None,
            },
            read_nontransactional: flag(r, b'r')?,
            read: flag(read, b'R')?,
            wrote_nontransactional: flag(w, b'w')?,
            wrote: flag(wrote, b'W')?,
            unsafe_statement: flag(s, b's')?,
            sent_rows: flag(sent, b'S')?,
            locked_tables: flag(locked, b'L')?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_counts_at_its_own_place_only() {
        let none = TransactionState::default();
        assert_eq!(TransactionState::parse(b"________"), Some(none));
        let all = TransactionState::parse(b"TrRwWsSL").unwrap();
        assert_eq!(all.begin, TransactionBegin::Explicit);
        let flags = [
            all.read_nontransactional,
            all.read,
            all.wrote_nontransactional,
            all.wrote,
            all.unsafe_statement,
            all.sent_rows,
            all.locked_tables,
        ];
        assert_eq!(flags, [true; 7]);
        let expected = TransactionState {
            begin: TransactionBegin::Implicit,
            wrote: true,
            ..none
        };
        assert_eq!(TransactionState::parse(b"I___W___"), Some(expected));
        for place in 0..8 {
            let mut letters = *b"________";
            letters[place] = b'x';
            assert_eq!(TransactionState::parse(&letters), None);
        }
        for length in [0, 7, 9] {
            assert_eq!(TransactionState::parse(&b"_________"[..length]), None);
        }
    }
}
