//! What a conversation hands over.

use onecopy_wire::Span;

use super::StatementId;
use crate::StatusFlags;

/// What the server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A command or result without rows is done; [`ClientCore::ok`](super::ClientCore::ok) has its numbers.
    Ok,
    /// An ERR packet, whole: decode it with [`ErrPacket`](crate::packet::ErrPacket). The command is over.
    Err(Span),
    /// Rows begin; [`ClientCore::definitions`](super::ClientCore::definitions) has their columns.
    Columns,
    /// A row to be borrowed; [`ClientCore::cells`](super::ClientCore::cells) says where its values are.
    Row(Span),
    /// Streamed rows: one begins. [`ClientCore`](super::ClientCore) goes on with its first value.
    RowStart,
    /// Streamed rows: the next value, with its length, or `None` for NULL.
    Value(Option<u64>),
    /// Streamed rows: the next bytes of the value.
    Piece(Span),
    /// Streamed rows: one is over.
    RowEnd,
    /// The rows are over; [`ClientCore::ok`](super::ClientCore::ok) has the numbers behind them.
    RowsEnd,
    /// A statement is prepared.
    Prepared(StatementId),
}

/// How rows are handed over. May change between rows, and to `Skip` at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowMode {
    /// Each row whole, with random access.
    #[default]
    Borrow,
    /// Values strictly in order and in pieces.
    Stream,
    /// Not at all: for what nobody reads any more.
    Skip,
}

/// The numbers of the last OK packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OkState {
    /// Rows that were changed.
    pub affected_rows: u64,
    /// First value that `AUTO_INCREMENT` gave.
    pub last_insert_id: u64,
    /// The server's state.
    pub status_flags: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
}
