//! SSLRequest: the client's wish to turn to TLS, sent in the handshake response's place.
//!
//! It is the handshake response cut before the user name; the response follows inside TLS.
//!
//! | bytes | field                  | note                                          |
//! |-------|------------------------|-----------------------------------------------|
//! | 4     | capabilities           | with `SSL`                                    |
//! | 4     | maximal packet size    |                                               |
//! | 1     | collation              | its lower 8 bits                              |
//! | 19    | filler                 |                                               |
//! | 4     | MariaDB's capabilities | where `LONG_PASSWORD` is not set, else filler |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_ssl_request.html>

use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "SSLRequest";
/// The whole packet's length; anything longer is a handshake response.
pub(crate) const LENGTH: usize = 32;

/// The client's wish to turn to TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client will use; `SSL` is added when it is written.
    pub capabilities: Capabilities,
    /// The largest payload the client takes, in bytes.
    pub max_packet_bytes: u32,
    /// The lower 8 bits of the connection's collation.
    pub collation: u8,
}

impl SslRequest {
    /// Whether a client's first payload is this packet and not a handshake response.
    pub fn is(payload: &[u8]) -> bool {
        payload.len() == LENGTH && Self::decode(payload).is_ok()
    }

    /// Reads the packet.
    ///
    /// # Errors
    /// Any length but 32 bytes; capabilities without `SSL` are a `BadValue`.
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

    /// Writes the packet.
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
