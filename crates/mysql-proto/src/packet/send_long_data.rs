//! COM_STMT_SEND_LONG_DATA: appends to a parameter's value. The server sends no response.
//!
//! | bytes | field        | note              |
//! |-------|--------------|-------------------|
//! | 1     | command      | 0x18              |
//! | 4     | statement id | little-endian     |
//! | 2     | parameter    | its index, from 0 |
//! | rest  | data         |                   |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_send_long_data.html>

use super::command::CommandByte;
use crate::codec::{DecodeError, Put, Reader};

/// COM_STMT_SEND_LONG_DATA: appends to a parameter's value. The server sends no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLongData<'a> {
    /// The id of the statement on this connection.
    pub statement_id: u32,
    /// The parameter's index, from 0.
    pub parameter: u16,
    /// The next bytes of the value.
    pub data: &'a [u8],
}

impl<'a> SendLongData<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or a truncated field.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("COM_STMT_SEND_LONG_DATA", payload);
        reader.expect(CommandByte::STMT_SEND_LONG_DATA.0, "command")?;
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            parameter: reader.u16("parameter")?,
            data: reader.rest(),
        })
    }

    /// Encodes the part before the data, 7 bytes. The caller appends the data, from wherever they are.
    pub fn encode_header(statement_id: u32, parameter: u16, out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_SEND_LONG_DATA.0);
        out.put_u32(statement_id);
        out.put_u16(parameter);
    }

    /// Encodes the packet.
    pub fn encode(&self, out: &mut impl Put) {
        Self::encode_header(self.statement_id, self.parameter, out);
        out.put(self.data);
    }
}

#[cfg(test)]
mod tests;
