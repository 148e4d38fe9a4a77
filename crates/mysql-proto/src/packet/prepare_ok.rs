//! COM_STMT_PREPARE response, first packet.
//!
//! | bytes | field            | note                               |
//! |-------|------------------|------------------------------------|
//! | 1     | status           | always 0x00                        |
//! | 4     | statement id     | little-endian                      |
//! | 2     | columns          | 0 where the statement has no rows  |
//! | 2     | parameters       |                                    |
//! | 1     | filler           | 0x00                               |
//! | 2     | warnings         |                                    |
//! | 1     | metadata follows | with `OPTIONAL_RESULTSET_METADATA` |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>
//!
//! MariaDB reports 0 columns for `INSERT ... RETURNING`: the execution's own header counts.

use crate::capability::Capabilities;
use crate::codec::{DecodeError, Put, Reader};

const NAME: &str = "COM_STMT_PREPARE_OK";
/// The longest packet, with its last byte.
pub(crate) const LONGEST: usize = 13;

/// A statement is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's number on this connection.
    pub statement_id: u32,
    /// How many columns its rows have. Servers give the count's lower 16 bits where there are more than 65,535.
    pub columns: u16,
    /// How many parameters it takes.
    pub parameters: u16,
    /// How many warnings `SHOW WARNINGS` would give.
    pub warnings: u16,
    /// Whether definitions of parameters and columns follow; `true` without `OPTIONAL_RESULTSET_METADATA`.
    pub metadata_follows: bool,
}

impl PrepareOk {
    /// Reads the packet.
    ///
    /// # Errors
    /// Another status, a field cut short, trailing bytes.
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

    /// Writes the packet.
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
