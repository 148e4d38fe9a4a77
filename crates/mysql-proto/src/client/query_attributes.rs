//! Query attributes: names and values that go with each statement, MySQL 8.0.23 and later.
//!
//! The capability changes COM_QUERY and COM_STMT_EXECUTE even where no attributes are set, so it is agreed on only if the caller asks
//! for it. The encoded forms are made when the attributes are set, and are copied into each command.

use super::ClientCore;
use crate::codec::Put;
use crate::{ColumnType, Error};

/// The name of the W3C's attribute that connects a statement to a trace.
const TRACE_PARENT: &str = "traceparent";

/// The attributes of a connection in their encoded forms.
#[derive(Debug, Default)]
pub(super) struct QueryAttributes {
    /// The caller's, without the trace.
    set: Vec<(String, String)>,
    trace_parent: String,
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
        let mut none = Self::default();
        none.encode();
        none
    }

    /// The trace goes behind the caller's, and takes the place of one of this name.
    fn encode(&mut self) {
        self.types.clear();
        self.values.clear();
        self.prefix.clear();
        let trace = (!self.trace_parent.is_empty()).then_some((TRACE_PARENT, &*self.trace_parent));
        let set = self.set.iter().map(|(name, value)| (&**name, &**value));
        let set = set.filter(|(name, _)| trace.is_none() || *name != TRACE_PARENT);
        self.count = 0;
        for (name, value) in set.chain(trace) {
            self.count += 1;
            self.types.put_u16(u16::from(ColumnType::STRING.0));
            self.types.put_lenenc_bytes(name.as_bytes());
            self.values.put_lenenc_bytes(value.as_bytes());
        }
        self.prefix.put_lenenc(u64::from(self.count));
        self.prefix.put_lenenc(1); // set of them
        if self.count > 0 {
            self.prefix.put_zeros(self.count().div_ceil(8)); // none is NULL
            self.prefix.put_u8(1); // types follow
            self.prefix.put(&self.types);
            self.prefix.put(&self.values);
        }
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
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        set.set = attributes.iter().map(owned).collect();
        set.encode();
        Ok(true)
    }

    /// Returns whether the server takes attributes, and was asked to.
    pub fn takes_query_attributes(&self) -> bool {
        self.attributes.is_some()
    }

    /// Sets the attribute `traceparent` of further statements, besides those that
    /// [`set_query_attributes`](Self::set_query_attributes) sets; an empty one ends that. One that is longer than 128 bytes is none.
    pub fn set_trace_parent(&mut self, trace_parent: &str) {
        const MAX_BYTES: usize = 128;
        let trace_parent = if trace_parent.len() > MAX_BYTES {
            ""
        } else {
            trace_parent
        };
        if let Some(set) = &mut self.attributes
            && set.trace_parent != trace_parent
        {
            set.trace_parent.clear();
            set.trace_parent.push_str(trace_parent);
            set.encode();
        }
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

    fn encoded(set: &[(&str, &str)], trace_parent: &str) -> QueryAttributes {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut encoded = QueryAttributes {
            set: set.iter().map(owned).collect(),
            trace_parent: trace_parent.to_owned(),
            ..QueryAttributes::default()
        };
        encoded.encode();
        encoded
    }

    #[test]
    fn a_trace_goes_behind_the_attributes_and_replaces_one_of_its_name() {
        for set in [
            &[("team", "shop"), ("traceparent", "old")][..],
            &[("team", "shop")],
        ] {
            let encoded = encoded(set, "00-ab-cd-01");
            let payload = [b"\x03", &encoded.prefix[..], b"SELECT 1"].concat();
            let query = Query::decode(&payload, Capabilities::QUERY_ATTRIBUTES).unwrap();
            assert_eq!(query.sql, b"SELECT 1");
            let names: Vec<_> = query.attributes.types().map(|(_, name)| name).collect();
            assert_eq!(names, [&b"team"[..], b"traceparent"]);
            assert_eq!(encoded.values, b"\x04shop\x0b00-ab-cd-01");
            assert_eq!(encoded.count(), 2);
        }
    }

    #[test]
    fn a_query_carries_its_attributes_and_its_statement() {
        let set = [("traceparent", "00-ab-cd-01"), ("empty", "")];
        for attributes in [&set[..], &[]] {
            let encoded = encoded(attributes, "");
            let payload = [b"\x03", &encoded.prefix[..], b"SELECT 1"].concat();
            let query = Query::decode(&payload, Capabilities::QUERY_ATTRIBUTES).unwrap();
            assert_eq!(query.sql, b"SELECT 1");
            let names: Vec<_> = query.attributes.types().map(|(_, name)| name).collect();
            let expected: Vec<_> = attributes.iter().map(|(name, _)| name.as_bytes()).collect();
            assert_eq!(names, expected);
        }
    }
}
