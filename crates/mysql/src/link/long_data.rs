//! A parameter that is sent from a reader, in pieces.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::owned;

use crate::Error;

/// A parameter from a reader is sent in pieces of this size: 128 KiB.
const LONG_DATA_PIECE: usize = 128 << 10;

/// Memory for the pieces of a long value.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn long_data_piece() -> Result<Vec<u8>, Error> {
    let mut piece = owned::with_capacity(LONG_DATA_PIECE).map_err(ProtocolError::of_call)?;
    piece.resize(LONG_DATA_PIECE, 0);
    Ok(piece)
}
