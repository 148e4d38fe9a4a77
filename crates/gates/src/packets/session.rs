//! A client's core in the middle of a conversation.

use std::hint::black_box;
use std::io::IoSlice;

use onecopy_mysql_proto::client::{ClientCore, Limits, Params, Reply, Session, StatementId};
use onecopy_mysql_proto::packet::{ColumnDefinition, PrepareOk};
use onecopy_mysql_proto::{Capabilities, ColumnType, ServerVersion};
use onecopy_wire::{Borrowed, Buffers, Core, Step, WriteQueue};

use crate::peer::{Repeat, Source, push_packet};

/// What a MariaDB or MySQL of these days agrees on, as far as it changes packets.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF);

/// A core and its buffers.
pub(crate) struct Client {
    pub(crate) core: ClientCore,
    pub(crate) buffers: Buffers,
}

impl Client {
    pub(crate) fn new() -> Self {
        let limits = Limits::default();
        let session = Session {
            capabilities: CAPABILITIES,
            connection_id: 1,
            server_version: String::from("5.5.5-10.11.6-MariaDB"),
            version: ServerVersion::parse(b"5.5.5-10.11.6-MariaDB"),
        };
        Self {
            core: ClientCore::new(session, limits),
            buffers: Buffers::new(limits.buffer_config()),
        }
    }

    /// In front of the first row of a text result, and the row's sequence id.
    pub(crate) fn in_text_rows(columns: &[ColumnType]) -> (Self, u8) {
        let mut client = Self::new();
        client
            .core
            .query(&mut client.buffers, b"SELECT")
            .expect("idle");
        let mut bytes = Vec::new();
        let mut sequence = 1;
        push_result_head(&mut bytes, &mut sequence, columns);
        client.flush(&());
        assert_eq!(client.hear(bytes), Reply::Columns);
        (client, sequence)
    }

    /// In front of the first row of a binary result, and the row's sequence id.
    pub(crate) fn in_binary_rows(columns: &[ColumnType]) -> (Self, u8) {
        let (mut client, statement) = Self::prepared(columns);
        client
            .core
            .execute(&mut client.buffers, statement, Params(&[]))
            .expect("idle");
        let mut bytes = Vec::new();
        let mut sequence = 1;
        push_result_head(&mut bytes, &mut sequence, columns);
        client.flush(&());
        assert_eq!(client.hear(bytes), Reply::Columns);
        (client, sequence)
    }

    /// With a prepared statement without parameters.
    pub(crate) fn prepared(columns: &[ColumnType]) -> (Self, StatementId) {
        let mut client = Self::new();
        client
            .core
            .prepare(&mut client.buffers, b"SELECT")
            .expect("idle");
        let mut ok = Vec::new();
        let count = u16::try_from(columns.len()).expect("few columns");
        PrepareOk {
            statement_id: 1,
            columns: count,
            parameters: 0,
            warnings: 0,
            metadata_follows: true,
        }
        .encode(CAPABILITIES, &mut ok);
        let mut bytes = Vec::new();
        let mut sequence = 1;
        push_packet(&mut bytes, &mut sequence, &ok);
        push_definitions(&mut bytes, &mut sequence, columns);
        client.flush(&());
        let Reply::Prepared(statement) = client.hear(bytes) else {
            panic!("not prepared");
        };
        (client, statement)
    }

    fn hear(&mut self, bytes: Vec<u8>) -> Reply {
        let chunk = bytes.len();
        let mut source = Repeat::new(bytes, chunk);
        let reply = self.next(&mut source);
        assert!(
            self.buffers.pending().is_empty(),
            "the reply had more packets than were asked for"
        );
        reply
    }

    /// The next message, as a driver gets it.
    #[inline]
    pub(crate) fn next(&mut self, source: &mut impl Source) -> Reply {
        loop {
            match self.core.advance(&mut self.buffers).expect("well-formed") {
                Step::Message(message) => return message,
                Step::NeedInput(_) => source.fill(&mut self.buffers),
                Step::StartTls => unreachable!("the login is over"),
            }
        }
    }

    #[inline]
    pub(crate) fn flush(&mut self, borrowed: &(impl Borrowed + ?Sized)) {
        flush(self.buffers.output(), borrowed);
    }
}

/// Sends a queue as drivers do, with 32 slices a write, to where nothing is copied.
#[inline]
pub(crate) fn flush(queue: &mut WriteQueue, borrowed: &(impl Borrowed + ?Sized)) {
    while !queue.is_empty() {
        let mut slices = [IoSlice::new(&[]); 32];
        let count = queue.slices(borrowed, &mut slices);
        let n = black_box(&slices[..count])
            .iter()
            .map(|slice| slice.len())
            .sum();
        queue.advance(n);
    }
}

/// The column count and the definitions.
pub(crate) fn push_result_head(bytes: &mut Vec<u8>, sequence: &mut u8, columns: &[ColumnType]) {
    let count = u8::try_from(columns.len()).expect("few columns");
    push_packet(bytes, sequence, &[count]);
    push_definitions(bytes, sequence, columns);
}

fn push_definitions(bytes: &mut Vec<u8>, sequence: &mut u8, columns: &[ColumnType]) {
    for (index, column) in columns.iter().enumerate() {
        let name = format!("column_number_{index}");
        let mut body = Vec::new();
        ColumnDefinition {
            catalog: b"def",
            schema: b"benchmark",
            table: b"small",
            org_table: b"small",
            name: name.as_bytes(),
            org_name: name.as_bytes(),
            collation: 45,
            column_length: 255,
            column_type: column.0,
            ..ColumnDefinition::default()
        }
        .encode(CAPABILITIES, &mut body);
        push_packet(bytes, sequence, &body);
    }
}
