//! An entry for the caller.

use onecopy_resp_proto::Reply;

use super::EntryId;
use crate::command::{DecodeError, FromReply, Map};

/// An entry that a consumer was given. It is borrowed from the consumer until its next call; its [`id`](Self::id) is a copy.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Delivery<'c> {
    /// The ID, for `ack`.
    pub id: EntryId,
    /// How often the entry was delivered, this time included: 1 for a new one.
    pub deliveries: u64,
    fields: Reply<'c>,
    map: Map<'c, &'c [u8], &'c [u8]>,
}

impl<'c> Delivery<'c> {
    /// `None`: these are no fields.
    pub(crate) fn new(id: EntryId, deliveries: u64, fields: Reply<'c>) -> Option<Self> {
        let map = Map::from_reply(fields).ok()?;
        Some(Self {
            id,
            deliveries,
            fields,
            map,
        })
    }

    /// Returns the fields, in the order in which they were added.
    pub fn fields(&self) -> Map<'c, &'c [u8], &'c [u8]> {
        self.map
    }

    /// Returns the value of a field. Costs a comparison with each field before it.
    pub fn get(&self, field: impl AsRef<[u8]>) -> Option<&'c [u8]> {
        self.map.get(field)
    }

    /// Reads the fields as a type: one of a struct's own, or a tuple, a [`Map`], or a collection.
    ///
    /// # Errors
    /// Fails if the fields do not have this type. The entry stays pending until it is acknowledged.
    pub fn read<T: FromReply<'c>>(&self) -> Result<T, DecodeError> {
        T::from_reply(self.fields)
    }
}
