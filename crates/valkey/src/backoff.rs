//! How long to wait before the next attempt to connect.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Exponential backoff with full jitter: the delay before the n-th attempt is a random time between zero and `base` times 2^(n -
/// 1), at most `cap`. A thousand clients that lost the same server therefore do not all reconnect at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The maximum delay before the first attempt. Default: 100 ms.
    pub base: Duration,
    /// The maximum delay before any attempt. Default: 10 s.
    pub cap: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(100),
            cap: Duration::from_secs(10),
        }
    }
}

/// Pauses, one after the other.
#[derive(Debug)]
pub(crate) struct Pauses {
    backoff: Backoff,
    attempts: u32,
    random: u64,
}

impl Pauses {
    pub(crate) fn new(backoff: Backoff) -> Self {
        // The standard library's hash keys differ from process to process and from one to the next: no more is needed of
        // randomness here than that clients differ.
        let seed = RandomState::new().build_hasher().finish();
        Self {
            backoff,
            attempts: 0,
            random: seed | 1,
        }
    }

    /// The pause before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let longest = self.longest();
        self.attempts = self.attempts.saturating_add(1);
        self.up_to(longest)
    }

    /// A pause as before the first attempt.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn shortest(&mut self) -> Duration {
        self.up_to(self.backoff.base.min(self.backoff.cap))
    }

    fn up_to(&mut self, longest: Duration) -> Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX - 1);
        Duration::from_nanos(self.random() % (nanos.min(u64::MAX - 1) + 1))
    }

    /// Whether the pauses have become as long as they will.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn is_longest(&self) -> bool {
        self.longest() >= self.backoff.cap
    }

    /// An attempt was good.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    fn longest(&self) -> Duration {
        let factor = 1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX);
        self.backoff
            .base
            .saturating_mul(factor)
            .min(self.backoff.cap)
    }

    /// xorshift64*.
    fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        base: Duration::from_millis(100),
        cap: Duration::from_secs(1),
    };

    #[test]
    fn pauses_double_up_to_the_cap_and_begin_anew_after_a_success() {
        let mut pauses = Pauses::new(BACKOFF);
        let mut longest = Vec::new();
        for _ in 0..6 {
            longest.push(pauses.longest().as_millis());
            assert!(pauses.next().as_millis() <= *longest.last().unwrap());
        }
        assert_eq!(longest, [100, 200, 400, 800, 1000, 1000]);
        assert!(pauses.is_longest());
        pauses.reset();
        assert!(!pauses.is_longest());
        assert!(pauses.next() <= BACKOFF.base);
    }

    #[test]
    fn a_thousand_clients_spread_over_the_whole_pause() {
        let mut tenths = [0; 10];
        for _ in 0..1000 {
            let mut pauses = Pauses::new(BACKOFF);
            let millis = usize::try_from(pauses.next().as_millis()).unwrap();
            tenths[millis.min(99) / 10] += 1;
        }
        // 100 are expected in each; less than 40 has a chance below 10^-10.
        assert!(tenths.iter().all(|&count| count > 40), "{tenths:?}");
    }

    /// The first numbers of xorshift64*, from its definition (Vigna, 2016), for the seed 1.
    #[test]
    fn pauses_are_drawn_by_xorshift() {
        let mut pauses = Pauses {
            random: 1,
            ..Pauses::new(BACKOFF)
        };
        let drawn = [(); 3].map(|()| pauses.random());
        let expected = [
            0x47e4_ce4b_896c_dd1d,
            0xabcf_a6a8_e079_651d,
            0xb9d1_0d8f_eb73_1f57,
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_very_long_outage_overflows_nothing() {
        let mut pauses = Pauses::new(BACKOFF);
        for _ in 0..100 {
            assert!(pauses.next() <= BACKOFF.cap);
        }
        let mut none = Pauses::new(Backoff {
            base: Duration::ZERO,
            cap: Duration::ZERO,
        });
        assert_eq!(none.next(), Duration::ZERO);
    }
}
