//! How long a server may keep a reply back.

use std::time::Duration;

/// How long a server may keep a reply back because the command says so: BLPOP's timeout, XREAD's BLOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Not at all.
    No,
    /// At most so long, and what the way takes.
    AtMost(Duration),
    /// Until something comes.
    Forever,
}

impl Blocking {
    /// As BLPOP has it: 0 is for ever.
    pub(crate) fn seconds(seconds: f64) -> Self {
        if seconds == 0.0 {
            return Self::Forever;
        }
        if seconds.is_nan() || seconds < 0.0 {
            return Self::AtMost(Duration::ZERO); // which the server refuses
        }
        Duration::try_from_secs_f64(seconds).map_or(Self::Forever, Self::AtMost)
    }

    /// As XREAD and WAIT have it: 0 is for ever.
    pub(crate) fn milliseconds(milliseconds: i64) -> Self {
        match u64::try_from(milliseconds) {
            Ok(0) => Self::Forever,
            Ok(milliseconds) => Self::AtMost(Duration::from_millis(milliseconds)),
            Err(_) => Self::AtMost(Duration::ZERO), // which the server refuses
        }
    }
}

#[cfg(test)]
mod tests;
