//! What servers let pass in a client's handshake response although it is not right.
//!
//! Run against MariaDB 10.11 and 11.8 and MySQL 9.7. Others are errors there too, but for attributes cut short, which MySQL takes
//! for none.
//!
//! | the response              | servers                                       |
//! |---------------------------|-----------------------------------------------|
//! | bytes behind its end      | are not looked at                             |
//! | its end in place of a NUL | ends the plugin's name, where it is the last  |

use crate::codec::DecodeErrorKind;
use crate::packet::HandshakeResponse;

/// The response as it should have been; `None` where there is nothing to mend, or nothing that servers let pass. There may be
/// a password in it.
pub fn tidy(payload: &[u8]) -> Option<Vec<u8>> {
    let error = HandshakeResponse::decode(payload).err()?;
    let mended = match error.kind {
        DecodeErrorKind::Trailing => {
            let end = usize::try_from(error.offset).ok()?;
            payload.get(..end)?.to_vec()
        }
        DecodeErrorKind::MissingNul if error.field == "plugin name" => {
            // All at once: a vector that grows would leave a password behind.
            let mut mended = Vec::with_capacity(payload.len() + 1);
            mended.extend_from_slice(payload);
            mended.push(0);
            mended
        }
        _ => return None,
    };
    HandshakeResponse::decode(&mended).is_ok().then_some(mended)
}
