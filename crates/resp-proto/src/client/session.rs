//! What a server reports about itself in its reply to HELLO.
//!
//! | key     | value   | note                                         |
//! |---------|---------|----------------------------------------------|
//! | server  | text    | `valkey`, `redis`, or a name of its own      |
//! | version | text    | such as `8.1.4`                              |
//! | proto   | integer | 2 or 3                                       |
//! | id      | integer | the connection's number, as in CLIENT LIST   |
//! | mode    | text    | `standalone`, `cluster` or `sentinel`        |
//! | role    | text    | `master` or `replica`; a sentinel has none   |
//! | modules | array   | not checked                                |
//!
//! Source: <https://valkey.io/commands/hello/>.

use onecopy_wire::WireError;

use crate::Reply;

/// Longest text that is kept, in bytes; servers' own are below 32.
const MAX_TEXT: usize = 256;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// RESP2, which every server supports.
    Resp2,
    /// RESP3, supported by servers since 6.0.
    Resp3,
}

/// What the handshake agreed on. All fields except the protocol come from the reply to HELLO, so RESP2 has none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The protocol version of the replies.
    pub protocol: Protocol,
    /// The name of the server: usually `valkey` or `redis`.
    pub server: Option<String>,
    /// The version of the server, as it reports it.
    pub version: Option<String>,
    /// The ID of the connection.
    pub connection_id: Option<i64>,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: Option<String>,
    /// `master` or `replica`.
    pub role: Option<String>,
}

impl Session {
    /// Creates a session of which only the protocol is known.
    pub fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            server: None,
            version: None,
            connection_id: None,
            mode: None,
            role: None,
        }
    }

    /// Reads the reply to HELLO: a map, or an array of keys and values. What it does not tell stays unknown, but for the
    /// protocol: nothing where that is none of those spoken here.
    pub(super) fn read(reply: Reply<'_>) -> Result<Option<Self>, WireError> {
        let mut session = Self::new(Protocol::Resp2);
        let mut protocol = None;
        for (key, value) in reply.pairs() {
            match key.bytes() {
                b"proto" => protocol = value.as_i64(),
                b"server" => session.server = text(value)?,
                b"version" => session.version = text(value)?,
                b"id" => session.connection_id = value.as_i64(),
                b"mode" => session.mode = text(value)?,
                b"role" => session.role = text(value)?,
                _ => {}
            }
        }
        session.protocol = match protocol {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            _ => return Ok(None),
        };
        Ok(Some(session))
    }
}

/// A copy of a text, cut where it is longer than any server's; none of what is not UTF-8.
fn text(value: Reply<'_>) -> Result<Option<String>, WireError> {
    let bytes = value.bytes();
    let Ok(text) = std::str::from_utf8(&bytes[..bytes.len().min(MAX_TEXT)]) else {
        return Ok(None);
    };
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| WireError::OutOfMemory {
            bytes: text.len() as u64,
        })?;
    copy.push_str(text);
    Ok(Some(copy))
}
