//! From one connection to another, as a proxy does.

use std::io::IoSlice;

use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::frame::{Frame, FrameReader, PayloadWriter};
use onecopy_wire::{BufferConfig, Buffers, Span};

use crate::peer::{Repeat, Sink, Source};
use crate::workload::Body;

const PACKETS: usize = 100;
const BODY: [u8; 128] = [b'x'; 128];

#[derive(Clone, Copy)]
pub(crate) enum How {
    /// All whole packets of a read in one part by reference, headers and all.
    Borrowed,
    /// Each payload in a packet of its own.
    Copied,
}

/// Packets whose headers are checked one by one.
pub(crate) struct Forward {
    how: How,
    source: Repeat,
    from: Buffers,
    frames: FrameReader,
    to: Buffers,
    sequence: u8,
    sink: Sink,
}

impl Forward {
    pub(crate) fn new(how: How) -> Self {
        Self {
            how,
            // A read brings just the packets of one iteration.
            source: Repeat::packets(0, &BODY, PACKETS * (4 + BODY.len())),
            from: Buffers::new(BufferConfig::default()),
            frames: FrameReader::default(),
            to: Buffers::new(BufferConfig::default()),
            sequence: 0,
            sink: Sink::new(),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Span> {
        match self.frames.next(&mut self.from, 64 << 10) {
            Ok(Frame::Whole(payload)) => Some(payload),
            Ok(Frame::Missing(_)) => None,
            other => panic!("not a small packet: {other:?}"),
        }
    }

    fn borrowed(&mut self) -> usize {
        let start = self.from.consume(0);
        let (mut last, mut packets) = (start, 0);
        while let Some(payload) = self.next() {
            last = payload;
            packets += 1;
        }
        let run = start.to(last);
        self.to.output().push_borrowed(0, 0, run.len());
        self.flush(run);
        packets
    }

    fn copied(&mut self) -> usize {
        let mut packets = 0;
        while let Some(payload) = self.next() {
            let mut writer = PayloadWriter::new(self.to.output(), &mut self.sequence);
            writer.put(self.from.bytes(payload));
            writer.finish().expect("memory");
            packets += 1;
        }
        self.flush(Span::EMPTY);
        packets
    }

    fn flush(&mut self, run: Span) {
        while self.to.has_output() {
            let mut slices = [IoSlice::new(&[]); 4];
            let count = self.to.output_slices(self.from.bytes(run), &mut slices);
            let n = self.sink.write(&slices[..count]);
            self.to.commit_output(n);
        }
    }
}

impl Body for Forward {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let mut packets = 0;
            while packets < PACKETS {
                self.source.fill(&mut self.from);
                packets += match self.how {
                    How::Borrowed => self.borrowed(),
                    How::Copied => self.copied(),
                };
            }
            assert_eq!(packets, PACKETS);
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.from.meter().copied() + self.to.meter().copied())
    }
}
