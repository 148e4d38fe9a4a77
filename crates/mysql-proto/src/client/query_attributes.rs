//! Query attributes: names and values that go with each statement, MySQL 8.0.23 and later.
//!
//! The capability changes COM_QUERY and COM_STMT_EXECUTE even where no attributes are set, so it is agreed on only if the caller asks
//! for it. The encoded forms are made when the attributes are set, and are copied into each command.

use super::ClientCore;
use crate::codec::Put;
use crate::{ColumnType, Error};

/// The attributes of a connection in their encoded forms.
#[derive(Debug, Default)]
pub(super) struct QueryAttributes {
    count: u16,
    /// Behind the command byte of COM_QUERY.
    pub(super) prefix: Vec<u8>,
    /// Types and names, and values, for COM_STMT_EXECUTE.
    pub(super) types: Vec<u8>,
    pub(super) values: Vec<u8>,
}

impl QueryAttributes {
    /// What a connection without attributes sends.
    pub(super) fn none() -> Self {
        Self::new(&[])
    }

    fn new(attributes: &[(&str, &str)]) -> Self {
        let mut encoded = Self {
            count: u16::try_from(attributes.len()).unwrap_or(u16::MAX),
            ..Self::default()
        };
        for (name, value) in attributes {
            encoded.types.put_u16(u16::from(ColumnType::STRING.0));
            encoded.types.put_lenenc_bytes(name.as_bytes());
            encoded.values.put_lenenc_bytes(value.as_bytes());
        }
        encoded.prefix.put_lenenc(u64::from(encoded.count));
        encoded.prefix.put_lenenc(1); // set of them
        if encoded.count > 0 {
            encoded.prefix.put_zeros(attributes.len().div_ceil(8)); // none is NULL
            encoded.prefix.put_u8(1); // types follow
            encoded.prefix.put(&encoded.types);
            encoded.prefix.put(&encoded.values);
        }
        encoded
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.count)
    }
}

impl ClientCore {
    /// Sets the attributes that go with all further statements; none ends that. Returns whether the server takes attributes: they
    /// were asked for with [`HandshakeConfig::query_attributes`](super::HandshakeConfig::query_attributes), and it knows them.
    ///
    /// # Errors
    /// Fails with `TooManyAttributes` on more than 64 attributes, or more than 64 KiB of names and values.
    pub fn set_query_attributes(&mut self, attributes: &[(&str, &str)]) -> Result<bool, Error> {
        const MAX: usize = 64;
        const MAX_BYTES: usize = 64 << 10;
        let bytes = attributes
            .iter()
            .map(|(name, value)| name.len() + value.len());
        if attributes.len() > MAX || bytes.sum::<usize>() > MAX_BYTES {
            return Err(Error::TooManyAttributes);
        }
        let Some(set) = &mut self.attributes else {
            return Ok(false);
        };
        **set = QueryAttributes::new(attributes);
        Ok(true)
    }

    /// What stands between the command byte of COM_QUERY and the statement.
    #[inline]
    pub(super) fn query_prefix(&self) -> &[u8] {
        match &self.attributes {
            None => &[],
            Some(attributes) => &attributes.prefix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;
    use crate::packet::Query;

    #[test]
    fn a_query_carries_its_attributes_and_its_statement() {
        let set = [("traceparent", "00-ab-cd-01"), ("empty", "")];
        for attributes in [&set[..], &[]] {
            let encoded = QueryAttributes::new(attributes);
            let payload = [b"\x03", &encoded.prefix[..], b"SELECT 1"].concat();
            let query = Query::decode(&payload, Capabilities::QUERY_ATTRIBUTES).unwrap();
            assert_eq!(query.sql, b"SELECT 1");
            let names: Vec<_> = query.attributes.types().map(|(_, name)| name).collect();
            let expected: Vec<_> = attributes.iter().map(|(name, _)| name.as_bytes()).collect();
            assert_eq!(names, expected);
        }
    }
}
