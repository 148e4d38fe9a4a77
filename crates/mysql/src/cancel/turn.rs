//! Whose turn it is: the connection's, or that of an order in flight to the server.
//!
//! One word, so that nothing can come in between:
//!
//! | bits | meaning                                                                  | set by              |
//! |------|--------------------------------------------------------------------------|---------------------|
//! | 0    | under way: a statement was begun, and its end was not seen               | connection          |
//! | 1    | delivering: KILL is being sent or its reply waited for; nothing may begin | order               |
//! | 2    | late: KILL was executed; what comes next has to take its mark            | order               |
//! | 3    | lost: nobody knows whether, and when, KILL is executed                   | order               |
//! | 4..  | generation: how many statements were begun                               | connection          |

use std::sync::atomic::{AtomicU64, Ordering};

const UNDER_WAY: u64 = 1;
const DELIVERING: u64 = 1 << 1;
const LATE: u64 = 1 << 2;
const LOST: u64 = 1 << 3;
const GENERATION: u64 = 1 << 4;
const FLAGS: u64 = GENERATION - 1;

/// The word.
#[derive(Debug)]
pub(crate) struct Turn(AtomicU64);

/// Whether a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It has begun.
    Ready,
    /// Not before the order that is being delivered is.
    Delivering,
    /// Not before a barrier.
    Late,
    /// Never.
    Lost,
}

/// Whether an order may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Now: until it is delivered nothing begins.
    Started,
    /// Its statement is over.
    Over,
    /// Another one is being delivered to the same statement.
    Busy,
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server has executed it.
    Killed,
    /// The server has not, and will not.
    Refused,
    /// It left, and no reply came.
    Lost,
}

impl Turn {
    pub(crate) fn new(under_way: bool) -> Self {
        Self(AtomicU64::new(if under_way { UNDER_WAY } else { 0 }))
    }

    /// A statement begins, if nothing is in its way. One that was under way is over then.
    #[inline]
    pub(crate) fn begin(&self) -> Begin {
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if word & (DELIVERING | LATE | LOST) != 0 {
                return hindrance(word);
            }
            let next = (word & !FLAGS) + (GENERATION | UNDER_WAY);
            if self.replace(word, next) {
                return Begin::Ready;
            }
        }
    }

    /// The statement is over: an order that has not been started comes to nothing.
    #[inline]
    pub(crate) fn end(&self) {
        self.0.fetch_and(!UNDER_WAY, Ordering::AcqRel);
    }

    /// The statement that is under way.
    pub(crate) fn under_way(&self) -> Option<u64> {
        let word = self.0.load(Ordering::Acquire);
        (word & UNDER_WAY != 0).then_some(word / GENERATION)
    }

    /// What the connection knows to be under way, whatever was noted; only the connection may call this.
    pub(crate) fn keep_under_way(&self) -> u64 {
        self.0.fetch_or(UNDER_WAY, Ordering::AcqRel) / GENERATION
    }

    /// An order to the statement `generation` is about to be sent.
    pub(crate) fn start(&self, generation: u64) -> Start {
        loop {
            let word = self.0.load(Ordering::Acquire);
            if word / GENERATION != generation || word & UNDER_WAY == 0 || word & LOST != 0 {
                return Start::Over;
            }
            if word & DELIVERING != 0 {
                return Start::Busy;
            }
            if self.replace(word, word | DELIVERING) {
                return Start::Started;
            }
        }
    }

    /// The order that was started is over.
    pub(crate) fn delivered(&self, outcome: Outcome) {
        let left = match outcome {
            Outcome::Killed => LATE,
            Outcome::Refused => 0,
            Outcome::Lost => LOST,
        };
        self.0.fetch_or(left, Ordering::AcqRel);
        self.0.fetch_and(!DELIVERING, Ordering::AcqRel);
    }

    pub(crate) fn is_delivering(&self) -> bool {
        self.0.load(Ordering::Acquire) & DELIVERING != 0
    }

    /// Whether no order is in flight, and none was executed that a statement has yet to consume.
    pub(crate) fn is_clear(&self) -> bool {
        self.0.load(Ordering::Acquire) & (DELIVERING | LATE | LOST) == 0
    }

    /// Whether an order was executed whose mark nothing is known to have taken.
    pub(crate) fn is_late(&self) -> bool {
        self.0.load(Ordering::Acquire) & LATE != 0
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.0.load(Ordering::Acquire) & LOST != 0
    }

    /// A barrier is about to be sent: no statement is under way that an order could be for. False where one was started
    /// before.
    pub(crate) fn start_barrier(&self) -> bool {
        self.0.fetch_and(!UNDER_WAY, Ordering::AcqRel) & DELIVERING == 0
    }

    /// The barrier was executed, and no order could be started since it was sent.
    pub(crate) fn end_barrier(&self) {
        self.0.fetch_and(!LATE, Ordering::AcqRel);
    }

    fn replace(&self, word: u64, next: u64) -> bool {
        let replaced =
            self.0
                .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed);
        replaced.is_ok()
    }
}

#[cold]
fn hindrance(word: u64) -> Begin {
    if word & LOST != 0 {
        Begin::Lost
    } else if word & DELIVERING != 0 {
        Begin::Delivering
    } else {
        Begin::Late
    }
}

#[cfg(test)]
mod tests;
