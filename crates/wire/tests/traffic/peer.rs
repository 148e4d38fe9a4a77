//! A peer that sends length-prefixed messages, and the kernel that delivers them in pieces.

use std::sync::OnceLock;

/// Longest message that a test may ask for.
pub(crate) const LONGEST: usize = 2 << 20;

/// Separators between the packets of one long message.
pub(crate) const MARKER: [u8; 4] = *b"\xff\xff\xff\x07";

/// A small generator with a fixed seed (xorshift): figures are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + usize::try_from(self.0 >> 11).expect("64 bits") % (high - low + 1)
    }
}

/// Bytes without a pattern that a misplaced copy could hit at random.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut dice = Dice::new(7);
        (0..(LONGEST + 4096) / 8)
            .flat_map(|_| dice.between(0, usize::MAX >> 12).to_le_bytes())
            .collect()
    })
}

/// The body of message `number`: another stretch of the noise for each.
pub(crate) fn body(number: usize, len: usize) -> &'static [u8] {
    &noise()[number * 61 % 4096..][..len]
}

/// How many bytes the kernel hands over at once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Delivery {
    /// As many as the targets take, at most so many.
    UpTo(usize),
    /// Any number from one to so many.
    Any(usize),
}

/// What the peer sends, and how much of it the kernel has taken.
pub(crate) struct Peer {
    wire: Vec<u8>,
    sent: usize,
    delivery: Delivery,
    dice: Dice,
}

impl Peer {
    /// Messages of these sizes; with `packet`, a marker follows each `packet` bytes of a body.
    pub(crate) fn new(
        sizes: &[usize],
        packet: Option<usize>,
        delivery: Delivery,
        seed: u64,
    ) -> Self {
        let mut wire = Vec::with_capacity(sizes.iter().sum::<usize>() + sizes.len() * 8);
        for (number, &len) in sizes.iter().enumerate() {
            wire.extend_from_slice(&u32::try_from(len).expect("short").to_le_bytes());
            for piece in body(number, len).chunks(packet.unwrap_or(usize::MAX)) {
                wire.extend_from_slice(piece);
                if Some(piece.len()) == packet {
                    wire.extend_from_slice(&MARKER);
                }
            }
        }
        Self {
            wire,
            sent: 0,
            delivery,
            dice: Dice::new(seed),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.sent == self.wire.len()
    }

    /// One vectored read.
    pub(crate) fn read(&mut self, targets: &mut [std::io::IoSliceMut<'_>]) -> usize {
        let most = match self.delivery {
            Delivery::UpTo(most) => most,
            Delivery::Any(most) => self.dice.between(1, most),
        };
        let from = self.sent;
        for target in targets {
            let n = target
                .len()
                .min(self.wire.len() - self.sent)
                .min(most - (self.sent - from));
            target[..n].copy_from_slice(&self.wire[self.sent..][..n]);
            self.sent += n;
        }
        self.sent - from
    }
}
