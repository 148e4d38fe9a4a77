//! Numbers for jitter. They protect nothing, so a small generator is enough: SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.

use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The duration, less a random part of `1/share` of it.
    pub(crate) fn shortened(&mut self, whole: Duration, share: u32) -> Duration {
        const STEPS: u32 = 1 << 16;
        let step = u32::try_from(self.next() % u64::from(STEPS)).unwrap_or(0);
        // First the division, so that long durations do not overflow.
        whole - whole / share / STEPS * step
    }
}
