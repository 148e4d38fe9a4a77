//! Errors in a client's handshake response that servers tolerate.
//!
//! Tested with MariaDB 10.11 and 11.8 and MySQL 9.7. Other errors are rejected there too, except truncated attributes, which
//! MySQL treats as none.
//!
//! | the response              | servers                                       |
//! |---------------------------|-----------------------------------------------|
//! | bytes after its end       | are not checked                               |
//! | its end in place of a NUL | ends the plugin's name, if it is the last field |

use crate::codec::DecodeErrorKind;
use crate::packet::HandshakeResponse;

/// Returns the corrected response, or `None` if there is nothing to correct, or nothing that servers tolerate. It may contain a
/// password.
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
