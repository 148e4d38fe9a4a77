//! Writing packets into a connection's queue.

use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::frame::PayloadWriter;
use onecopy_wire::WriteQueue;

use crate::packets::session::flush;
use crate::workload::Body;

/// One packet of one part.
pub(crate) struct Packet {
    queue: WriteQueue,
    body: Vec<u8>,
    borrowed: bool,
    /// Packets between two flushes.
    together: u64,
}

impl Packet {
    pub(crate) fn copied(bytes: usize, together: u64) -> Self {
        Self {
            queue: WriteQueue::new(),
            body: vec![b'x'; bytes],
            borrowed: false,
            together,
        }
    }

    pub(crate) fn borrowed(bytes: usize) -> Self {
        Self {
            borrowed: true,
            ..Self::copied(bytes, 1)
        }
    }
}

impl Packet {
    #[inline]
    fn write(&mut self) {
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(&mut self.queue, &mut sequence);
        if self.borrowed {
            writer.put_borrowed(0, self.body.len());
        } else {
            writer.put(&self.body);
        }
        writer.finish().expect("memory");
    }
}

impl Body for Packet {
    fn run(&mut self, iterations: u64) {
        let mut left = iterations;
        while left > 0 {
            let now = left.min(self.together);
            (0..now).for_each(|_| self.write());
            flush(&mut self.queue, &self.body[..]);
            left -= now;
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.queue.copied())
    }
}

/// One payload of many parts.
pub(crate) struct Append {
    queue: WriteQueue,
    /// Of the queues that are gone.
    copied: u64,
    parts: Vec<Vec<u8>>,
    fresh: bool,
}

impl Append {
    pub(crate) fn kept(parts: usize, low: usize, high: usize) -> Self {
        Self {
            queue: WriteQueue::new(),
            copied: 0,
            parts: sizes(parts, low, high)
                .map(|size| vec![b'x'; size])
                .collect(),
            fresh: false,
        }
    }

    pub(crate) fn fresh(parts: usize, low: usize, high: usize) -> Self {
        Self {
            fresh: true,
            ..Self::kept(parts, low, high)
        }
    }
}

impl Body for Append {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            if self.fresh {
                self.copied += self.queue.copied();
                self.queue = WriteQueue::new();
            }
            let mut sequence = 0;
            let mut writer = PayloadWriter::new(&mut self.queue, &mut sequence);
            for part in &self.parts {
                writer.put(part);
            }
            writer.finish().expect("memory");
            flush(&mut self.queue, &());
            self.queue.shrink(0);
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.copied + self.queue.copied())
    }
}

/// All sizes of the range about as often as each other, in no order: steps through it by an amount that meets each.
fn sizes(count: usize, low: usize, high: usize) -> impl Iterator<Item = usize> {
    let range = high - low + 1;
    (0..count).map(move |index| low + index * 7919 % range)
}
