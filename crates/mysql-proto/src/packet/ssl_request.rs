//! SSLRequest: the client's request to switch to TLS, sent before the handshake response.
//!
//! It is the handshake response up to the user name; the complete response follows inside TLS.
//!
//! | bytes | field                  | note                                          |
//! |-------|------------------------|-----------------------------------------------|
//! | 4     | capabilities           | with `SSL`                                    |
//! | 4     | maximum packet size    |                                               |
//! | 1     | collation              | its lower 8 bits                              |
//! | 19    | filler                 |                                               |
//! | 4     | MariaDB's capabilities | if `LONG_PASSWORD` is not set, else filler    |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_ssl_request.html>

use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "SSLRequest";
/// The whole packet's length; anything longer is a handshake response.
pub(crate) const LENGTH: usize = 32;

/// SSLRequest: the client's request to switch to TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// The capabilities that the client will use; `encode` adds `SSL`.
    pub capabilities: Capabilities,
    /// The maximum payload that the client accepts, in bytes.
    pub max_packet_bytes: u32,
    /// The lower 8 bits of the connection's collation.
    pub collation: u8,
}

impl SslRequest {
    /// Returns whether a client's first payload is this packet and not a handshake response.
    pub fn is(payload: &[u8]) -> bool {
        payload.len() == LENGTH && Self::decode(payload).is_ok()
    }

    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on any length other than 32 bytes, and on capabilities without `SSL` (`BadValue`).
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let start = reader.clone();
        let request = Self::read(&mut reader)?;
        reader.finish()?;
        if !request.capabilities.contains(Capabilities::SSL) {
            return Err(start.error("capabilities", DecodeErrorKind::BadValue));
        }
        Ok(request)
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        let capabilities = self.capabilities | Capabilities::SSL;
        Self {
            capabilities,
            ..*self
        }
        .write(out);
    }

    /// Reads the part that a handshake response starts with too.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mysql = reader.u32("capabilities")?;
        let max_packet_bytes = reader.u32("maximal packet size")?;
        let collation = reader.u8("collation")?;
        reader.take(19, "filler")?;
        let extended = reader.u32("extended capabilities")?;
        let capabilities = Capabilities::from_handshake(mysql, extended);
        Ok(Self {
            capabilities,
            max_packet_bytes,
            collation,
        })
    }

    /// Writes the part that a handshake response starts with too.
    pub(crate) fn write(&self, out: &mut impl Put) {
        out.put_u32(self.capabilities.mysql());
        out.put_u32(self.max_packet_bytes);
        out.put_u8(self.collation);
        out.put_zeros(19);
        out.put_u32(self.capabilities.extended_to_send());
    }
}

#[cfg(test)]
mod tests;
