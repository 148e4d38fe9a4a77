//! Bytes without a pattern that a misplaced copy could hit at random.

use std::sync::OnceLock;

/// The block that is repeated: a prime number of bytes, so that no step of a buffer's size falls on the same place again.
const PERIOD: usize = 65_521;

/// Longest noise: two and a bit packets of 16 MiB - 1.
const LONGEST: usize = 0x200_1000;

/// The first `len` bytes of the noise, at most 32 MiB + 4 KiB.
pub fn noise(len: usize) -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    let noise = NOISE.get_or_init(|| {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut block = Vec::with_capacity(PERIOD + 8);
        while block.len() < PERIOD {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block.extend_from_slice(&state.to_le_bytes());
        }
        block.truncate(PERIOD);
        block.repeat(LONGEST / PERIOD + 1)
    });
    &noise[..len]
}
