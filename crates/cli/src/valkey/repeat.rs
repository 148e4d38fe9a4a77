//! `-r` and `-i`: the same again.

use std::time::Duration;

use super::interrupt::Interrupt;
use crate::failure::Failure;

/// How often something is done, and with which pause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeat {
    /// `None`: until a signal ends it.
    pub(super) times: Option<u64>,
    pub(super) pause: Duration,
}

impl Repeat {
    /// Does it so often, or until a signal comes. That is an early end only where the number was given.
    pub(super) fn run(
        self,
        interrupt: &Interrupt,
        mut once: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let running = interrupt.begin();
        let mut done = 0;
        loop {
            once()?;
            done += 1;
            if self.times == Some(done) {
                return Ok(());
            }
            running.pause(self.pause);
            match (running.signal(), self.times) {
                (None, _) => {}
                (Some(_), None) => return Ok(()),
                (Some(signal), Some(_)) => return Err(Failure::Cancelled { signal }),
            }
        }
    }
}

/// Reads the number of `-r`, of which -1 is no end as in `redis-cli`.
pub(super) fn times(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(times) if times > 0 || times == -1 => Ok(times),
        _ => Err("write a number from 1 on, or -1 for no end".to_owned()),
    }
}

/// Reads the seconds of `-i`.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "write seconds, such as 5 or 0.1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_seconds_are_read() {
        assert_eq!(times("3"), Ok(3));
        assert_eq!(times("-1"), Ok(-1));
        for text in ["0", "-2", "x", ""] {
            assert!(times(text).is_err(), "{text}");
        }
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for text in ["0", "-1", "nan", "inf", "1e300", "x"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
