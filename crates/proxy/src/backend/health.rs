//! Whose turn it is to be asked, and what is known of a backend.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
    Ordering::{AcqRel, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecopy_pool::Jitter;

use crate::backend::Doubt;
use crate::config::HealthConfig;

/// Of so many turns one is taken where nobody doubts.
const QUIET: u32 = 12;

/// After an answer that was not expected the next question comes so soon.
pub(crate) const SOON: Duration = Duration::from_millis(500);

/// And this soon where sessions wait for a backend.
const HURRIED: Duration = Duration::from_millis(200);

/// What the checks know of one backend.
#[derive(Debug)]
pub(crate) struct Health {
    /// Questions that were not answered.
    pub(crate) failed: AtomicU64,
    /// A session was greeted since the last look.
    greeted: AtomicBool,
    /// A session could not connect since the last look.
    doubted: AtomicBool,
    /// Sessions wait for a backend to serve them.
    hurried: AtomicBool,
    /// 0 for unknown, 1 for no, 2 for yes.
    read_only: AtomicU8,
    /// The first check is to tell its part, and is not over.
    is_part_awaited: AtomicBool,
    turns: Mutex<Turns>,
}

/// When it is asked, and what came of it.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) next: Instant,
    /// When it was asked last.
    last: Option<Instant>,
    pub(crate) is_asking: bool,
    /// Consecutive answers that contradict the current state.
    pub(crate) contrary: u32,
    /// Consecutive checks that were skipped.
    passed: u32,
    /// Its error for the last login, if that failed and counts as an answer.
    pub(crate) last_error: Option<String>,
}

impl Turns {
    /// Nothing was learnt of the backend as a whole.
    pub(crate) fn end(&mut self, interval: Duration) {
        self.is_asking = false;
        self.next = Instant::now() + jittered(interval);
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            failed: AtomicU64::new(0),
            greeted: AtomicBool::new(false),
            doubted: AtomicBool::new(false),
            hurried: AtomicBool::new(false),
            read_only: AtomicU8::new(0),
            is_part_awaited: AtomicBool::new(false),
            turns: Mutex::new(Turns {
                next: Instant::now(),
                last: None,
                is_asking: false,
                contrary: 0,
                // The first turn is taken.
                passed: QUIET,
                last_error: None,
            }),
        }
    }
}

impl Health {
    /// A session's connect was greeted.
    pub(crate) fn note_greeting(&self) {
        if !self.greeted.load(Relaxed) {
            self.greeted.store(true, Relaxed);
        }
    }

    /// A session's connect failed.
    pub(crate) fn note_failure(&self) {
        self.doubted.store(true, Release);
    }

    /// Sessions wait for a backend to serve them, or were refused: it is to be asked again soon. This is so even if it answers, as it may
    /// play another part now.
    pub(crate) fn hurry(&self) {
        if !self.hurried.load(Relaxed) {
            self.hurried.store(true, Relaxed);
        }
    }

    /// Whether it is read only, as far as it is known.
    pub(crate) fn read_only(&self) -> Option<bool> {
        match self.read_only.load(Relaxed) {
            0 => None,
            known => Some(known == 2),
        }
    }

    /// It says so, or does not say.
    pub(crate) fn set_read_only(&self, is_read_only: Option<bool>) {
        let known = is_read_only.map_or(0, |is| 1 + u8::from(is));
        self.read_only.store(known, Relaxed);
    }

    /// The first check will say whether it is read only.
    pub(crate) fn await_part(&self) {
        self.is_part_awaited.store(true, Relaxed);
    }

    /// It has, or can't.
    pub(crate) fn end_await(&self) {
        self.is_part_awaited.store(false, Relaxed);
    }

    pub(crate) fn is_part_awaited(&self) -> bool {
        self.is_part_awaited.load(Relaxed)
    }

    /// The error of the last check that was answered and failed to log in.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.turns().last_error.clone()
    }

    pub(crate) fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who of it is to be asked now, if anybody. Then it counts as being asked.
    pub(crate) fn takes_turn(
        &self,
        (is_up, doubt): (bool, impl Fn() -> Doubt),
        config: &HealthConfig,
        interval: Duration,
    ) -> Option<Whom> {
        let mut turns = self.turns();
        let now = Instant::now();
        // Sessions that fail all the time must not have it asked all the time.
        let is_urgent = is_up
            && self.doubted.load(Relaxed)
            && turns
                .last
                .is_none_or(|last| now.duration_since(last) >= SOON);
        // Where nobody can log in, one that answers has nothing to say.
        let says_more = !is_up || config.login.is_some();
        let is_hurried = says_more
            && self.hurried.load(Relaxed)
            && turns
                .last
                .is_none_or(|last| now.duration_since(last) >= HURRIED);
        if turns.is_asking || (now < turns.next && !is_urgent && !is_hurried) {
            return None;
        }
        self.hurried.store(false, Relaxed);
        let doubted = self.doubted.swap(false, AcqRel);
        let greeted = self.greeted.swap(false, Relaxed);
        let doubt = doubt();
        // A failed connect of a session's was to one of those that are doubted.
        let is_fine = is_up && turns.contrary == 0 && (!doubted || doubt == Doubt::Some);
        let is_known = config.login.is_none() && is_fine && doubt != Doubt::All;
        if is_known && (greeted || turns.passed < QUIET) {
            turns.passed = if greeted { 0 } else { turns.passed + 1 };
            if doubt == Doubt::None {
                turns.next = now + jittered(interval);
                return None;
            }
            turns.last = Some(now);
            turns.is_asking = true;
            return Some(Whom::Doubted);
        }
        turns.passed = 0;
        turns.last = Some(now);
        turns.is_asking = true;
        Some(Whom::All)
    }
}

/// Whom of a backend a turn asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Its addresses that are thought well of until one answers, and all of those that are not.
    All,
    /// Those that are not: sessions know of the others.
    Doubted,
}

/// The same within a tenth, so that proxies that were started together do not all ask together.
pub(crate) fn jittered(time: Duration) -> Duration {
    Jitter::default().shortened(time / 10 * 11, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_differ_by_a_tenth_at_most() {
        let times: Vec<_> = (0..100)
            .map(|_| jittered(Duration::from_secs(10)))
            .collect();
        assert!(
            times.iter().all(|time| (9..=11).contains(&time.as_secs())),
            "{times:?}"
        );
        assert!(times.iter().any(|time| *time != times[0]));
    }

    #[test]
    fn nobody_is_asked_who_is_known_to_be_up() {
        let health = Health::default();
        let config = HealthConfig::default();
        let takes =
            |is_up| match health.takes_turn((is_up, || Doubt::None), &config, Duration::ZERO) {
                None => false,
                Some(whom) => whom == Whom::All,
            };
        assert!(takes(true), "the first turn");
        assert!(!takes(true), "while it is being asked");
        health.turns().is_asking = false;
        for turn in 0..QUIET {
            assert!(!takes(true), "turn {turn}");
        }
        assert!(takes(true), "the twelfth without a client");
        health.turns().is_asking = false;
        for _ in 0..10 * QUIET {
            health.note_greeting();
            assert!(!takes(true), "sessions have asked");
        }
        health.note_failure();
        assert!(takes(true), "a session could not connect");
        health.turns().is_asking = false;
        assert!(takes(false), "one that is down is asked every time");
        health.turns().is_asking = false;
        health.turns().next = Instant::now() + Duration::from_secs(3600);
        health.note_failure();
        assert!(!takes(true), "it was asked just now");
        health.turns().last = Instant::now().checked_sub(SOON);
        assert!(takes(true), "the doubt was kept");
        health.turns().is_asking = false;
        health.turns().last = Instant::now().checked_sub(HURRIED);
        health.hurry();
        assert!(!takes(true), "it is known to answer");
        health.hurry();
        assert!(takes(false), "sessions wait for it");
        health.turns().is_asking = false;
        health.hurry();
        assert!(!takes(false), "it was asked just now");
    }

    #[test]
    fn where_one_address_does_not_answer_the_others_are_left_alone() {
        let health = Health::default();
        let config = HealthConfig::default();
        let takes = |doubt| {
            let whom = health.takes_turn((true, || doubt), &config, Duration::ZERO);
            health.turns().is_asking = false;
            whom
        };
        assert_eq!(takes(Doubt::Some), Some(Whom::All), "the first turn");
        for turn in 0..QUIET {
            health.note_failure();
            assert_eq!(takes(Doubt::Some), Some(Whom::Doubted), "turn {turn}");
        }
        assert_eq!(
            takes(Doubt::Some),
            Some(Whom::All),
            "the twelfth without a client"
        );
        for _ in 0..10 * QUIET {
            health.note_greeting();
            assert_eq!(
                takes(Doubt::Some),
                Some(Whom::Doubted),
                "sessions have asked"
            );
        }
        assert_eq!(takes(Doubt::All), Some(Whom::All), "nobody answers");
    }
}
