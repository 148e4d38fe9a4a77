//! The parameter block of COM_STMT_EXECUTE, and of COM_QUERY if it has attributes.
//!
//! | bytes       | field            | note                                                    |
//! |-------------|------------------|---------------------------------------------------------|
//! | (n + 7) / 8 | null bitmap      | bit i % 8 of byte i / 8 is parameter i                  |
//! | 1           | new params bound | 0x01 if the types follow                                |
//! | 2           | type             | of each: its number, then 0x80 for unsigned             |
//! | lenenc      | name             | of each, after its type, with `QUERY_ATTRIBUTES`        |
//! | rest        | values           | of each that is neither NULL nor sent by SEND_LONG_DATA |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>

use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "COM_STMT_EXECUTE";
const UNSIGNED: u16 = 0x8000;

/// The type of a parameter as it is sent: the number of the type, and whether it is unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType(pub u16);

impl ParameterType {
    /// Creates it from the number of the type.
    pub const fn new(column_type: u8, unsigned: bool) -> Self {
        Self(u16::from_le_bytes([
            column_type,
            if unsigned { 0x80 } else { 0 },
        ]))
    }

    /// Returns the number of the type.
    pub const fn column_type(self) -> u8 {
        let [column_type, _] = self.0.to_le_bytes();
        column_type
    }

    /// Returns whether an integer is unsigned.
    pub const fn is_unsigned(self) -> bool {
        self.0 & UNSIGNED != 0
    }
}

/// A bitmap with one bit for each parameter, set if it is NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NullBitmap<'a>(&'a [u8]);

impl NullBitmap<'_> {
    /// Returns the number of bytes in the bitmap of `count` parameters.
    pub const fn bytes_for(count: usize) -> usize {
        count.div_ceil(8)
    }

    /// Returns whether the parameter at `index` is NULL; true beyond the last one.
    pub fn is_null(&self, index: usize) -> bool {
        self.0
            .get(index / 8)
            .is_none_or(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Encodes the bitmap of the parameters in `is_null`.
    pub fn encode(is_null: impl IntoIterator<Item = bool>, out: &mut impl Put) {
        let mut byte = 0_u8;
        let mut bit = 0_u32;
        for null in is_null {
            byte |= u8::from(null) << bit;
            bit += 1;
            if bit == 8 {
                out.put_u8(byte);
                (byte, bit) = (0, 0);
            }
        }
        if bit > 0 {
            out.put_u8(byte);
        }
    }
}

/// The parameter block, with its values not decoded yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters<'a> {
    /// The number of parameters.
    pub count: usize,
    /// Which of them are NULL.
    pub nulls: NullBitmap<'a>,
    /// Their types in the encoded form; `None` where the last execution's hold.
    types: Option<&'a [u8]>,
    named: bool,
    /// The values, one after another; decode them with [`read_value`].
    pub values: &'a [u8],
}

impl<'a> Parameters<'a> {
    /// Reads the block of `count` parameters, to the end of the payload.
    ///
    /// # Errors
    /// Fails on a truncated null bitmap, type or name.
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        count: usize,
        named: bool,
    ) -> Result<Self, DecodeError> {
        let nulls = NullBitmap(reader.take(NullBitmap::bytes_for(count), "null bitmap")?);
        let start = reader.clone();
        let types = match reader.u8("new params bound")? {
            0 => None,
            1 => {
                let all = reader.peek();
                let before = reader.remaining();
                for _ in 0..count {
                    read_type(reader, named)?;
                }
                all.get(..before - reader.remaining())
            }
            _ => return Err(start.error("new params bound", DecodeErrorKind::BadValue)),
        };
        Ok(Self {
            count,
            nulls,
            types,
            named,
            values: reader.rest(),
        })
    }

    /// Returns whether types were sent with this execution; if not, those of the previous one are still valid.
    pub fn has_types(&self) -> bool {
        self.types.is_some()
    }

    /// Returns an iterator over type and name of each parameter; the name is empty without `QUERY_ATTRIBUTES`.
    pub fn types(&self) -> impl Iterator<Item = (ParameterType, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(NAME, self.types.unwrap_or_default());
        let named = self.named;
        core::iter::from_fn(move || read_type(&mut reader, named).ok())
    }
}

fn read_type<'a>(
    reader: &mut Reader<'a>,
    named: bool,
) -> Result<(ParameterType, &'a [u8]), DecodeError> {
    let parameter_type = ParameterType(reader.u16("type")?);
    let name = if named {
        reader.lenenc_bytes("name")?
    } else {
        &[]
    };
    Ok((parameter_type, name))
}

/// Reads a value in its binary form: the bytes of a number; a date or time without its length byte; any other type without its
/// length.
///
/// # Errors
/// Fails on a truncated value, or on a date or time of a length that its type does not have (`BadLength`).
pub fn read_value<'a>(reader: &mut Reader<'a>, column_type: u8) -> Result<&'a [u8], DecodeError> {
    let start = reader.clone();
    match column_type {
        // TINY
        0x01 => reader.take(1, "value"),
        // SHORT, YEAR
        0x02 | 0x0D => reader.take(2, "value"),
        // LONG, FLOAT, INT24
        0x03 | 0x04 | 0x09 => reader.take(4, "value"),
        // DOUBLE, LONGLONG
        0x05 | 0x08 => reader.take(8, "value"),
        // NULL
        0x06 => Ok(&[]),
        // TIMESTAMP, DATE, DATETIME
        0x07 | 0x0A | 0x0C => match reader.u8("value")? {
            length @ (0 | 4 | 7 | 11) => reader.take(usize::from(length), "value"),
            _ => Err(start.error("value", DecodeErrorKind::BadLength)),
        },
        // TIME
        0x0B => match reader.u8("value")? {
            length @ (0 | 8 | 12) => reader.take(usize::from(length), "value"),
            _ => Err(start.error("value", DecodeErrorKind::BadLength)),
        },
        _ => reader.lenenc_bytes("value"),
    }
}

#[cfg(test)]
mod tests;
