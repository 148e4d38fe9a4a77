//! Replaces the capability bits of greeting and response in place; all other bytes stay unchanged.

use crate::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Reader};
use crate::packet::handshake_response::DEFAULT_ZSTD_LEVEL;
use crate::packet::ssl_request::LENGTH as SSL_REQUEST_BYTES;
use crate::packet::{Greeting, HandshakeResponse};

/// Of the response and of an SSLRequest: where MariaDB's capabilities are.
const RESPONSE_EXTENDED: usize = 28;
/// Of the greeting: from the NUL behind the version to the lower half of the capabilities.
const GREETING_LOWER: usize = 1 + 4 + 8 + 1;
/// From there to the upper half, behind it collation and status flags.
const GREETING_UPPER: usize = GREETING_LOWER + 2 + 1 + 2;
/// And to MariaDB's, behind it the length of auth data and a filler.
const GREETING_EXTENDED: usize = GREETING_UPPER + 2 + 1 + 6;

/// A change of the capabilities, for those that one side handles itself.
///
/// `LONG_PASSWORD`, `PROTOCOL_41`, `PLUGIN_AUTH`, `CONNECT_WITH_DB` and others that determine the format of packets must not be
/// among them: client and server have to agree on these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// The capabilities to remove.
    pub clear: Capabilities,
    /// The capabilities to add, after that.
    pub set: Capabilities,
}

impl Change {
    /// Returns the changed capabilities.
    pub fn apply(self, capabilities: Capabilities) -> Capabilities {
        capabilities.difference(self.clear) | self.set
    }
}

/// Changes the capabilities of a server's greeting for the client. Returns the changed greeting. MariaDB's extended bytes stay
/// unchanged if the server is not MariaDB.
///
/// # Errors
/// Fails like [`Greeting::decode`]; the payload is unchanged then.
pub fn greeting(payload: &mut [u8], change: Change) -> Result<Greeting<'_>, DecodeError> {
    let before = Greeting::decode(payload)?;
    let capabilities = change.apply(before.capabilities);
    // Behind the protocol version.
    let nul = 1 + before.server_version.len();
    let [l0, l1, u0, u1] = capabilities.mysql().to_le_bytes();
    put(payload, nul + GREETING_LOWER, [l0, l1]);
    put(payload, nul + GREETING_UPPER, [u0, u1]);
    put_extended(payload, nul + GREETING_EXTENDED, capabilities);
    Greeting::decode(payload)
}

/// Changes the capabilities of a client's handshake response for the server. Returns the changed response. With zstd, whose level
/// is at the end, the payload becomes one byte longer or shorter.
///
/// # Errors
/// Fails like [`HandshakeResponse::decode`], or if memory for that byte cannot be allocated (`BadLength`); the payload is
/// unchanged then.
pub fn response(
    payload: &mut Vec<u8>,
    change: Change,
) -> Result<HandshakeResponse<'_>, DecodeError> {
    let before = HandshakeResponse::decode(payload)?;
    let had_level = before.zstd_level.is_some();
    let capabilities = change.apply(before.capabilities);
    let has_level = capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM);
    if had_level && !has_level {
        payload.pop();
    } else if has_level && !had_level {
        let no_memory = |_| {
            Reader::new("HandshakeResponse41", &[]).error("zstd level", DecodeErrorKind::BadLength)
        };
        payload.try_reserve(1).map_err(no_memory)?;
        payload.push(DEFAULT_ZSTD_LEVEL);
    }
    put(payload, 0, capabilities.mysql().to_le_bytes());
    put_extended(payload, RESPONSE_EXTENDED, capabilities);
    HandshakeResponse::decode(payload)
}

/// Returns the payload of a request for TLS to the server, from the client's response or from its own request: the same 32 bytes
/// with the capabilities changed and `SSL` added.
///
/// # Errors
/// Fails on fewer than 32 bytes (`Truncated`), or on capabilities without `PROTOCOL_41` (`BadValue`).
pub fn ssl_request(
    response: &[u8],
    change: Change,
) -> Result<[u8; SSL_REQUEST_BYTES], DecodeError> {
    let mut reader = Reader::new("SSLRequest", response);
    let start = reader.clone();
    let mut payload = reader.array::<SSL_REQUEST_BYTES>("capabilities")?;
    let mysql = start.clone().u32("capabilities")?;
    let mut extended = start.clone();
    extended.take(RESPONSE_EXTENDED, "filler")?;
    let before = Capabilities::from_handshake(mysql, extended.u32("extended capabilities")?);
    if !before.contains(Capabilities::PROTOCOL_41) {
        return Err(start.error("capabilities", DecodeErrorKind::BadValue));
    }
    let capabilities = change.apply(before) | Capabilities::SSL;
    put(&mut payload, 0, capabilities.mysql().to_le_bytes());
    put_extended(&mut payload, RESPONSE_EXTENDED, capabilities);
    Ok(payload)
}

/// Only where the other side does not take these bytes for filler.
fn put_extended(payload: &mut [u8], at: usize, capabilities: Capabilities) {
    if !capabilities.contains(Capabilities::LONG_PASSWORD) {
        put(payload, at, capabilities.mariadb_extended().to_le_bytes());
    }
}

fn put<const N: usize>(payload: &mut [u8], at: usize, bytes: [u8; N]) {
    let place = payload.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    // The decoder has read beyond it.
    debug_assert!(place.is_some());
    if let Some(place) = place {
        *place = bytes;
    }
}
