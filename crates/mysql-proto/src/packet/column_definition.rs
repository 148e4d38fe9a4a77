//! ColumnDefinition41: a column of a result, or a parameter of a prepared statement.
//!
//! | bytes  | field             | note                                            |
//! |--------|-------------------|-------------------------------------------------|
//! | lenenc | catalog           | `def`                                           |
//! | lenenc | schema            |                                                 |
//! | lenenc | table             | the alias                                       |
//! | lenenc | original table    |                                                 |
//! | lenenc | name              | the alias                                       |
//! | lenenc | original name     |                                                 |
//! | lenenc | extended metadata | MariaDB, with `MARIADB_EXTENDED_METADATA`       |
//! | lenenc | length            | of what follows, always 0x0C                    |
//! | 2      | collation         |                                                 |
//! | 4      | column length     | in bytes                                        |
//! | 1      | type              |                                                 |
//! | 2      | flags             |                                                 |
//! | 1      | decimals          | 0x1F for a float without a fixed number of them |
//! | 2      | filler            |                                                 |
//!
//! Extended metadata is a sequence of chunks: 1 byte of kind (0x00 type name, 0x01 format), then a lenenc value.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html>,
//! <https://mariadb.com/kb/en/resultset/#column-definition-packet>

use crate::capability::Capabilities;
use crate::codec::{DecodeError, DecodeErrorKind, Put, Reader};

const NAME: &str = "ColumnDefinition41";
/// How many bytes follow the names.
const FIXED_BYTES: u64 = 0x0C;

/// A column of a result, or a parameter of a prepared statement. Names are bytes in the connection's character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// Always `def`.
    pub catalog: &'a [u8],
    /// The database; empty for an expression.
    pub schema: &'a [u8],
    /// The table's alias.
    pub table: &'a [u8],
    /// The original name of the table.
    pub org_table: &'a [u8],
    /// The column's alias.
    pub name: &'a [u8],
    /// The original name of the column.
    pub org_name: &'a [u8],
    /// MariaDB's name or format of the type; empty if the server sends none, or if the capability was not agreed on.
    pub extended: ExtendedMetadata<'a>,
    /// The collation of the values; 63 is binary.
    pub collation: u16,
    /// The maximum length of a value, in bytes.
    pub column_length: u32,
    /// The number of the type; an unknown one is not an error.
    pub column_type: u8,
    /// The column's flags.
    pub flags: u16,
    /// The digits after the decimal point.
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// Decodes the packet.
    ///
    /// # Errors
    /// Fails on a truncated field, a fixed part that is not 12 bytes long, or trailing bytes.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(NAME, payload);
        let mut column = Self {
            catalog: reader.lenenc_bytes("catalog")?,
            schema: reader.lenenc_bytes("schema")?,
            table: reader.lenenc_bytes("table")?,
            org_table: reader.lenenc_bytes("original table")?,
            name: reader.lenenc_bytes("name")?,
            org_name: reader.lenenc_bytes("original name")?,
            ..Self::default()
        };
        if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            column.extended = ExtendedMetadata(reader.lenenc_bytes("extended metadata")?);
        }
        let start = reader.clone();
        if reader.lenenc("length of the fixed part")? != FIXED_BYTES {
            return Err(start.error("length of the fixed part", DecodeErrorKind::BadLength));
        }
        column.collation = reader.u16("collation")?;
        column.column_length = reader.u32("column length")?;
        column.column_type = reader.u8("type")?;
        column.flags = reader.u16("flags")?;
        column.decimals = reader.u8("decimals")?;
        reader.take(2, "filler")?;
        reader.finish()?;
        Ok(column)
    }

    /// Encodes the packet.
    pub fn encode(&self, capabilities: Capabilities, out: &mut impl Put) {
        for name in [
            self.catalog,
            self.schema,
            self.table,
            self.org_table,
            self.name,
            self.org_name,
        ] {
            out.put_lenenc_bytes(name);
        }
        if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            out.put_lenenc_bytes(self.extended.0);
        }
        out.put_lenenc(FIXED_BYTES);
        out.put_u16(self.collation);
        out.put_u32(self.column_length);
        out.put_u8(self.column_type);
        out.put_u16(self.flags);
        out.put_u8(self.decimals);
        out.put_zeros(2);
    }
}

/// MariaDB's additional information about a column's type, in its encoded form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtendedMetadata<'a>(&'a [u8]);

/// The kind of a chunk of extended metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendedMetadataKind {
    /// The name of the type, such as `uuid`, `inet6` or `point`.
    TypeName,
    /// The format of a text, such as `json`.
    Format,
    /// A kind that is not known here.
    Unknown(u8),
}

impl<'a> ExtendedMetadata<'a> {
    /// Creates metadata from bytes that [`push`](Self::push) wrote.
    pub const fn from_encoded(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Appends one chunk to `out`.
    pub fn push(out: &mut impl Put, kind: ExtendedMetadataKind, value: &[u8]) {
        out.put_u8(match kind {
            ExtendedMetadataKind::TypeName => 0x00,
            ExtendedMetadataKind::Format => 0x01,
            ExtendedMetadataKind::Unknown(kind) => kind,
        });
        out.put_lenenc_bytes(value);
    }

    /// Returns the encoded form.
    pub fn as_encoded(&self) -> &'a [u8] {
        self.0
    }

    /// Returns the first well-formed chunk of a kind. Anything after a malformed chunk is ignored.
    pub fn find(&self, kind: ExtendedMetadataKind) -> Option<&'a [u8]> {
        let mut reader = Reader::new(NAME, self.0);
        loop {
            let (found, value) = read_chunk(&mut reader).ok()?;
            if found == kind {
                return Some(value);
            }
        }
    }
}

fn read_chunk<'a>(
    reader: &mut Reader<'a>,
) -> Result<(ExtendedMetadataKind, &'a [u8]), DecodeError> {
    let kind = match reader.u8("extended metadata")? {
        0x00 => ExtendedMetadataKind::TypeName,
        0x01 => ExtendedMetadataKind::Format,
        kind => ExtendedMetadataKind::Unknown(kind),
    };
    Ok((kind, reader.lenenc_bytes("extended metadata")?))
}

#[cfg(test)]
mod tests;
