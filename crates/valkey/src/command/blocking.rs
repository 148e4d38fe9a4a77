//! How long a server may hold a reply back.

use std::time::Duration;

/// How long a server may hold a reply back because the command asks for it: BLPOP's timeout, XREAD's BLOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// The reply is not held back.
    No,
    /// At most this long, plus the network round trip.
    AtMost(Duration),
    /// Until something arrives, without a limit.
    Forever,
}

impl Blocking {
    /// Reads a timeout as BLPOP does: 0 means no limit.
    pub(crate) fn seconds(seconds: f64) -> Self {
        if seconds == 0.0 {
            return Self::Forever;
        }
        if seconds.is_nan() || seconds < 0.0 {
            return Self::AtMost(Duration::ZERO); // which the server refuses
        }
        Duration::try_from_secs_f64(seconds).map_or(Self::Forever, Self::AtMost)
    }

    /// Reads a timeout as XREAD and WAIT do: 0 means no limit.
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
