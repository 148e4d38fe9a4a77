//! Text rows: the reply to a COM_QUERY, see [`rows`].

use crate::rows::{self, Protocol};

/// Reads one input in every way.
pub fn run(data: &[u8]) {
    rows::run(Protocol::Text, data);
}
