//! How many statements a user may send in a time, over all its sessions and all workers.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use onecopy_pool::{Rate, TokenBucket};

/// The statements of one user.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    /// Without a limit no lock is taken.
    is_limited: AtomicBool,
    bucket: Mutex<Option<(Rate, TokenBucket)>>,
}

impl Limiter {
    /// Another limit from now on; one that stays the same goes on as full or empty as it is.
    pub(crate) fn set(&self, rate: Option<Rate>) {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        if bucket.as_ref().map(|(known, _)| *known) != rate {
            *bucket = rate.map(|rate| (rate, TokenBucket::new(rate)));
        }
        self.is_limited.store(rate.is_some(), SeqCst);
    }

    /// Counts a statement.
    ///
    /// # Errors
    /// The limit that it would exceed.
    #[inline]
    pub(crate) fn take(&self, now: Instant) -> Result<(), Rate> {
        match self.is_limited.load(SeqCst) {
            true => self.take_one(now),
            false => Ok(()),
        }
    }

    #[cold]
    fn take_one(&self, now: Instant) -> Result<(), Rate> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *bucket {
            Some((rate, bucket)) => bucket.take(now).map_err(|_| *rate),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATE: Rate = Rate {
        per_second: 10,
        burst: 2,
    };

    #[test]
    fn statements_are_counted_while_there_is_a_limit() {
        let (limiter, now) = (Limiter::default(), Instant::now());
        (0..1_000).for_each(|_| assert_eq!(limiter.take(now), Ok(())));
        limiter.set(Some(RATE));
        assert_eq!([limiter.take(now), limiter.take(now)], [Ok(()); 2]);
        assert_eq!(limiter.take(now), Err(RATE));
        assert_eq!(limiter.take(now + Duration::from_millis(100)), Ok(()));
        limiter.set(None);
        assert_eq!(limiter.take(now), Ok(()));
    }

    #[test]
    fn a_reload_with_the_same_limit_gives_nothing_away() {
        let (limiter, now) = (Limiter::default(), Instant::now());
        limiter.set(Some(RATE));
        assert_eq!([limiter.take(now), limiter.take(now)], [Ok(()); 2]);
        limiter.set(Some(RATE));
        assert_eq!(limiter.take(now), Err(RATE));
        let more = Rate { burst: 3, ..RATE };
        limiter.set(Some(more));
        assert_eq!(limiter.take(now), Ok(()));
    }
}
