//! Binary rows: the reply to a COM_STMT_EXECUTE, see [`rows`].

use crate::rows::{self, Protocol};

/// Reads one input in every way.
pub fn run(data: &[u8]) {
    rows::run(Protocol::Binary, data);
}
