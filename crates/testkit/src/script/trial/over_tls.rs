//! The same conversation over TLS. The ciphertext is other in each play and as long: one play is counted, and the others
//! are cut and broken off at its places; a few of them, which ones the script's bytes decide.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Driver, LARGE, Trial};
use crate::script::{Delivery, Fault, FaultKind, Place, Player, TlsVersion, WireMarks};

/// Cuts of what the server puts on the network, faults there, and faults of what the client puts there.
const CUTS: usize = 8;
const SERVER_FAULTS: usize = 12;
const CLIENT_FAULTS: usize = 8;

/// All four: both versions, in large records and in small ones.
const KINDS: [(TlsVersion, bool); 4] = [
    (TlsVersion::Tls13, false),
    (TlsVersion::Tls12, false),
    (TlsVersion::Tls13, true),
    (TlsVersion::Tls12, true),
];

/// What was counted in one play.
struct Counted {
    marks: WireMarks,
    server_end: usize,
}

impl Trial {
    pub(super) fn is_over_tls(&self) -> bool {
        self.script.tls_from.is_some()
    }

    /// The same over TLS, where that has a meaning: the client must see the same.
    pub(super) fn over_tls(&self) -> Option<Self> {
        let script = self.script.over_tls()?;
        let mut trial = Self::new(&script, self.talk, &[]);
        trial.expected.clone_from(&self.expected);
        trial.ends_early = self.ends_early;
        Some(if self.cap.is_some() {
            trial.capped()
        } else {
            trial
        })
    }

    pub(super) fn run_over_tls(&self) {
        if self.ends_early {
            return self.run_a_little_over_tls();
        }
        let mut plays = 0;
        for (tls, driver) in KINDS.into_iter().zip(self.drivers()) {
            self.deliver_over_tls(driver, tls, Delivery::Whole);
        }
        if self.script.server.len() >= LARGE {
            return;
        }
        let counted = KINDS.map(|tls| self.count(tls));
        for delivery in [
            Delivery::AtMost(1),
            Delivery::Random(1),
            Delivery::Random(2),
        ] {
            for driver in self.drivers().take(2) {
                plays += 1;
                self.deliver_over_tls(driver, KINDS[plays % KINDS.len()], delivery);
            }
        }
        for (index, (tls, counted)) in KINDS.into_iter().zip(&counted).enumerate() {
            let ways = self.some(&counted.cuts(), CUTS / KINDS.len());
            for (driver, at) in self.drivers().skip(index).zip(ways) {
                self.deliver_over_tls(driver, tls, Delivery::SplitAt(at));
            }
            self.faults_over_tls(index, tls, counted);
        }
    }

    /// For the many conversations that end early: two of the four kinds, and one play of each sort.
    fn run_a_little_over_tls(&self) {
        let first = self.chance(KINDS.len());
        for index in [first, first + 1] {
            let tls = KINDS[index % KINDS.len()];
            let counted = self.count(tls);
            for (driver, delivery) in self
                .drivers()
                .skip(index)
                .zip([Delivery::Whole, Delivery::Random(1)])
            {
                self.deliver_over_tls(driver, tls, delivery);
            }
            for (driver, at) in self.drivers().zip(self.some(&counted.cuts(), 1)) {
                self.deliver_over_tls(driver, tls, Delivery::SplitAt(at));
            }
            for (driver, at) in self
                .drivers()
                .skip(index)
                .zip(self.some(&counted.server_places(), 2))
            {
                self.fail_over_tls(driver, tls, Place::ServerWire(at), FaultKind::Eof);
            }
        }
    }

    /// Cuts it at every place of what the server puts on the network, and breaks it off at each.
    ///
    /// # Panics
    /// Where the client sees or sends anything else; a script that can't be played over TLS.
    pub fn run_everywhere_over_tls(&self) {
        let over_tls = self.over_tls();
        let trial = over_tls.as_ref().unwrap_or(self);
        assert!(trial.is_over_tls(), "no conversation over tls");
        trial.run_over_tls();
        for tls in [KINDS[0], KINDS[1]] {
            let counted = trial.count(tls);
            for (at, driver) in (1..counted.server_end).zip(trial.drivers()) {
                trial.deliver_over_tls(driver, tls, Delivery::SplitAt(at));
                trial.fail_over_tls(driver, tls, Place::ServerWire(at), FaultKind::Eof);
            }
        }
    }

    fn faults_over_tls(&self, index: usize, tls: (TlsVersion, bool), counted: &Counted) {
        use FaultKind::{Eof, Pipe, Reset, Silence};
        let places = self.some(&counted.server_places(), SERVER_FAULTS / KINDS.len());
        let kinds = [Eof, Silence, Eof, Reset].into_iter().cycle().skip(index);
        for ((at, kind), driver) in places
            .into_iter()
            .zip(kinds)
            .zip(self.drivers().skip(index))
        {
            self.fail_over_tls(driver, tls, Place::ServerWire(at), kind);
        }
        let places = self.some(&counted.client_places(), CLIENT_FAULTS / KINDS.len());
        let kinds = [Pipe, Silence, Reset].into_iter().cycle().skip(index);
        for ((at, kind), driver) in places
            .into_iter()
            .zip(kinds)
            .zip(self.drivers().skip(index))
        {
            self.fail_over_tls(driver, tls, Place::ClientWire(at), kind);
        }
    }

    fn count(&self, (version, small_records): (TlsVersion, bool)) -> Counted {
        let player = Player::new(Arc::clone(&self.script), Delivery::Whole, None);
        let player = player.speaking(version, small_records);
        self.play(Driver::Blocking, &player, None, "to be counted");
        Counted {
            marks: player.wire_marks(),
            server_end: player.wire_taken(),
        }
    }

    fn deliver_over_tls(&self, driver: Driver, tls: (TlsVersion, bool), delivery: Delivery) {
        let what = format!("{driver:?}, {delivery:?}, {tls:?}");
        let player = Player::new(Arc::clone(&self.script), delivery, None);
        self.deliver_by(driver, &player.speaking(tls.0, tls.1), &what);
    }

    fn fail_over_tls(
        &self,
        driver: Driver,
        tls: (TlsVersion, bool),
        place: Place,
        kind: FaultKind,
    ) {
        let fault = Fault { place, kind };
        let what = format!("{driver:?}, {fault:?}, {tls:?}");
        let player = Player::new(Arc::clone(&self.script), Delivery::Whole, Some(fault));
        self.fail_by(driver, &player.speaking(tls.0, tls.1), kind, &what);
    }

    fn drivers(&self) -> impl Iterator<Item = Driver> + use<> {
        let drivers = [
            Driver::Blocking,
            Driver::Tokio { hesitates: true },
            Driver::Tokio { hesitates: false },
        ];
        drivers.into_iter().cycle()
    }

    /// So many of the places, evenly; where they begin depends on the script alone.
    fn some(&self, places: &BTreeSet<usize>, most: usize) -> Vec<usize> {
        let step = places.len().div_ceil(most).max(1);
        let first = self.chance(step);
        places.iter().copied().skip(first).step_by(step).collect()
    }

    /// A number below `bound` that depends on the script alone.
    fn chance(&self, bound: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        (&self.script.server, &self.script.client).hash(&mut hasher);
        usize::try_from(hasher.finish() >> 33).unwrap_or(0) % bound
    }
}

impl Counted {
    fn cuts(&self) -> BTreeSet<usize> {
        (1..self.server_end).collect()
    }

    /// Before each record, within its header, and in its middle.
    fn server_places(&self) -> BTreeSet<usize> {
        let ends = self.marks.server.iter().skip(1).chain([&self.server_end]);
        let records = self.marks.server.iter().zip(ends);
        records
            .flat_map(|(from, to)| [*from, from + 2, (from + to) / 2])
            .collect()
    }

    /// Before each of the client's writes and in it.
    fn client_places(&self) -> BTreeSet<usize> {
        self.marks
            .client
            .iter()
            .flat_map(|at| [*at, at + 1, at + 7])
            .collect()
    }
}
