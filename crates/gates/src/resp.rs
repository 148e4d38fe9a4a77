//! Replies of RESP, scanned in memory, 16 KiB a read.

use std::hint::black_box;

use onecopy_resp_proto::{Client, Limits, Message, Reply};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use crate::peer::{Repeat, Source};
use crate::workload::Body;

const CHUNK: usize = 16 << 10;

/// A pipeline's replies, over and over.
pub(crate) struct Replies {
    client: Client,
    buffers: Buffers,
    source: Repeat,
    /// Replies of one iteration.
    replies: u64,
    /// Look at each element, and not at the reply alone.
    looks: bool,
}

impl Replies {
    /// `turn` holds `replies` replies.
    pub(crate) fn new(turn: &[u8], replies: u64, looks: bool) -> Self {
        let config = BufferConfig {
            initial_read: CHUNK,
            max_read: 2 * CHUNK,
            ..BufferConfig::default()
        };
        // Whole turns of about 128 KiB, so that reads cut them at changing places.
        let turns = (128 << 10) / turn.len() + 1;
        Self {
            client: Client::new(Limits::default()),
            buffers: Buffers::new(config),
            source: Repeat::new(turn.repeat(turns), CHUNK),
            replies,
            looks,
        }
    }

    pub(crate) fn statuses() -> Self {
        Self::new(b"+OK\r\n", 1, true)
    }

    pub(crate) fn bulks() -> Self {
        let bulk = [b"$1024\r\n".as_slice(), &[b'x'; 1024], b"\r\n"].concat();
        Self::new(&bulk, 1, true)
    }

    pub(crate) fn arrays(looks: bool) -> Self {
        let elements = b"$5\r\nhello\r\n:12345\r\n".repeat(50);
        Self::new(&[b"*100\r\n".as_slice(), &elements].concat(), 1, looks)
    }

    /// 58 reads long: a scan that restarts with each read would show.
    pub(crate) fn long_array() -> Self {
        let elements = b"$5\r\nhello\r\n:12345\r\n".repeat(50_000);
        Self::new(&[b"*100000\r\n".as_slice(), &elements].concat(), 1, false)
    }

    pub(crate) fn alternating() -> Self {
        Self::new(b"+OK\r\n:1\r\n$-1\r\n_\r\n", 4, true)
    }

    pub(crate) fn doubles() -> Self {
        Self::new(b",3.14159\r\n,2.5\r\n,-1e10\r\n,0.125\r\n", 4, true)
    }

    fn one(&mut self) {
        loop {
            match self.client.advance(&mut self.buffers).expect("well-formed") {
                Step::Message(Message::Reply(frame)) => {
                    let reply = self.client.reply(frame, &self.buffers);
                    black_box((reply.kind(), reply.bytes().len()));
                    if self.looks {
                        look_at(reply);
                    }
                    return;
                }
                Step::NeedInput(_) => self.source.fill(&mut self.buffers),
                other => panic!("not a reply: {other:?}"),
            }
        }
    }
}

#[inline]
fn look_at(reply: Reply<'_>) {
    for child in reply.children() {
        black_box((child.kind(), child.bytes().len()));
    }
}

impl Body for Replies {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.client.expect(self.replies);
            for _ in 0..self.replies {
                self.one();
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.buffers.meter().copied())
    }
}
