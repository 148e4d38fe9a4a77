//! COM_STMT_EXECUTE: run a prepared statement.
//!
//! | bytes  | field           | note                                                  |
//! |--------|-----------------|-------------------------------------------------------|
//! | 1      | command         | 0x17                                                  |
//! | 4      | statement id    | MariaDB takes 0xFFFFFFFF for the last one prepared    |
//! | 1      | flags           | the cursor's type; 0x08 where a parameter count comes |
//! | 4      | iteration count | always 1                                              |
//! | lenenc | parameter count | with `QUERY_ATTRIBUTES`                               |
//! | rest   | parameter block | see [`parameters`](super::parameters)                 |
//!
//! The last two are there only for a statement with parameters, or with attributes and flag 0x08.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>,
//! <https://mariadb.com/kb/en/com_stmt_execute/>

use super::command::CommandByte;
use super::parameters::{ParameterType, Parameters};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};
use crate::flag_set::flag_set;

const NAME: &str = "COM_STMT_EXECUTE";
/// The id by which MariaDB 10.2 runs the statement prepared last, so that both commands go out at once.
pub const LAST_PREPARED: u32 = u32::MAX;
const ITERATIONS: u32 = 1;

flag_set! {
    /// The flags of COM_STMT_EXECUTE; none of them for rows without a cursor.
    pub struct CursorType(u8);

    /// Rows stay with the server until they are fetched.
    const READ_ONLY = 1;
    /// Never implemented by a server.
    const FOR_UPDATE = 1 << 1;
    /// Never implemented by a server.
    const SCROLLABLE = 1 << 2;
    /// A parameter count comes even where the statement has no parameters; with `QUERY_ATTRIBUTES`.
    const PARAMETER_COUNT_AVAILABLE = 1 << 3;
}

/// Run a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's number on this connection.
    pub statement_id: u32,
    /// The cursor's type.
    pub cursor_type: CursorType,
    /// The parameters as they came; how many there are, only the statement knows.
    pub body: &'a [u8],
}

impl<'a> Execute<'a> {
    /// Reads the packet up to the parameters.
    ///
    /// # Errors
    /// Another command, a field cut short, an iteration count other than 1 (`BadValue`).
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(CommandByte::STMT_EXECUTE.0, "command")?;
        let statement_id = reader.u32("statement id")?;
        let cursor_type = CursorType(reader.u8("flags")?);
        let start = reader.clone();
        if reader.u32("iteration count")? != ITERATIONS {
            return Err(start.error("iteration count", DecodeErrorKind::BadValue));
        }
        Ok(Self {
            statement_id,
            cursor_type,
            body: reader.rest(),
        })
    }

    /// Reads the parameters of a statement that takes `count`. With `QUERY_ATTRIBUTES` there may be more: the rest are
    /// attributes.
    ///
    /// # Errors
    /// A field cut short (offsets count from the start of the body), fewer parameters than `count` (`BadValue`), bytes
    /// where none are due.
    pub fn parameters(
        &self,
        count: u16,
        capabilities: Capabilities,
    ) -> Result<Parameters<'a>, DecodeError> {
        let mut reader = Reader::new(NAME, self.body);
        let attributes = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let counted = attributes
            && self
                .cursor_type
                .contains(CursorType::PARAMETER_COUNT_AVAILABLE);
        let mut total = count;
        if attributes && (count > 0 || counted) {
            let start = reader.clone();
            total = u16::try_from(reader.lenenc("parameter count")?)
                .ok()
                .filter(|&total| total >= count)
                .ok_or_else(|| start.error("parameter count", DecodeErrorKind::BadValue))?;
        }
        if total == 0 {
            reader.finish()?;
            return Ok(Parameters::default());
        }
        Parameters::read(&mut reader, usize::from(total), attributes)
    }

    /// Writes what stands before the parameters, 10 bytes.
    pub fn encode_header(statement_id: u32, cursor_type: CursorType, out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_EXECUTE.0);
        out.put_u32(statement_id);
        out.put_u8(cursor_type.0);
        out.put_u32(ITERATIONS);
    }

    /// Writes the parameter count where the capabilities ask for one; the null bitmap follows.
    pub fn encode_parameter_count(count: u16, capabilities: Capabilities, out: &mut impl Put) {
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) && count > 0 {
            out.put_lenenc(u64::from(count));
        }
    }

    /// Writes the types, or the byte that says the last ones hold; the values follow.
    pub fn encode_types(
        types: Option<&[ParameterType]>,
        capabilities: Capabilities,
        out: &mut impl Put,
    ) {
        out.put_u8(u8::from(types.is_some()));
        for parameter_type in types.unwrap_or_default() {
            out.put_u16(parameter_type.0);
            if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                out.put_lenenc_bytes(b"");
            }
        }
    }
}

#[cfg(test)]
mod tests;
