//! So many in a time: a token bucket that reads no clock.

use std::fmt;
use std::time::{Duration, Instant};

/// How many tokens a bucket gets in a second, and how many it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens in a second, evenly spread. 0 counts as 1.
    pub per_second: u32,
    /// Tokens that a full bucket holds. 0 counts as 1.
    pub burst: u32,
}

impl Rate {
    /// Returns the time that one token takes.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.per_second.max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} a second, {} at once", self.per_second, self.burst)
    }
}

/// A token bucket. Its whole state is the time at which it is full again (the generic cell rate algorithm), so that nothing has to be
/// filled up while nobody asks.
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
///
/// use onecopy_pool::{Rate, TokenBucket};
///
/// let now = Instant::now();
/// let mut connects = TokenBucket::new(Rate { per_second: 10, burst: 1 });
/// assert_eq!(connects.take(now), Ok(()));
/// assert_eq!(connects.take(now), Err(now + Duration::from_millis(100)));
/// ```
#[derive(Debug)]
pub struct TokenBucket {
    interval: Duration,
    /// The time in which an empty one is full.
    depth: Duration,
    full_at: Option<Instant>,
}

impl TokenBucket {
    /// Creates a full one.
    pub fn new(rate: Rate) -> Self {
        let interval = rate.interval();
        Self {
            interval,
            depth: interval * rate.burst.max(1),
            full_at: None,
        }
    }

    /// Returns when the next token may be taken; `None` if it may be taken now.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let full_at = self.full_at?.max(now);
        let next = full_at + self.interval - self.depth.min(full_at + self.interval - now);
        (next > now).then_some(next)
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Fails with the time at which the next one may be taken.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
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

    fn bucket(per_second: u32, burst: u32) -> TokenBucket {
        TokenBucket::new(Rate { per_second, burst })
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
