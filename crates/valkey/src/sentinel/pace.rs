//! When the primary may be looked for again.

use std::time::{Duration, Instant};

use crate::Backoff;
use crate::backoff::Pauses;

/// The time between the beginnings of two searches, at least.
const INTERVAL: Duration = Duration::from_millis(200);

/// After a failure the next search waits so much longer, at random.
const AFTER_FAILURE: Backoff = Backoff {
    base: Duration::from_millis(200),
    cap: Duration::from_secs(1),
};

/// Within this time a search begins at random: clients that lose their primary together do not ask together.
const SPREAD: Backoff = Backoff {
    base: Duration::from_millis(20),
    cap: Duration::from_millis(20),
};

/// One search at a time, each at a random moment, and later ones after failures.
#[derive(Debug)]
pub(crate) struct Pace {
    began: Option<Instant>,
    pause: Duration,
    pauses: Pauses,
    spread: Pauses,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            began: None,
            pause: Duration::ZERO,
            pauses: Pauses::new(AFTER_FAILURE),
            spread: Pauses::new(SPREAD),
        }
    }

    /// A search begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.began = Some(now);
        self.pause = Duration::ZERO;
    }

    pub(crate) fn succeeded(&mut self) {
        self.pauses.reset();
    }

    pub(crate) fn failed(&mut self) {
        self.pause = self.pauses.next();
    }

    /// There is news: the next search does not wait for what failed before.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn hinted(&mut self) {
        self.pauses.reset();
        self.pause = Duration::ZERO;
    }

    /// When the search begins that is wanted now.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        let spread = self.spread.next();
        let earliest = self.began.map(|began| began + INTERVAL + self.pause);
        earliest.map_or(now, |earliest| earliest.max(now)) + spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches within a minute in which one is always wanted.
    fn begun(mut ended: impl FnMut(&mut Pace)) -> Vec<Instant> {
        let start = Instant::now();
        let (mut pace, mut now, mut begun) = (Pace::new(), start, Vec::new());
        while now < start + Duration::from_secs(60) {
            now = pace.next(now);
            pace.begin(now);
            begun.push(now);
            ended(&mut pace);
        }
        begun
    }

    #[test]
    fn searches_are_apart_even_if_there_is_news_all_the_time() {
        let begun = begun(Pace::hinted);
        assert!(begun.windows(2).all(|two| two[1] - two[0] >= INTERVAL));
        assert!((250..=301).contains(&begun.len()), "{}", begun.len());
    }

    #[test]
    fn failures_make_them_rarer_at_random() {
        // 200 ms, and half a second on average.
        let begun = begun(Pace::failed);
        assert!((60..=130).contains(&begun.len()), "{}", begun.len());
    }

    #[test]
    fn the_first_one_begins_at_once() {
        let now = Instant::now();
        assert!(Pace::new().next(now) - now <= SPREAD.cap);
    }
}
