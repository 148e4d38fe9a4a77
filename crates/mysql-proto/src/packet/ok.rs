//! OK: a command is done. With header 0xFE and `DEPRECATE_EOF` it ends a result's rows.
//!
//! | bytes  | field          | note                                                                |
//! |--------|----------------|---------------------------------------------------------------------|
//! | 1      | header         | 0x00, or 0xFE after rows                                            |
//! | lenenc | affected rows  |                                                                     |
//! | lenenc | last insert id |                                                                     |
//! | 2      | status flags   |                                                                     |
//! | 2      | warnings       |                                                                     |
//! | lenenc | info           | may be missing; without `SESSION_TRACK` it may be plain text        |
//! | lenenc | session state  | with `SESSION_TRACK`, if the status has `SESSION_STATE_CHANGED`     |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html>,
//! <https://mariadb.com/kb/en/ok_packet/>
//!
//! According to MySQL's page, the info extends to the end without `SESSION_TRACK`; MySQL and MariaDB both send a length before
//! it.

use super::session_track::SessionTrack;
use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};
use crate::status::StatusFlags;

const NAME: &str = "OK";
/// The first byte of the ordinary form.
pub const HEADER: u8 = 0x00;
/// The most bytes that header and numbers take: two lengths of nine, status flags, warnings.
pub(crate) const NUMBERS_BYTES: usize = 1 + 9 + 9 + 2 + 2;
/// The fewest, and so the shortest OK packet.
pub(crate) const SHORTEST: usize = 1 + 1 + 1 + 2 + 2;

/// The two possible first bytes of an OK packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OkHeader {
    /// 0x00: a command is done and has no rows.
    #[default]
    Ok,
    /// 0xFE: ends the rows.
    Eof,
}

impl OkHeader {
    const fn byte(self) -> u8 {
        match self {
            Self::Ok => HEADER,
            Self::Eof => super::eof::HEADER,
        }
    }
}

/// OK: a command is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// The rows that the statement changed, or found with `FOUND_ROWS`.
    pub affected_rows: u64,
    /// The first generated `AUTO_INCREMENT` value, or 0.
    pub last_insert_id: u64,
    /// The server's status.
    pub status_flags: StatusFlags,
    /// The number of warnings that `SHOW WARNINGS` would return.
    pub warnings: u16,
    /// Human-readable text, such as `Records: 2  Duplicates: 0  Warnings: 0`.
    pub info: &'a [u8],
    /// The session state changes; empty without `SESSION_TRACK`.
    pub session_track: SessionTrack<'a>,
}

impl<'a> OkPacket<'a> {
    /// Decodes either form; the caller knows from the conversation which one is allowed.
    ///
    /// # Errors
    /// Fails on another header, a truncated field, or trailing bytes. Of the session state changes only the total length is
    /// checked; each change is checked when it is read.
    #[inline]
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        // Numbers of one byte and no text: what nearly every statement ends with.
        if let [
            HEADER | super::eof::HEADER,
            affected_rows @ 0..=0xFA,
            last_insert_id @ 0..=0xFA,
            s0,
            s1,
            w0,
            w1,
        ] = *payload
        {
            return Ok(Self {
                affected_rows: affected_rows.into(),
                last_insert_id: last_insert_id.into(),
                status_flags: StatusFlags(u16::from_le_bytes([s0, s1])),
                warnings: u16::from_le_bytes([w0, w1]),
                ..Self::default()
            });
        }
        Self::decode_any(payload, capabilities)
    }

    fn decode_any(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let mut ok = Self::read_numbers(&mut reader)?;
        if !capabilities.contains(Capabilities::SESSION_TRACK) {
            ok.info = plain_info(&mut reader);
            return Ok(ok);
        }
        if reader.remaining() > 0 {
            ok.info = reader.lenenc_bytes("info")?;
        }
        let changed = ok.status_flags.contains(StatusFlags::SESSION_STATE_CHANGED);
        // MariaDB sets the flag on packets that carry no state too.
        if changed && reader.remaining() > 0 {
            ok.session_track = SessionTrack::read(&mut reader)?;
        }
        reader.finish()?;
        Ok(ok)
    }

    /// Reads what stands before the texts; [`NUMBERS_BYTES`] bytes of a payload are enough, or all where it has fewer.
    pub(crate) fn decode_numbers(prefix: &[u8]) -> Result<Self, DecodeError> {
        Self::read_numbers(&mut Reader::new(NAME, prefix))
    }

    fn read_numbers(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = reader.clone();
        if !matches!(reader.u8("header")?, HEADER | super::eof::HEADER) {
            return Err(start.error("header", DecodeErrorKind::BadValue));
        }
        Ok(Self {
            affected_rows: reader.lenenc("affected rows")?,
            last_insert_id: reader.lenenc("last insert id")?,
            status_flags: StatusFlags(reader.u16("status flags")?),
            warnings: reader.u16("warnings")?,
            ..Self::default()
        })
    }

    /// Encodes the packet. The status has `SESSION_STATE_CHANGED` exactly if changes are written.
    pub fn encode(&self, header: OkHeader, capabilities: Capabilities, out: &mut impl Put) {
        let tracks =
            capabilities.contains(Capabilities::SESSION_TRACK) && !self.session_track.is_empty();
        let mut status_flags = self
            .status_flags
            .difference(StatusFlags::SESSION_STATE_CHANGED);
        if tracks {
            status_flags |= StatusFlags::SESSION_STATE_CHANGED;
        }
        out.put_u8(header.byte());
        out.put_lenenc(self.affected_rows);
        out.put_lenenc(self.last_insert_id);
        out.put_u16(status_flags.0);
        out.put_u16(self.warnings);
        if tracks || !self.info.is_empty() {
            out.put_lenenc_bytes(self.info);
        }
        if tracks {
            self.session_track.write(out);
        }
    }
}

/// The info without `SESSION_TRACK`: behind its length where that fits, else all that is left.
fn plain_info<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    let all = reader.rest();
    let mut inner = Reader::new(NAME, all);
    match inner.lenenc_bytes("info") {
        Ok(info) if inner.remaining() == 0 => info,
        _ => all,
    }
}

#[cfg(test)]
mod tests;
