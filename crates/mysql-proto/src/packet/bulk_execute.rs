//! COM_STMT_BULK_EXECUTE: runs a prepared statement for many rows (MariaDB 10.2 and later).
//!
//! | bytes | field        | note                                                         |
//! |-------|--------------|--------------------------------------------------------------|
//! | 1     | command      | 0xFA                                                         |
//! | 4     | statement id | MariaDB: 0xFFFFFFFF is the last one prepared                 |
//! | 2     | flags        | 0x40: return generated ids; 0x80: the types follow           |
//! | 2     | type         | of each parameter, with 0x80: its number, 0x80 for unsigned  |
//! | rest  | rows         | each value: its indicator, then with 0x00 the value in binary |
//!
//! The rows have no count: they continue to the end of the payload. There is no null bitmap. A statement without parameters has no
//! rows and cannot be executed in this way.
//!
//! <https://mariadb.com/kb/en/com_stmt_bulk_execute/>

use super::command::CommandByte;
use super::parameters::{ParameterType, read_value};
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};
use crate::flag_set::flag_set;
use crate::value::Param;

const NAME: &str = "COM_STMT_BULK_EXECUTE";

flag_set! {
    /// The flags of COM_STMT_BULK_EXECUTE.
    pub struct BulkFlags(u16);

    /// Returns the generated ids of all rows; no released server does so.
    const SEND_UNIT_RESULTS = 1 << 6;
    /// The types of the parameters follow.
    const SEND_TYPES_TO_SERVER = 1 << 7;
}

/// What stands for a value of a row, in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Indicator {
    /// A value follows.
    None = 0,
    /// NULL.
    Null = 1,
    /// The column's default.
    Default = 2,
    /// The column is left as it is by an update, or gets its default in an insert.
    Ignore = 3,
}

impl Indicator {
    /// Returns what stands for a parameter.
    #[inline]
    pub const fn of(param: &Param<'_>) -> Self {
        match param {
            Param::Null => Self::Null,
            Param::Default => Self::Default,
            Param::Ignore => Self::Ignore,
            _ => Self::None,
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = reader.clone();
        match reader.u8("indicator")? {
            0 => Ok(Self::None),
            1 => Ok(Self::Null),
            2 => Ok(Self::Default),
            3 => Ok(Self::Ignore),
            _ => Err(start.error("indicator", DecodeErrorKind::BadValue)),
        }
    }
}

/// COM_STMT_BULK_EXECUTE: runs a prepared statement for many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    /// The id of the statement on this connection.
    pub statement_id: u32,
    /// The flags.
    pub flags: BulkFlags,
    /// Types and rows as received; only the statement knows the number of its parameters.
    pub body: &'a [u8],
}

/// A value of a row: its indicator, and its bytes in binary.
pub type BulkValue<'a> = (Indicator, &'a [u8]);

impl<'a> BulkExecute<'a> {
    /// Decodes the packet up to the types.
    ///
    /// # Errors
    /// Fails on another command, or a truncated field.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(CommandByte::STMT_BULK_EXECUTE.0, "command")?;
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            flags: BulkFlags(reader.u16("flags")?),
            body: reader.rest(),
        })
    }

    /// Decodes the values of all rows one after the other, for a statement with these types; `types` is filled if the packet has
    /// them.
    ///
    /// # Errors
    /// Fails on a truncated field, an unknown indicator (`BadValue`), or a row that is cut short (`Truncated`); offsets count from
    /// the start of the body.
    pub fn values(&self, types: &mut [ParameterType]) -> Result<Vec<BulkValue<'a>>, DecodeError> {
        let mut reader = Reader::new(NAME, self.body);
        if self.flags.contains(BulkFlags::SEND_TYPES_TO_SERVER) {
            for place in &mut *types {
                *place = ParameterType(reader.u16("type")?);
            }
        }
        let mut values = Vec::new();
        while reader.remaining() > 0 && !types.is_empty() {
            for ty in &*types {
                let indicator = Indicator::decode(&mut reader)?;
                let value = match indicator {
                    Indicator::None => read_value(&mut reader, ty.column_type())?,
                    _ => &[],
                };
                values.push((indicator, value));
            }
        }
        Ok(values)
    }

    /// Encodes the part before the rows. The caller appends them, each value with [`encode_value`](Self::encode_value).
    pub fn encode_header(statement_id: u32, types: &[ParameterType], out: &mut impl Put) {
        let [a, b, c, d] = statement_id.to_le_bytes();
        let [e, f] = BulkFlags::SEND_TYPES_TO_SERVER.0.to_le_bytes();
        out.put_array([CommandByte::STMT_BULK_EXECUTE.0, a, b, c, d, e, f]);
        for ty in types {
            out.put_u16(ty.0);
        }
    }

    /// Returns the number of bytes that [`encode_header`](Self::encode_header) writes.
    pub const fn header_bytes(types: usize) -> usize {
        7 + 2 * types
    }

    /// Encodes a value of a row: its indicator, and the value in binary. Long data has no form here.
    #[inline]
    pub fn encode_value(param: &Param<'_>, out: &mut impl Put) {
        const VALUE: u8 = Indicator::None as u8;
        match *param {
            Param::Int(number) => {
                let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
                out.put_array([VALUE, a, b, c, d, e, f, g, h]);
            }
            Param::UInt(number) => {
                let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
                out.put_array([VALUE, a, b, c, d, e, f, g, h]);
            }
            _ => match (Indicator::of(param), param.as_bytes()) {
                (Indicator::None, Some(bytes)) => {
                    out.put_u8(VALUE);
                    out.put_lenenc_bytes(bytes);
                }
                (Indicator::None, None) => {
                    let mut fixed = [0; Param::MAX_FIXED_BYTES];
                    let len = param.encode_fixed(&mut fixed);
                    out.put_u8(VALUE);
                    let mut held = [0; Param::MAX_INLINE_BYTES];
                    if len == 0
                        && let Some(bytes) = param.write_inline(&mut held)
                    {
                        out.put_lenenc_bytes(bytes);
                    }
                    out.put(fixed.get(..len).unwrap_or_default());
                }
                (indicator, _) => out.put_u8(indicator as u8),
            },
        }
    }
}

#[cfg(test)]
mod tests;
