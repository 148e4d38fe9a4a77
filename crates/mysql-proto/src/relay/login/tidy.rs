//! What servers let pass in a client's handshake response although it is not right.
//!
//! Run against MariaDB 10.11 and 11.8 and MySQL 9.7. Others are errors there too, but for attributes cut short, which MySQL takes
//! for none.
//!
//! | the response              | servers                                       |
//! |---------------------------|-----------------------------------------------|
//! | bytes behind its end      | are not checked                             |
//! | its end in place of a NUL | ends the plugin's name, where it is the last  |

use crate::codec::DecodeErrorKind;
use crate::packet::HandshakeResponse;

/// The response as it should have been; `None` where there is nothing to fix, or nothing that servers let pass. There may be
/// a password in it.
pub fn tidy(payload: &[u8]) -> Option<Vec<u8>> {
    let error = HandshakeResponse::decode(payload).err()?;
    let repaired = match error.kind {
        DecodeErrorKind::Trailing => {
            let end = usize::try_from(error.offset).ok()?;
            payload.get(..end)?.to_vec()
        }
        DecodeErrorKind::MissingNul if error.field == "plugin name" => {
            // All at once: a vector that grows would leave a password behind.
            let mut repaired = Vec::with_capacity(payload.len() + 1);
            repaired.extend_from_slice(payload);
            repaired.push(0);
            repaired
        }
        _ => return None,
    };
    HandshakeResponse::decode(&repaired)
        .is_ok()
        .then_some(repaired)
}
