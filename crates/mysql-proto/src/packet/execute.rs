//! COM_STMT_EXECUTE: runs a prepared statement.
//!
//! | bytes  | field           | note                                                  |
//! |--------|-----------------|-------------------------------------------------------|
//! | 1      | command         | 0x17                                                  |
//! | 4      | statement id    | MariaDB: 0xFFFFFFFF is the last one prepared          |
//! | 1      | flags           | the cursor's type; 0x08 if a parameter count follows  |
//! | 4      | iteration count | always 1                                              |
//! | lenenc | parameter count | with `QUERY_ATTRIBUTES`                               |
//! | rest   | parameter block | see [`parameters`](super::parameters)                 |
//!
//! The last two are present only for a statement with parameters, or with attributes and flag 0x08.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>,
//! <https://mariadb.com/kb/en/com_stmt_execute/>

use super::command::CommandByte;
use super::parameters::{ParameterType, Parameters};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};
use crate::flag_set::flag_set;
use crate::value::Param;

const NAME: &str = "COM_STMT_EXECUTE";
/// The id with which MariaDB 10.2 and later execute the statement prepared last, so that both commands can be sent together.
pub const LAST_PREPARED: u32 = u32::MAX;
const ITERATIONS: u32 = 1;

flag_set! {
    /// The flags of COM_STMT_EXECUTE; empty for rows without a cursor.
    pub struct CursorType(u8);

    /// The rows stay on the server until they are fetched.
    const READ_ONLY = 1;
    /// Never implemented by a server.
    const FOR_UPDATE = 1 << 1;
    /// Never implemented by a server.
    const SCROLLABLE = 1 << 2;
    /// A parameter count is sent even if the statement has no parameters; with `QUERY_ATTRIBUTES`.
    const PARAMETER_COUNT_AVAILABLE = 1 << 3;
}

/// COM_STMT_EXECUTE: runs a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The id of the statement on this connection.
    pub statement_id: u32,
    /// The cursor's type.
    pub cursor_type: CursorType,
    /// The parameters as received; only the statement knows their number.
    pub body: &'a [u8],
}

impl<'a> Execute<'a> {
    /// Decodes the packet up to the parameters.
    ///
    /// # Errors
    /// Fails on another command, a truncated field, or an iteration count other than 1 (`BadValue`).
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

    /// Decodes the parameters of a statement that has `count` parameters. With `QUERY_ATTRIBUTES` there may be more: the rest are
    /// attributes.
    ///
    /// # Errors
    /// Fails on a truncated field (offsets count from the start of the body), fewer parameters than `count` (`BadValue`), or
    /// unexpected bytes.
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

    /// Encodes the part before the parameters, 10 bytes.
    pub fn encode_header(statement_id: u32, cursor_type: CursorType, out: &mut impl Put) {
        out.put_u8(CommandByte::STMT_EXECUTE.0);
        out.put_u32(statement_id);
        out.put_u8(cursor_type.0);
        out.put_u32(ITERATIONS);
    }

    /// Encodes the parameter count if the capabilities require one; the null bitmap follows.
    pub fn encode_parameter_count(count: u16, capabilities: Capabilities, out: &mut impl Put) {
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) && count > 0 {
            out.put_lenenc(u64::from(count));
        }
    }

    /// Encodes a value in binary. NULL and long data have no bytes here.
    #[inline]
    pub fn encode_value(param: &Param<'_>, out: &mut impl Put) {
        match *param {
            Param::Int(number) => out.put_array(number.to_le_bytes()),
            Param::UInt(number) => out.put_array(number.to_le_bytes()),
            Param::Double(number) => out.put_array(number.to_le_bytes()),
            _ => match param.as_bytes() {
                Some(bytes) => out.put_lenenc_bytes(bytes),
                None => encode_short(param, out),
            },
        }
    }

    /// Encodes the types, or the byte that says that the previous ones are still valid; the values follow.
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

/// A value that the parameter holds itself.
fn encode_short(param: &Param<'_>, out: &mut impl Put) {
    let mut fixed = [0; Param::MAX_FIXED_BYTES];
    let len = param.encode_fixed(&mut fixed);
    if len > 0 {
        return out.put(fixed.get(..len).unwrap_or_default());
    }
    let mut held = [0; Param::MAX_INLINE_BYTES];
    if let Some(bytes) = param.write_inline(&mut held) {
        out.put_lenenc_bytes(bytes);
    }
}

#[cfg(test)]
mod tests;
