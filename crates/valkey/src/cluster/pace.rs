//! When the cluster may be asked for its slots again.

use std::time::{Duration, Instant};

use onecopy_pool::Jitter;

/// The time between two refreshes, at least.
pub(crate) const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Within this time a first refresh begins: clients that a failover redirects together do not ask together.
const SPREAD: Duration = Duration::from_millis(50);

/// One refresh at a time, at most one in a second, each at a random moment.
#[derive(Debug)]
pub(crate) struct RefreshPace {
    last: Option<Instant>,
    jitter: Jitter,
}

impl RefreshPace {
    pub(crate) fn new(jitter: Jitter) -> Self {
        Self { last: None, jitter }
    }

    /// A refresh begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// Whether one may begin now.
    pub(crate) fn may_begin(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now >= last + REFRESH_INTERVAL)
    }

    /// When the next one may begin that is wanted now.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        let pause = SPREAD - self.jitter.shortened(SPREAD, 1);
        match self.last {
            // Half a second of jitter: with less, clients that began together would stay together.
            Some(last) if now < last + REFRESH_INTERVAL => last + REFRESH_INTERVAL + 10 * pause,
            _ => now + pause,
        }
    }

    /// When one is due that nothing asked for: between three quarters of the interval and all of it from now.
    pub(crate) fn due(&self, interval: Duration, now: Instant) -> Option<Instant> {
        self.jitter.end_of(Some(interval), 4, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_at_most_one_refresh_a_second_however_often_it_is_wanted() {
        let start = Instant::now();
        let mut pace = RefreshPace::new(Jitter::new(7));
        let (mut now, mut begun) = (start, Vec::new());
        // Wanted each millisecond for a minute.
        let mut at = pace.next(now);
        while now < start + Duration::from_secs(60) {
            now += Duration::from_millis(1);
            if now >= at {
                pace.begin(now);
                begun.push(now);
                at = pace.next(now);
            }
        }
        assert!(
            begun
                .windows(2)
                .all(|two| two[1] - two[0] >= REFRESH_INTERVAL)
        );
        assert!((38..=60).contains(&begun.len()), "{}", begun.len());
    }

    #[test]
    fn a_thousand_clients_do_not_refresh_together() {
        let now = Instant::now();
        let mut fifths = [0; 5];
        for seed in 0..1_000_u64 {
            let pace = RefreshPace::new(Jitter::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            let pause = pace.next(now) - now;
            assert!(pause <= SPREAD);
            let fifth = usize::try_from(pause.as_millis() / 10).unwrap();
            fifths[fifth.min(4)] += 1;
        }
        assert!(fifths.iter().all(|&count| count > 120), "{fifths:?}");
    }
}
