//! The messages that a conversation returns.

use onecopy_wire::Span;

use super::StatementId;
use crate::StatusFlags;

/// A message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A command or a result without rows is done. [`ClientCore::ok`](super::ClientCore::ok) returns its numbers.
    Ok,
    /// A complete ERR packet: decode it with [`ErrPacket`](crate::packet::ErrPacket). The command is over. Empty in place of a result that the
    /// server has left out: only after [`ask_for_rest`](super::ClientCore::ask_for_rest).
    Err(Span),
    /// Rows begin. [`ClientCore::definitions`](super::ClientCore::definitions) returns their columns.
    Columns,
    /// A row to be borrowed. [`ClientCore::cells`](super::ClientCore::cells) returns the positions of its values.
    Row(Span),
    /// Streamed rows: a row begins. [`ClientCore`](super::ClientCore) continues with its first value.
    RowStart,
    /// Streamed rows: the length of the next value, or `None` for NULL.
    Value(Option<u64>),
    /// Streamed rows: the next bytes of the value.
    Piece(Span),
    /// Streamed rows: the end of a row.
    RowEnd,
    /// The end of the rows. [`ClientCore::ok`](super::ClientCore::ok) returns the numbers after them.
    RowsEnd,
    /// A statement is prepared.
    Prepared(StatementId),
    /// The server requests a file, under this name: only after
    /// [`query_with_local_infile`](super::ClientCore::query_with_local_infile). The server chooses the name, so it may be any.
    LocalInfile(Span),
}

/// How rows are returned. It may change between rows, and to `Skip` at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowMode {
    /// Each row as a whole, with random access.
    #[default]
    Borrow,
    /// Values strictly in order and in pieces.
    Stream,
    /// Not at all: rows are discarded.
    Skip,
}

/// The numbers of the last OK packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OkState {
    /// The number of changed rows.
    pub affected_rows: u64,
    /// The first value that `AUTO_INCREMENT` generated.
    pub last_insert_id: u64,
    /// The server's state.
    pub status_flags: StatusFlags,
    /// The number of warnings.
    pub warnings: u16,
}
