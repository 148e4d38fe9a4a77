//! Reading one large packet or payload.

use std::hint::black_box;
use std::io::IoSliceMut;

use onecopy_mysql_proto::ColumnType;
use onecopy_mysql_proto::client::{Reply, RowMode};
use onecopy_mysql_proto::frame::{Frame, FrameReader};
use onecopy_wire::{BufferConfig, Buffers, Span};

use crate::packets::session::Client;
use crate::peer::{Source, Values};
use crate::workload::Body;

/// The source's copy alone.
pub(crate) struct Floor {
    source: Values,
    buffer: Vec<u8>,
}

impl Floor {
    /// Into one place as long as the value.
    pub(crate) fn new(value_bytes: usize, chunk: usize) -> Self {
        let source = Values::new(value_bytes, 0, chunk);
        let buffer = vec![0; source.wire_bytes()];
        Self { source, buffer }
    }

    /// Into a buffer of `buffer` bytes, again and again.
    pub(crate) fn wrapping(value_bytes: usize, chunk: usize, buffer: usize) -> Self {
        Self {
            source: Values::new(value_bytes, 0, chunk),
            buffer: vec![0; buffer],
        }
    }
}

impl Body for Floor {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let mut left = self.source.wire_bytes();
            let mut at = 0;
            while left > 0 {
                if at == self.buffer.len() {
                    at = 0;
                }
                let until = self.buffer.len().min(at + left);
                let n = self
                    .source
                    .read(&mut [IoSliceMut::new(&mut self.buffer[at..until])]);
                at += n;
                left -= n;
            }
            black_box(&self.buffer);
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// Who gets the value.
#[derive(Clone, Copy)]
pub(crate) enum How {
    Borrowed,
    Owned,
    Reused,
    Streamed,
}

/// A text row of one large value, through the client's core.
pub(crate) struct Value {
    client: Client,
    source: Values,
    how: How,
    kept: Vec<u8>,
    value_bytes: usize,
}

impl Value {
    pub(crate) fn new(value_bytes: usize, chunk: usize, how: How) -> Self {
        let (client, sequence) = Client::in_text_rows(&[ColumnType::LONG_BLOB]);
        Self {
            client,
            source: Values::new(value_bytes, sequence, chunk),
            how,
            kept: Vec::new(),
            value_bytes,
        }
    }

    fn row(&mut self) -> Span {
        match self.client.next(&mut self.source) {
            Reply::Row(row) => row,
            other => panic!("not a row: {other:?}"),
        }
    }

    fn borrowed(&mut self) {
        let row = self.row();
        let bytes = self
            .client
            .buffers
            .bytes(self.client.core.cells()[0].span(row));
        assert_eq!(black_box(bytes).len(), self.value_bytes);
    }

    fn owned(&mut self) -> Vec<u8> {
        let row = self.row();
        let cell = self.client.core.take_cell(0).expect("one column");
        let home = self.client.buffers.take_home(cell.span(row));
        let value = home.expect("the value is large");
        assert_eq!(black_box(&value).len(), self.value_bytes);
        value
    }

    fn reused(&mut self) {
        self.client
            .buffers
            .offer_home(std::mem::take(&mut self.kept));
        self.client.core.set_home_column(Some(0));
        self.kept = self.owned();
    }

    fn streamed(&mut self) {
        self.client.core.set_row_mode(RowMode::Stream);
        let mut bytes = 0;
        loop {
            match self.client.next(&mut self.source) {
                Reply::RowStart | Reply::Value(_) => {}
                Reply::Piece(piece) => bytes += black_box(self.client.buffers.bytes(piece)).len(),
                Reply::RowEnd => break,
                other => panic!("not a streamed row: {other:?}"),
            }
        }
        assert_eq!(bytes, self.value_bytes);
    }
}

impl Body for Value {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.how {
                How::Borrowed => self.borrowed(),
                How::Owned => drop(self.owned()),
                How::Reused => self.reused(),
                How::Streamed => self.streamed(),
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.client.buffers.meter().copied())
    }
}

/// A packet that is waited for in the read buffer, until it is there whole.
pub(crate) struct WholeFrame {
    buffers: Buffers,
    frames: FrameReader,
    source: Values,
    payload: usize,
}

impl WholeFrame {
    pub(crate) fn new(value_bytes: usize, chunk: usize) -> Self {
        let source = Values::new(value_bytes, 0, chunk);
        Self {
            buffers: Buffers::new(BufferConfig::default()),
            frames: FrameReader::default(),
            payload: source.wire_bytes(),
            source,
        }
    }
}

impl Body for WholeFrame {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            loop {
                let frame = self.frames.next(&mut self.buffers, self.payload);
                match frame.expect("in order") {
                    Frame::Whole(payload) => {
                        black_box(self.buffers.bytes(payload));
                        break;
                    }
                    Frame::Missing(_) => self.source.fill(&mut self.buffers),
                    Frame::Large(_) => panic!("the packet is within the limit"),
                }
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.buffers.meter().copied())
    }
}
