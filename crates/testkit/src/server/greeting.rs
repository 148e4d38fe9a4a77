//! The first packet of a server, as far as a start needs it.

use std::io::{self, Read};

/// A greeting is some 100 bytes; more is not one.
const MAX_PAYLOAD: usize = 1 << 10;

/// Reads one packet: a length of three bytes and a sequence, then the payload, of which this much is read at most.
pub(super) fn read_packet(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length =
        usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    let mut payload = vec![0; length.min(MAX_PAYLOAD)];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

/// The version in a greeting: 0x0A, then the version up to a NUL.
pub(super) fn version(payload: &[u8]) -> Option<String> {
    let [0x0A, rest @ ..] = payload else {
        return None;
    };
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = String::from_utf8_lossy(&rest[..end]);
    Some(text.strip_prefix("5.5.5-").unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
