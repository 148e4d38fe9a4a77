//! How long to wait after failures.

use std::time::Duration;

use crate::Jitter;

/// Pauses after failures in a row: they double, up to a limit, and a random part is taken off each (jitter), so that those that failed
/// together do not try again together.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use onecopy_pool::{Backoff, Jitter};
///
/// let backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5), share: 2 };
/// let jitter = Jitter::default();
/// assert!(backoff.pause(1, &jitter) <= Duration::from_millis(100));
/// assert!(backoff.pause(4, &jitter) > Duration::from_millis(399));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub first: Duration,
    /// No pause is longer.
    pub longest: Duration,
    /// Up to `1/share` of each pause is taken off at random.
    pub share: u32,
}

impl Backoff {
    /// Returns the pause after so many failures in a row, at least 1.
    pub fn pause(&self, failures: u32, jitter: &Jitter) -> Duration {
        // Beyond that it only overflows.
        const MAX_DOUBLINGS: u32 = 20;
        let doublings = failures.saturating_sub(1).min(MAX_DOUBLINGS);
        let pause = self.first.saturating_mul(1 << doublings);
        jitter.shortened(pause.min(self.longest), self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(5),
            share: 4,
        };
        let jitter = Jitter::new(3);
        for (failures, most) in [
            (0, 100),
            (1, 100),
            (2, 200),
            (6, 3_200),
            (7, 5_000),
            (u32::MAX, 5_000),
        ] {
            let pause = backoff.pause(failures, &jitter);
            let most = Duration::from_millis(most);
            assert!(
                pause <= most && pause >= most * 3 / 4,
                "{failures}: {pause:?}"
            );
        }
    }
}
