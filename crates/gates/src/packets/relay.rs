//! What a proxy looks at while a session's bytes pass.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::relay::{Event, Relay};

use crate::workload::Body;

/// One column's definition, as servers send it.
const DEFINITION: &[u8] = b"\x03def\x04shop\x01t\x01t\x01v\x01v\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0";
const EOF: [u8; 5] = [0xFE, 0, 0, 2, 0];

/// A query and its reply, over and over.
pub(crate) struct Relayed {
    relay: Relay,
    command: Vec<u8>,
    reply: Vec<u8>,
    /// Bytes of one read.
    chunk: usize,
}

impl Relayed {
    pub(crate) fn new(rows: usize, row_bytes: usize, chunk: usize) -> Self {
        Self::of(std::iter::repeat_n(row_bytes, rows), chunk)
    }

    /// Rows of one of `kinds` lengths around 100 bytes each, without an order that could be foreseen.
    pub(crate) fn uneven(rows: usize, kinds: u64, chunk: usize) -> Self {
        let mut state = 1_u64;
        let lengths = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            100 + usize::try_from((state >> 33) % kinds).expect("a short row")
        });
        Self::of(lengths.take(rows), chunk)
    }

    fn of(rows: impl Iterator<Item = usize>, chunk: usize) -> Self {
        let mut reply = Vec::new();
        let mut sequence = 1_u8;
        let mut put = |payload: &[u8]| {
            let length = u8::try_from(payload.len()).expect("a short packet");
            reply.extend([length, 0, 0, sequence]);
            reply.extend(payload);
            sequence = sequence.wrapping_add(1);
        };
        [&[1], DEFINITION, &EOF].into_iter().for_each(&mut put);
        for row_bytes in rows {
            let mut row = vec![b'x'; row_bytes];
            row[0] = u8::try_from(row_bytes - 1).expect("a short row");
            put(&row);
        }
        put(&EOF);
        Self {
            relay: Relay::new(Capabilities::PROTOCOL_41),
            command: b"\x09\0\0\0\x03select v".to_vec(),
            reply,
            chunk,
        }
    }

    #[inline]
    fn pass_reply(&mut self) {
        let (mut at, mut there) = (0, 0);
        loop {
            there = (there + self.chunk).min(self.reply.len());
            let passage = self.relay.server(&self.reply[at..there]);
            let passage = passage.expect("an honest server");
            at += passage.pass;
            if let Some(Event::Done { .. }) = passage.event {
                assert_eq!(at, self.reply.len());
                return;
            }
        }
    }
}

impl Body for Relayed {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let passage = self.relay.client(&self.command);
            assert_eq!(passage.expect("an honest client").pass, self.command.len());
            self.pass_reply();
        }
    }
    fn metered(&self) -> Option<u64> {
        None
    }
}
