//! Random parts of times, so that what began together does not end together.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A source of jitter, which threads can share. It protects nothing, so a small generator is enough: SplitMix64,
/// <https://prng.di.unimi.it/splitmix64.c>.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use onecopy_pool::Jitter;
///
/// let jitter = Jitter::default();
/// let pause = jitter.shortened(Duration::from_secs(10), 5);
/// assert!((8..=10).contains(&pause.as_secs()));
/// ```
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// Creates a source of which the seed determines all numbers: for tests and simulations. [`Jitter::default`] has a random seed.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.0.fetch_add(STEP, Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns the duration, less a random part of up to `1/share` of it. A share of 0 counts as 1.
    pub fn shortened(&self, whole: Duration, share: u32) -> Duration {
        const STEPS: u32 = 1 << 16;
        let step = u32::try_from(self.next() % u64::from(STEPS)).unwrap_or(0);
        // First the division, so that long durations do not overflow.
        whole - whole / share.max(1) / STEPS * step
    }

    /// Returns when something that lasts that long ends, which begins now, with up to `1/share` less. `None`: never.
    pub fn end_of(&self, lifetime: Option<Duration>, share: u32, now: Instant) -> Option<Instant> {
        now.checked_add(self.shortened(lifetime?, share))
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self::new(RandomState::new().hash_one(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shortened_by_a_share_at_most_and_differ() {
        let jitter = Jitter::new(1);
        let whole = Duration::from_secs(10);
        let times: Vec<_> = (0..1_000).map(|_| jitter.shortened(whole, 4)).collect();
        assert!(
            times
                .iter()
                .all(|time| (whole * 3 / 4..=whole).contains(time))
        );
        assert!(times.iter().any(|time| *time < whole * 13 / 16));
        assert!(times.iter().any(|time| *time > whole * 15 / 16));
    }

    #[test]
    fn what_never_ends_has_no_end() {
        let (jitter, now) = (Jitter::default(), Instant::now());
        assert_eq!(jitter.end_of(None, 8, now), None);
        assert_eq!(jitter.end_of(Some(Duration::MAX), 8, now), None);
        assert_eq!(jitter.end_of(Some(Duration::ZERO), 0, now), Some(now));
    }
}
