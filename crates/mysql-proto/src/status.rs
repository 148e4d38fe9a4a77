//! The server's state after a command, as reported by OK and EOF packets.
//!
//! The names are the specification's without `SERVER_` and `STATUS_`, see
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html> (`SERVER_STATUS_flags_enum`) and
//! <https://mariadb.com/kb/en/ok_packet/#server-status-flag>.

use crate::flag_set::flag_set;

flag_set! {
    /// The status flags of the server.
    pub struct StatusFlags(u16);

    /// A transaction is open.
    const IN_TRANS = 1;
    /// Each statement is committed on its own.
    const AUTOCOMMIT = 1 << 1;
    /// Another result follows this one.
    const MORE_RESULTS_EXISTS = 1 << 3;
    /// No good index was found for the query.
    const NO_GOOD_INDEX_USED = 1 << 4;
    /// The query used no index.
    const NO_INDEX_USED = 1 << 5;
    /// A cursor is open: rows are fetched with `COM_STMT_FETCH`.
    const CURSOR_EXISTS = 1 << 6;
    /// The cursor has returned its last row.
    const LAST_ROW_SENT = 1 << 7;
    /// A database was dropped.
    const DB_DROPPED = 1 << 8;
    /// A backslash is an ordinary character in string literals.
    const NO_BACKSLASH_ESCAPES = 1 << 9;
    /// A statement was reprepared, and its columns have changed.
    const METADATA_CHANGED = 1 << 10;
    /// The query was slow according to `long_query_time`.
    const QUERY_WAS_SLOW = 1 << 11;
    /// The row contains the OUT parameters of a prepared call.
    const PS_OUT_PARAMS = 1 << 12;
    /// The open transaction is read-only.
    const IN_TRANS_READONLY = 1 << 13;
    /// The OK packet contains session state changes.
    const SESSION_STATE_CHANGED = 1 << 14;
    /// MariaDB: `"` quotes identifiers, not strings.
    const ANSI_QUOTES = 1 << 15;
}
