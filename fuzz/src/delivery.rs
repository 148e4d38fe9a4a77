//! How a stream is cut into pieces.

/// Lengths of the pieces, from one byte of the input: 0 for whole, 1 for byte by byte, else pseudo-random ones, small
/// ones more often than not.
#[derive(Debug, Clone, Copy)]
pub struct Pieces {
    seed: u8,
    state: u64,
}

impl Pieces {
    /// All at once.
    pub const WHOLE: Self = Self { seed: 0, state: 0 };

    /// Byte by byte.
    pub const SINGLE: Self = Self { seed: 1, state: 0 };

    /// The pieces of that seed.
    pub fn new(seed: u8) -> Self {
        Self {
            seed,
            state: u64::from(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }
    }

    /// Length of the next piece where `most` bytes would fit: at least 1, `most` being so too.
    pub fn take(&mut self, most: usize) -> usize {
        let limit = match self.seed {
            0 => most,
            1 => 1,
            _ => self.random(),
        };
        most.min(limit)
    }

    fn random(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        match self.state >> 61 {
            0..=4 => 1 + usize::from(self.state.to_le_bytes()[0] & 0x07),
            5 | 6 => 1 + usize::from(self.state.to_le_bytes()[1] & 0x7F),
            _ => usize::MAX,
        }
    }
}
