//! One conversation under every delivery and every fault, over both drivers.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Delivery, Fault, FaultKind, Place, Player, Script, noise};
use crate::alloc::Watch;

mod over_tls;

/// A script up to this size is cut at every byte: 4 KiB.
const EVERY_BYTE: usize = 4 << 10;

/// A larger one within so many bytes of each header.
const NEAR_HEADER: usize = 16;

/// A script from this size on is delivered a few times only: 1 MiB.
const LARGE: usize = 1 << 20;

/// Random deliveries of each script.
const RANDOM: u64 = 8;

/// Memory that a play under a cap may take beyond what the server sends: 1 MiB. Buffers, a step ahead of a claim, and the
/// test's own log.
const BEYOND: usize = 1 << 20;

/// And over TLS: ciphertext, the library's own, and the server's end of it, which is made here too.
const TLS: usize = 1 << 20;

/// The deadline of each call where the network falls silent. Only the clock of the tokio runs has to come near it, and
/// that one runs ahead while nothing else can happen.
const DEADLINE: Duration = Duration::from_secs(60);

/// The client's part, once for each driver: gives what it saw, line by line.
///
/// A failure of the connection is its last line, and starts with the word that [`Trial`] expects for the fault.
#[derive(Clone, Copy)]
pub struct Talk {
    /// Over the blocking driver, each call within the deadline.
    pub blocking: fn(onecopy_net::blocking::Stream, Option<Duration>) -> Vec<String>,
    /// Over the tokio driver.
    pub tokio: fn(onecopy_net::tokio::Stream, Option<Duration>) -> Later,
}

/// What the client will have seen, line by line.
pub type Later = Pin<Box<dyn Future<Output = Vec<String>>>>;

/// A script, the client's part, and what the client must see.
pub struct Trial {
    script: Arc<Script>,
    talk: Talk,
    expected: Vec<String>,
    /// The conversation ends on an error: what the server continues to say is not read.
    ends_early: bool,
    /// Bytes of memory that one play may take.
    cap: Option<usize>,
    runtime: tokio::runtime::Runtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Blocking,
    Tokio { hesitates: bool },
}

const DRIVERS: [Driver; 2] = [Driver::Blocking, Driver::Tokio { hesitates: true }];

impl Trial {
    /// Of a conversation in which the client must see the lines `expected`.
    ///
    /// # Panics
    /// No runtime to be had.
    pub fn new(script: &Script, talk: Talk, expected: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        Self {
            script: Arc::new(script.clone()),
            talk,
            expected: expected.iter().map(ToString::to_string).collect(),
            ends_early: false,
            cap: None,
            runtime,
        }
    }

    /// The same under a cap on memory: an allocation beyond it fails, and none may have failed in the end. For hostile
    /// servers, whose claims must cost nothing: 1 MiB, and four times what the server really sends. Counts only in a
    /// binary whose allocator is [`Allocator`](crate::alloc::Allocator).
    #[must_use]
    pub fn capped(mut self) -> Self {
        noise(0); // Of the tests' own, made once.
        let said = 4 * self.script.server.len();
        let tls = if self.is_over_tls() { TLS + said } else { 0 };
        self.cap = Some(BEYOND + said + tls);
        self
    }

    /// Plays it whole, byte by byte, cut at every place, in random pieces; then with a fault at every place. Then some of
    /// that over TLS.
    ///
    /// # Panics
    /// Where the client sees or sends anything else.
    pub fn run(&self) {
        if self.is_over_tls() {
            return self.run_over_tls();
        }
        self.play_whole();
        self.deliveries();
        self.faults();
        if let Some(trial) = self.over_tls() {
            trial.run_over_tls();
        }
    }

    /// What the client sees of a script played whole, the same over both drivers and over TLS; then as
    /// [`run`](Self::run). For errors that are told apart by more than a whole line. [Capped](Self::capped).
    ///
    /// # Panics
    /// Where one driver sees or sends anything else than the other.
    pub fn see(script: &Script, talk: Talk) -> Vec<String> {
        let mut trial = Self::new(script, talk, &[]).capped();
        trial.ends_early = true;
        let player = Player::new(Arc::clone(&trial.script), Delivery::Whole, None);
        trial.expected = trial.play(Driver::Blocking, &player, None, "whole");
        trial.run();
        trial.expected
    }

    /// All that the client may see, over both drivers: for scripts where it depends on the delivery.
    pub fn see_each(script: &Script, talk: Talk) -> BTreeSet<Vec<String>> {
        let trial = Self::new(script, talk, &[]);
        let mut ways = vec![Delivery::Whole, Delivery::AtMost(1), Delivery::AtMost(3)];
        ways.extend((1..=RANDOM).map(Delivery::Random));
        ways.extend(trial.cuts().into_iter().map(Delivery::SplitAt));
        let ways = ways
            .into_iter()
            .flat_map(|way| DRIVERS.map(|driver| (way, driver)));
        let see = |(way, driver): (Delivery, Driver)| {
            let player = Player::new(Arc::clone(&trial.script), way, None);
            trial.play(driver, &player, None, &format!("{driver:?}, {way:?}"))
        };
        ways.map(see).collect()
    }

    /// Plays it whole, over both drivers, then over TLS.
    ///
    /// # Panics
    /// Where the client sees or sends anything else.
    pub fn whole(&self) {
        self.play_whole();
        if let Some(trial) = self.over_tls() {
            trial.play_whole();
        }
    }

    fn play_whole(&self) {
        for driver in [
            Driver::Blocking,
            Driver::Tokio { hesitates: false },
            Driver::Tokio { hesitates: true },
        ] {
            self.deliver(driver, Delivery::Whole);
        }
    }

    fn deliveries(&self) {
        let server = &self.script.server;
        let mut ways: Vec<_> = (1..=RANDOM).map(Delivery::Random).collect();
        if server.len() < LARGE {
            ways.push(Delivery::AtMost(1));
            ways.push(Delivery::AtMost(3));
        } else {
            ways.truncate(1);
        }
        let cuts = self.cuts();
        // A large one is moved once a cut: a few of them, spread over all, and each over one driver.
        let step = if server.len() < LARGE {
            1
        } else {
            cuts.len() / 6 + 1
        };
        ways.extend(cuts.into_iter().step_by(step).map(Delivery::SplitAt));
        for (number, way) in ways.into_iter().enumerate() {
            for (index, driver) in DRIVERS.into_iter().enumerate() {
                if server.len() < LARGE || number % 2 == index {
                    self.deliver(driver, way);
                }
            }
        }
    }

    /// Offsets of the server's bytes at which a delivery is cut.
    fn cuts(&self) -> BTreeSet<usize> {
        let range = self.script.preamble + 1..self.script.server.len();
        if range.len() <= EVERY_BYTE {
            return range.collect();
        }
        let near = |mark: &usize| mark.saturating_sub(NEAR_HEADER)..mark + NEAR_HEADER;
        let marks = self.script.server_marks.iter().flat_map(near);
        marks.filter(|cut| range.contains(cut)).collect()
    }

    fn faults(&self) {
        use FaultKind::{Eof, Pipe, Reset, Silence};
        let is_large = self.script.server.len() >= LARGE;
        let marks = &self.script.server_marks;
        let steps: BTreeSet<_> = marks
            .iter()
            .filter(|at| **at >= self.script.preamble)
            .collect();
        let thin = if is_large { steps.len() / 4 + 1 } else { 1 };
        for &at in steps.into_iter().step_by(thin) {
            for kind in [Eof, Reset, Silence] {
                self.fail(Place::Server(at), kind);
            }
        }
        if is_large {
            return;
        }
        for at in self.cuts() {
            self.fail(Place::Server(at), Eof);
        }
        for &mark in &self.script.client_marks {
            for at in [mark, mark + 1] {
                for kind in [Pipe, Reset, Silence] {
                    self.fail(Place::Client(at), kind);
                }
            }
        }
    }

    fn deliver(&self, driver: Driver, delivery: Delivery) {
        let what = format!("{driver:?}, {delivery:?}");
        let player = Player::new(Arc::clone(&self.script), delivery, None);
        self.deliver_by(driver, &player, &what);
    }

    fn deliver_by(&self, driver: Driver, player: &Player, what: &str) {
        let seen = self.play(driver, player, None, what);
        self.compare(&seen, what);
        match player.finished() {
            Err(left) if !self.ends_early => panic!("{what}: {left}"),
            _ => {}
        }
    }

    fn compare(&self, seen: &[String], what: &str) {
        if seen != self.expected {
            let show = |lines: &[String]| lines.join("\n  ");
            panic!(
                "{what}: the client saw\n  {}\nand should have seen\n  {}",
                show(seen),
                show(&self.expected)
            );
        }
    }

    /// Plays it whole up to one fault; gives what the client saw, the same over both drivers and over TLS.
    /// [Capped](Self::capped).
    ///
    /// # Panics
    /// Where one driver sees anything else than the other.
    pub fn see_fault(script: &Script, talk: Talk, fault: Fault) -> Vec<String> {
        Self::see_claim(script, talk, fault, 0)
    }

    /// The same of a server that claims to send `claims` bytes: within the limits that reserves address space, and no
    /// memory.
    ///
    /// # Panics
    /// As [`see_fault`](Self::see_fault).
    pub fn see_claim(script: &Script, talk: Talk, fault: Fault, claims: usize) -> Vec<String> {
        let seen = Self::new(script, talk, &[]).see_one_claim(fault, claims);
        if let Some((script, Some(fault))) = script.over_tls_with(Some(fault)) {
            let inside = Self::new(&script, talk, &[]).see_one_claim(fault, claims);
            assert_eq!(seen, inside, "it differs over tls");
        }
        seen
    }

    fn see_one_claim(self, fault: Fault, claims: usize) -> Vec<String> {
        let mut trial = self.capped();
        trial.cap = trial.cap.map(|cap| cap + claims);
        let [blocking, tokio] = DRIVERS.map(|driver| {
            let player = Player::new(Arc::clone(&trial.script), Delivery::Whole, Some(fault));
            trial.play(driver, &player, Some(DEADLINE), "a fault")
        });
        assert_eq!(blocking, tokio, "the drivers differ");
        blocking
    }

    /// After a fault the client has seen a part of what it should see, then an error that names the fault. Or all of it,
    /// where it has no more to do with the server.
    fn fail(&self, place: Place, kind: FaultKind) {
        for driver in DRIVERS {
            let fault = Fault { place, kind };
            let what = format!("{driver:?}, {fault:?}");
            let player = Player::new(Arc::clone(&self.script), Delivery::Whole, Some(fault));
            self.fail_by(driver, &player, kind, &what);
        }
    }

    fn fail_by(&self, driver: Driver, player: &Player, kind: FaultKind, what: &str) {
        let deadline = (kind == FaultKind::Silence).then_some(DEADLINE);
        let seen = self.play(driver, player, deadline, what);
        if seen == self.expected {
            return;
        }
        let words: &[&str] = match kind {
            FaultKind::Eof => &["Closed", "the server closed the connection while tls"],
            FaultKind::Reset => &["reading", "writing"],
            FaultKind::Pipe => &["writing"],
            FaultKind::Silence => &["timeout"],
        };
        let named = |line: &String| words.iter().any(|word| line.starts_with(word));
        let good = match seen.split_last() {
            Some((last, before)) => named(last) && self.expected.starts_with(before),
            None => false,
        };
        if !good {
            println!("{what}: the last line should start with one of {words:?}");
            self.compare(&seen, what);
        }
    }

    fn play(
        &self,
        driver: Driver,
        player: &Player,
        deadline: Option<Duration>,
        what: &str,
    ) -> Vec<String> {
        let watch = Watch::above(usize::MAX).capped(self.cap.unwrap_or(usize::MAX));
        let play = || match driver {
            Driver::Blocking => (self.talk.blocking)(player.blocking_stream(), deadline),
            Driver::Tokio { hesitates } => {
                let player = if hesitates {
                    player.clone().hesitating()
                } else {
                    player.clone()
                };
                let talk = (self.talk.tokio)(player.tokio_stream(), deadline);
                let talk = async { tokio::time::timeout(DEADLINE * 100, talk).await };
                self.runtime.block_on(talk).expect("the client hangs")
            }
        };
        let played = catch_unwind(AssertUnwindSafe(|| watch.run(play)));
        assert_eq!(
            watch.failed(),
            None,
            "{what}: {:?} bytes were not enough, {} were in use",
            self.cap,
            watch.peak()
        );
        played.unwrap_or_else(|panic| {
            eprintln!("while playing {what}");
            resume_unwind(panic)
        })
    }
}
