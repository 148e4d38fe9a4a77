//! COM_QUERY: runs a statement given as text.
//!
//! | bytes  | field               | note                                         |
//! |--------|---------------------|----------------------------------------------|
//! | 1      | command             | 0x03                                         |
//! | lenenc | attribute count     | with `QUERY_ATTRIBUTES`                      |
//! | lenenc | attribute set count | with `QUERY_ATTRIBUTES`, always 1            |
//! | n      | parameter block     | with attributes; always has names and types  |
//! | rest   | statement           | in the connection's character set            |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>

use super::command::CommandByte;
use super::parameters::{self, Parameters};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "COM_QUERY";

/// COM_QUERY: runs a statement given as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<'a> {
    /// The attributes, with `QUERY_ATTRIBUTES`; their `values` contain only the attributes.
    pub attributes: Parameters<'a>,
    /// The statement.
    pub sql: &'a [u8],
}

impl<'a> Query<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on another command, or on attributes that are truncated, are in more than one set, or have no types.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        reader.expect(CommandByte::QUERY.0, "command")?;
        if !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            return Ok(Self {
                sql: reader.rest(),
                ..Self::default()
            });
        }
        let start = reader.clone();
        let count = u16::try_from(reader.lenenc("attribute count")?)
            .map_err(|_| start.error("attribute count", DecodeErrorKind::BadValue))?;
        reader.expect(1, "attribute set count")?;
        if count == 0 {
            return Ok(Self {
                sql: reader.rest(),
                ..Self::default()
            });
        }
        let start = reader.clone();
        let mut attributes = Parameters::read(&mut reader, usize::from(count), true)?;
        if !attributes.has_types() {
            return Err(start.error("new params bound", DecodeErrorKind::BadValue));
        }
        let behind = attributes.values;
        let mut values = Reader::new(NAME, behind);
        for (index, (parameter_type, _)) in attributes.types().enumerate() {
            if !attributes.nulls.is_null(index) {
                parameters::read_value(&mut values, parameter_type.column_type())?;
            }
        }
        let (own, sql) = behind
            .split_at_checked(values.offset())
            .unwrap_or((behind, &[]));
        attributes.values = own;
        Ok(Self { attributes, sql })
    }

    /// Encodes the part before the statement, without attributes. The caller appends the statement's bytes, from wherever they
    /// are.
    pub fn encode_header(capabilities: Capabilities, out: &mut impl Put) {
        out.put_u8(CommandByte::QUERY.0);
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            out.put_lenenc(0);
            out.put_lenenc(1);
        }
    }

    /// Encodes the packet, without attributes.
    pub fn encode(sql: &[u8], capabilities: Capabilities, out: &mut impl Put) {
        Self::encode_header(capabilities, out);
        out.put(sql);
    }
}

#[cfg(test)]
mod tests;
