//! Small rows.

use std::hint::black_box;

use onecopy_mysql_proto::ColumnType;
use onecopy_mysql_proto::client::{Params, Reply, StatementId};
use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::packet::{OkHeader, OkPacket};
use onecopy_wire::Span;

use crate::packets::session::{CAPABILITIES, Client, push_result_head};
use crate::peer::{Repeat, push_packet};
use crate::workload::Body;

/// The most that one read gives: what a Unix socket holds.
const CHUNK: usize = 208 << 10;

const NARROW: [ColumnType; 2] = [ColumnType::LONGLONG, ColumnType::VAR_STRING];

const SMALL: [ColumnType; 15] = [
    ColumnType::LONGLONG,
    ColumnType::LONG,
    ColumnType::SHORT,
    ColumnType::TINY,
    ColumnType::DOUBLE,
    ColumnType::FLOAT,
    ColumnType::NEWDECIMAL,
    ColumnType::DATE,
    ColumnType::DATETIME,
    ColumnType::TIME,
    ColumnType::VAR_STRING,
    ColumnType::VAR_STRING,
    ColumnType::VAR_STRING,
    ColumnType::BLOB,
    ColumnType::BLOB,
];

/// Rows without an end.
pub(crate) struct Rows {
    client: Client,
    source: Repeat,
    /// Bytes of a row's values together.
    value_bytes: usize,
}

impl Rows {
    pub(crate) fn narrow_text() -> Self {
        Self::text(&NARROW, &[b"1234567", b"abcdefgh"])
    }

    pub(crate) fn narrow_binary() -> Self {
        let mut row = vec![0x00, 0x00];
        row.put_u64(1_234_567);
        row.put_lenenc_bytes(b"abcdefgh");
        Self::binary(&NARROW, &row, 16)
    }

    pub(crate) fn small_text() -> Self {
        Self::text(
            &SMALL,
            &[
                b"1234567890123",
                b"1234567",
                b"1234",
                b"12",
                b"3.141592653589793",
                b"2.71828",
                b"12345.6789",
                b"2026-11-20",
                b"2026-11-20 12:34:56",
                b"12:34:56",
                b"one text",
                b"another text",
                b"the third text of the row",
                b"bytes",
                b"more bytes",
            ],
        )
    }

    pub(crate) fn small_binary() -> Self {
        let (row, value_bytes) = small_binary_row();
        Self::binary(&SMALL, &row, value_bytes)
    }

    fn text(columns: &[ColumnType], values: &[&[u8]]) -> Self {
        let (client, sequence) = Client::in_text_rows(columns);
        let mut row = Vec::new();
        for value in values {
            row.put_lenenc_bytes(value);
        }
        Self {
            client,
            source: Repeat::packets(sequence, &row, CHUNK),
            value_bytes: values.iter().map(|value| value.len()).sum(),
        }
    }

    fn binary(columns: &[ColumnType], row: &[u8], value_bytes: usize) -> Self {
        let (client, sequence) = Client::in_binary_rows(columns);
        Self {
            client,
            source: Repeat::packets(sequence, row, CHUNK),
            value_bytes,
        }
    }
}

/// Bytes of the row's values, each of them resolved.
#[inline]
fn look_at(client: &Client, row: Span) -> usize {
    let row = client.buffers.bytes(row);
    let cells = client.core.cells().iter();
    cells
        .map(|cell| black_box(cell.within(row)).map_or(0, <[u8]>::len))
        .sum()
}

impl Body for Rows {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.client.next(&mut self.source) {
                Reply::Row(row) => assert_eq!(look_at(&self.client, row), self.value_bytes),
                other => panic!("not a row: {other:?}"),
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.client.buffers.meter().copied())
    }
}

/// A binary row of [`SMALL`], and the bytes of its values.
fn small_binary_row() -> (Vec<u8>, usize) {
    let mut row = vec![0x00; 1 + (SMALL.len() + 9) / 8];
    let head = row.len();
    row.put_u64(1_234_567_890_123);
    row.put_u32(1_234_567);
    row.put_u16(1234);
    row.put_u8(12);
    row.put_u64(1.5_f64.to_bits());
    row.put_u32(2.5_f32.to_bits());
    let behind_a_length: [&[u8]; 9] = [
        b"12345.6789",
        &[0xEA, 0x07, 11, 20],
        &[0xEA, 0x07, 11, 20, 12, 34, 56],
        &[0, 0, 0, 0, 0, 12, 34, 56],
        b"one text",
        b"another text",
        b"the third text of the row",
        b"bytes",
        b"more bytes",
    ];
    for value in behind_a_length {
        row.put_lenenc_bytes(value);
    }
    let value_bytes = row.len() - head - behind_a_length.len();
    (row, value_bytes)
}

/// One execution whose reply has one row.
pub(crate) struct Query {
    client: Client,
    statement: StatementId,
    source: Repeat,
}

impl Query {
    pub(crate) fn new() -> Self {
        let (client, statement) = Client::prepared(&SMALL);
        let mut bytes = Vec::new();
        let mut sequence = 1;
        push_result_head(&mut bytes, &mut sequence, &SMALL);
        push_packet(&mut bytes, &mut sequence, &small_binary_row().0);
        let mut end = Vec::new();
        OkPacket::default().encode(OkHeader::Eof, CAPABILITIES, &mut end);
        push_packet(&mut bytes, &mut sequence, &end);
        assert_eq!(bytes.len(), 1284, "as the workload says");
        let chunk = bytes.len();
        Self {
            client,
            statement,
            source: Repeat::new(bytes, chunk),
        }
    }
}

impl Body for Query {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let Client { core, buffers } = &mut self.client;
            core.execute(buffers, self.statement, Params(&[]))
                .expect("idle");
            self.client.flush(&());
            loop {
                match self.client.next(&mut self.source) {
                    Reply::Columns => {}
                    Reply::Row(row) => {
                        black_box(look_at(&self.client, row));
                    }
                    Reply::RowsEnd => break,
                    other => panic!("not a result: {other:?}"),
                }
            }
            self.client.buffers.release();
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.client.buffers.meter().copied())
    }
}
