//! ERR: a command failed. MariaDB sends progress reports in the same form.
//!
//! | bytes | field     | note                                          |
//! |-------|-----------|-----------------------------------------------|
//! | 1     | header    | 0xFF                                          |
//! | 2     | code      |                                               |
//! | 1     | marker    | `#`, missing before the handshake is answered |
//! | 5     | SQL state | with the marker                               |
//! | rest  | message   | in the connection's character set             |
//!
//! A progress report, with `MARIADB_PROGRESS`:
//!
//! | bytes  | field             | note                                      |
//! |--------|-------------------|-------------------------------------------|
//! | 1      | header            | 0xFF                                      |
//! | 2      | code              | 0xFFFF                                    |
//! | 1      | number of strings | 0x01                                      |
//! | 1      | stage             | from 1                                    |
//! | 1      | stages            |                                           |
//! | 3      | progress          | of the stage, in thousandths of a percent |
//! | lenenc | info              |                                           |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_err_packet.html>,
//! <https://mariadb.com/kb/en/err_packet/>; the number of strings is as MariaDB 10.11 sends it.

use core::fmt;

use crate::capability::Capabilities;
use crate::codec::{DecodeError, Put, Reader};

const NAME: &str = "ERR";
/// The packet's first byte.
pub const HEADER: u8 = 0xFF;
/// The code that makes the packet a progress report.
pub(crate) const PROGRESS: u16 = 0xFFFF;

/// Whether a packet with header 0xFF is a progress report and not an error of that number, which would have an SQL state.
#[cold]
pub(crate) fn is_progress(payload: &[u8]) -> bool {
    ErrPacket::decode(payload)
        .is_ok_and(|error| error.code == PROGRESS && error.sql_state.is_none())
}

/// The meaning of a packet with header 0xFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrReply<'a> {
    /// The command failed, and nothing follows.
    Error(ErrPacket<'a>),
    /// The command continues; another packet follows.
    Progress(ProgressReport<'a>),
}

/// ERR: a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The server's error number; 0 if the packet is too short to contain one.
    pub code: u16,
    /// Five letters and digits. `None` before the handshake is answered.
    pub sql_state: Option<[u8; 5]>,
    /// The message as received, which need not be UTF-8.
    pub message: &'a [u8],
}

/// The progress of a long statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressReport<'a> {
    /// The current stage, from 1.
    pub stage: u8,
    /// The number of stages.
    pub stages: u8,
    /// The progress of the stage, in thousandths of a percent.
    pub progress: u32,
    /// A description of the stage.
    pub info: &'a [u8],
}

impl<'a> ErrReply<'a> {
    /// Decodes a packet with header 0xFF; without `MARIADB_PROGRESS` it is always an error.
    ///
    /// # Errors
    /// Fails on another header, or a truncated progress report.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let error = ErrPacket::decode(payload)?;
        if capabilities.contains(Capabilities::MARIADB_PROGRESS) && is_progress(payload) {
            return ProgressReport::decode(payload).map(Self::Progress);
        }
        Ok(Self::Error(error))
    }
}

impl<'a> ErrPacket<'a> {
    /// Decodes the packet. A truncated packet still reports an error: its bytes become the message.
    ///
    /// # Errors
    /// Fails on another header.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(HEADER, "header")?;
        let Ok(code) = reader.u16("code") else {
            return Ok(Self {
                code: 0,
                sql_state: None,
                message: reader.rest(),
            });
        };
        let rest = reader.rest();
        match rest.split_first_chunk::<6>() {
            Some((&[b'#', ref sql_state @ ..], message)) if is_sql_state(sql_state) => Ok(Self {
                code,
                sql_state: Some(*sql_state),
                message,
            }),
            _ => Ok(Self {
                code,
                sql_state: None,
                message: rest,
            }),
        }
    }

    /// Returns the message as text, with replacement characters for bytes that are not UTF-8.
    pub fn message_lossy(&self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.message)
    }

    /// Encodes the packet; without SQL state for a client that has not answered the greeting.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(HEADER);
        out.put_u16(self.code);
        if let Some(sql_state) = &self.sql_state {
            out.put_u8(b'#');
            out.put(sql_state);
        }
        out.put(self.message);
    }
}

fn is_sql_state(bytes: &[u8; 5]) -> bool {
    bytes.iter().all(u8::is_ascii_alphanumeric)
}

impl fmt::Display for ErrPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server error {}", self.code)?;
        if let Some(sql_state) = &self.sql_state {
            write!(f, " ({})", String::from_utf8_lossy(sql_state))?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", OneLine(&self.message_lossy()))?;
        }
        Ok(())
    }
}

/// Displays a peer's text on one line of an error or a log: control characters, including line ends, are escaped.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.0.split_inclusive(char::is_control) {
            let plain = part.trim_end_matches(char::is_control);
            f.write_str(plain)?;
            for control in part.chars().skip(plain.chars().count()) {
                write!(f, "{}", control.escape_default())?;
            }
        }
        Ok(())
    }
}

impl<'a> ProgressReport<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another header or code, a truncated field, or trailing bytes.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("progress report", payload);
        reader.expect(HEADER, "header")?;
        for byte in PROGRESS.to_le_bytes() {
            reader.expect(byte, "code")?;
        }
        reader.u8("number of strings")?;
        let report = Self {
            stage: reader.u8("stage")?,
            stages: reader.u8("stages")?,
            progress: reader.u24("progress")?,
            info: reader.lenenc_bytes("info")?,
        };
        reader.finish()?;
        Ok(report)
    }

    /// Encodes the packet; `progress` is at most 0xFFFFFF.
    pub fn encode(&self, out: &mut impl Put) {
        out.put_u8(HEADER);
        out.put_u16(PROGRESS);
        out.put_u8(1);
        out.put_u8(self.stage);
        out.put_u8(self.stages);
        out.put_u24(self.progress);
        out.put_lenenc_bytes(self.info);
    }
}

#[cfg(test)]
mod tests;
