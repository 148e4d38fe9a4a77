//! The first packet of the response to COM_STMT_PREPARE.
//!
//! | bytes | field            | note                               |
//! |-------|------------------|------------------------------------|
//! | 1     | status           | always 0x00                        |
//! | 4     | statement id     | little-endian                      |
//! | 2     | columns          | 0 if the statement has no rows     |
//! | 2     | parameters       |                                    |
//! | 1     | filler           | 0x00                               |
//! | 2     | warnings         |                                    |
//! | 1     | metadata follows | with `OPTIONAL_RESULTSET_METADATA` |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>
//!
//! MariaDB reports 0 columns for `INSERT ... RETURNING`: use the count in the header of the execution.

use crate::capability::Capabilities;
use crate::codec::{DecodeError, Put, Reader};

const NAME: &str = "COM_STMT_PREPARE_OK";
/// The longest packet, with its last byte.
pub(crate) const LONGEST: usize = 13;

/// The response to a successful COM_STMT_PREPARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The id of the statement on this connection.
    pub statement_id: u32,
    /// The number of columns of its rows. For more than 65,535 columns servers send the lower 16 bits of the count.
    pub columns: u16,
    /// The number of parameters.
    pub parameters: u16,
    /// The number of warnings that `SHOW WARNINGS` would return.
    pub warnings: u16,
    /// Whether definitions of parameters and columns follow; `true` without `OPTIONAL_RESULTSET_METADATA`.
    pub metadata_follows: bool,
}

impl PrepareOk {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another status, a truncated field, or trailing bytes.
    pub fn decode(payload: &[u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(0x00, "status")?;
        let statement_id = reader.u32("statement id")?;
        let columns = reader.u16("columns")?;
        let parameters = reader.u16("parameters")?;
        reader.u8("filler")?;
        let warnings = reader.u16("warnings")?;
        let metadata_follows = !capabilities.contains(Capabilities::OPTIONAL_RESULTSET_METADATA)
            || reader.u8("metadata follows")? != 0;
        reader.finish()?;
        Ok(Self {
            statement_id,
            columns,
            parameters,
            warnings,
            metadata_follows,
        })
    }

    /// Encodes the packet.
    pub fn encode(&self, capabilities: Capabilities, out: &mut impl Put) {
        out.put_u8(0x00);
        out.put_u32(self.statement_id);
        out.put_u16(self.columns);
        out.put_u16(self.parameters);
        out.put_u8(0);
        out.put_u16(self.warnings);
        if capabilities.contains(Capabilities::OPTIONAL_RESULTSET_METADATA) {
            out.put_u8(u8::from(self.metadata_follows));
        }
    }
}

#[cfg(test)]
mod tests;
