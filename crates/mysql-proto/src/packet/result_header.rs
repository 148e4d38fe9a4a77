//! The first packet of the response to COM_QUERY and COM_STMT_EXECUTE.
//!
//! | first byte | packet                                                             |
//! |------------|--------------------------------------------------------------------|
//! | 0x00       | OK: no rows                                                        |
//! | 0xFF       | ERR                                                                |
//! | 0xFB       | LOCAL INFILE request: the rest is the file's name                  |
//! | any other  | column count, lenenc; with `MARIADB_CACHE_METADATA` or             |
//! |            | `OPTIONAL_RESULTSET_METADATA` one more byte, 0x01 if column        |
//! |            | definitions follow and 0x00 if not                                 |
//!
//! According to MySQL's page the byte of `OPTIONAL_RESULTSET_METADATA` is before the count, where 0x00 could not be told from OK.
//! MySQL's server sends it after the count, and its client library expects it there. Our client never requests it.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response.html>,
//! <https://mariadb.com/kb/en/result-set-packets/#column-count-packet>

use super::err::{self, ErrReply};
use super::ok::{self, OkPacket};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "result header";
/// The first byte of a request for a file.
pub(crate) const LOCAL_INFILE: u8 = 0xFB;
/// The most bytes that a header with a column count takes.
pub(crate) const LONGEST_COUNT: usize = 9 + 1;
/// With either, a byte behind the count says whether column definitions follow.
pub(crate) const TELLS_METADATA: Capabilities =
    Capabilities::MARIADB_CACHE_METADATA.union(Capabilities::OPTIONAL_RESULTSET_METADATA);

/// The start of the response to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultHeader<'a> {
    /// The statement is done and has no rows.
    Ok(OkPacket<'a>),
    /// The statement failed, or is still running.
    Err(ErrReply<'a>),
    /// The server requests the contents of a file. The server chooses the name, so it may be any file.
    LocalInfile {
        /// The name of the file, as the server sent it.
        file_name: &'a [u8],
    },
    /// Rows follow.
    Columns {
        /// The number of columns of each row: at least 1. Servers limit tables to 4,096 columns, but not results: MariaDB 10.11
        /// and MySQL 9.7 send 70,000.
        count: u32,
        /// Whether column definitions are sent first; always true without `MARIADB_CACHE_METADATA` and
        /// `OPTIONAL_RESULTSET_METADATA`.
        metadata_follows: bool,
    },
}

impl<'a> ResultHeader<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on an empty payload, a malformed OK or progress report, a column count of 0 or over `u32::MAX` (`BadValue`),
    /// trailing bytes.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        match payload {
            [ok::HEADER, ..] => OkPacket::decode(payload, capabilities).map(Self::Ok),
            [err::HEADER, ..] => ErrReply::decode(payload, capabilities).map(Self::Err),
            [LOCAL_INFILE, file_name @ ..] => Ok(Self::LocalInfile { file_name }),
            _ => Self::decode_count(payload, capabilities),
        }
    }

    fn decode_count(payload: &[u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let start = reader.clone();
        let count = u32::try_from(reader.lenenc("column count")?)
            .ok()
            .filter(|&count| count > 0)
            .ok_or_else(|| start.error("column count", DecodeErrorKind::BadValue))?;
        let metadata_follows = if capabilities.intersects(TELLS_METADATA) {
            let start = reader.clone();
            match reader.u8("metadata follows")? {
                0 => false,
                1 => true,
                _ => return Err(start.error("metadata follows", DecodeErrorKind::BadValue)),
            }
        } else {
            true
        };
        reader.finish()?;
        Ok(Self::Columns {
            count,
            metadata_follows,
        })
    }

    /// Encodes the header of a result with rows.
    pub fn encode_columns(
        count: u32,
        metadata_follows: bool,
        capabilities: Capabilities,
        out: &mut impl Put,
    ) {
        out.put_lenenc(u64::from(count));
        if capabilities.intersects(TELLS_METADATA) {
            out.put_u8(u8::from(metadata_follows));
        }
    }

    /// Encodes the request for a file.
    pub fn encode_local_infile(file_name: &[u8], out: &mut impl Put) {
        out.put_u8(LOCAL_INFILE);
        out.put(file_name);
    }
}

#[cfg(test)]
mod tests;
