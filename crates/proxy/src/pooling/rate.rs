//! So many in a time, counted over all threads: a token bucket that reads no clock.

use std::time::{Duration, Instant};

use crate::config::Rate;

/// A token bucket. Its whole state is the time at which it is full again (the generic cell rate algorithm), so that nothing has to be
/// filled up while nobody asks.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// The time that one takes.
    interval: Duration,
    /// The time in which an empty one is full.
    depth: Duration,
    full_at: Option<Instant>,
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(rate: Rate) -> Self {
        let interval = Duration::from_secs(1) / rate.per_second.max(1);
        Self {
            interval,
            depth: interval * rate.burst.max(1),
            full_at: None,
        }
    }

    /// When the next one may be taken; `None` for now.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let full_at = self.full_at?.max(now);
        let next = full_at + self.interval - self.depth.min(full_at + self.interval - now);
        (next > now).then_some(next)
    }

    /// Takes one.
    ///
    /// # Errors
    /// When the next one may be taken.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        match self.next(now) {
            Some(next) => Err(next),
            None => {
                let full_at = self.full_at.map_or(now, |full_at| full_at.max(now));
                self.full_at = Some(full_at + self.interval);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn bucket(per_second: u32, burst: u32) -> Bucket {
        Bucket::new(Rate { per_second, burst })
    }

    #[test]
    fn a_burst_is_taken_at_once_and_then_one_in_each_interval() {
        let start = Instant::now();
        let mut bucket = bucket(100, 3);
        for _ in 0..3 {
            assert_eq!(bucket.take(start), Ok(()));
        }
        assert_eq!(bucket.take(start), Err(start + 10 * MILLISECOND));
        assert_eq!(bucket.next(start), Some(start + 10 * MILLISECOND));
        let almost = start + 9 * MILLISECOND;
        assert_eq!(bucket.take(almost), Err(start + 10 * MILLISECOND));
        assert_eq!(bucket.take(start + 10 * MILLISECOND), Ok(()));
        assert!(bucket.take(start + 10 * MILLISECOND).is_err());
    }

    #[test]
    fn over_a_long_time_there_are_no_more_than_the_rate_and_one_burst() {
        let start = Instant::now();
        for (per_second, burst) in [(1, 1), (7, 2), (100, 100), (1_000, 1)] {
            let mut bucket = bucket(per_second, burst);
            let taken = (0..10_000)
                .filter(|&at| bucket.take(start + at * MILLISECOND).is_ok())
                .count();
            let most = usize::try_from(10 * per_second + burst).unwrap();
            assert!(taken <= most && taken + 1 >= most - usize::try_from(burst).unwrap());
        }
    }

    #[test]
    fn what_was_not_taken_is_kept_up_to_the_burst() {
        let start = Instant::now();
        let mut bucket = bucket(10, 5);
        assert!(bucket.take(start).is_ok());
        let later = start + Duration::from_secs(3_600);
        let taken = (0..100).filter(|_| bucket.take(later).is_ok()).count();
        assert_eq!(taken, 5);
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_gives_nothing() {
        let start = Instant::now() + Duration::from_secs(60);
        let mut bucket = bucket(1, 1);
        assert!(bucket.take(start).is_ok());
        assert!(bucket.take(start - Duration::from_secs(30)).is_err());
        assert!(bucket.take(start).is_err());
    }
}
