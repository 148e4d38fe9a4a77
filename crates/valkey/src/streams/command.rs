//! The commands that have lists of IDs, or fields of a reply, as arguments.

use onecopy_resp_proto::Reply;

use super::entry_id::IdText;
use super::options::ConsumerOptions;
use crate::command::{Command, Flags};
use crate::request::Request;

/// XACK of some entries.
pub(super) struct Ack<'o> {
    pub(super) options: &'o ConsumerOptions,
    pub(super) ids: Vec<IdText>,
}

impl Command for Ack<'_> {
    type Output<'r> = i64;

    fn name(&self) -> &str {
        "XACK"
    }

    fn flags(&self) -> Flags {
        Flags::WRITE
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.count(3 + self.ids.len());
        request.token(b"$4\r\nXACK\r\n");
        request.borrowed(&self.options.key);
        request.borrowed(&self.options.group);
        for id in &self.ids {
            request.borrowed(id.as_bytes());
        }
    }
}

/// XADD of an entry that was delivered too often, to the stream that keeps these.
pub(super) struct Move<'o> {
    pub(super) options: &'o ConsumerOptions,
    pub(super) to: &'o [u8],
    pub(super) fields: Reply<'o>,
    pub(super) id: IdText,
    pub(super) deliveries: u64,
}

impl Command for Move<'_> {
    type Output<'r> = &'r [u8];

    fn name(&self) -> &str {
        "XADD"
    }

    fn flags(&self) -> Flags {
        Flags::WRITE
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.count(3 + 8 + self.fields.len() / 2 * 2);
        request.token(b"$4\r\nXADD\r\n");
        request.borrowed(self.to);
        request.token(b"$1\r\n*\r\n");
        for (field, value) in self.fields.pairs() {
            request.borrowed(field.bytes());
            request.borrowed(value.bytes());
        }
        request.token(b"$14\r\nonecopy-stream\r\n");
        request.borrowed(&self.options.key);
        request.token(b"$13\r\nonecopy-group\r\n");
        request.borrowed(&self.options.group);
        request.token(b"$10\r\nonecopy-id\r\n");
        request.borrowed(self.id.as_bytes());
        request.token(b"$18\r\nonecopy-deliveries\r\n");
        request.unsigned(self.deliveries);
    }
}
