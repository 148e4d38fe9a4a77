//! The steps, at random from a seed.

mod binary;
mod keeping;
mod plain;
mod random;
mod schema;
mod variables;

use std::collections::{BTreeMap, VecDeque};

use onecopy_mysql_proto::StatusFlags;
use onecopy_testkit::server::ServerKind;

use crate::reply::Reply;
use crate::step::{Step, Type};
use random::Random;
pub(crate) use schema::schema;

/// Something that a session does: one step or several, which follow one another without a break.
pub(crate) struct Item {
    pub(crate) name: &'static str,
    /// How often it comes among those of its kind.
    pub(crate) weight: usize,
    pub(crate) steps: fn(&mut Turn<'_>) -> Vec<Step>,
}

/// What an item can ask for.
pub(crate) struct Turn<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) session: usize,
    /// The number of the step.
    pub(crate) n: usize,
    pub(crate) slots: &'a mut [Option<Slot>; SLOTS],
    pub(crate) kind: ServerKind,
}

/// Places for prepared statements in a session.
pub(crate) const SLOTS: usize = 4;

/// A statement that is prepared.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) sql: String,
    /// Those of the last execution; empty before the first one.
    pub(crate) types: Vec<Type>,
    /// It was executed with a cursor.
    pub(crate) had_cursor: bool,
}

impl Slot {
    pub(crate) fn parameters(&self) -> usize {
        self.sql.matches('?').count()
    }
}

#[derive(Debug, Default)]
struct Session {
    /// It has something that keeps its connection until it is reset or gone.
    is_pinned: bool,
    /// An error without autocommit may have begun a transaction: it has no status.
    may_be_in_transaction: bool,
    /// The next transaction is to be a certain one.
    has_chosen_transaction: bool,
    status: Option<StatusFlags>,
    slots: [Option<Slot>; SLOTS],
    /// What comes next, if that is fixed.
    next: VecDeque<(&'static str, Step)>,
}

impl Session {
    fn is_in_transaction(&self) -> bool {
        let is_in = StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.status.is_some_and(|status| status.intersects(is_in))
    }

    fn keeps(&self) -> bool {
        self.is_pinned
            || self.may_be_in_transaction
            || self.has_chosen_transaction
            || self.is_in_transaction()
    }

    /// Whether any statement may begin a transaction.
    fn may_begin(&self) -> bool {
        let status = self.status.unwrap_or(StatusFlags::AUTOCOMMIT);
        !status.contains(StatusFlags::AUTOCOMMIT)
    }
}

/// Sessions, and what they are at.
pub(crate) struct Script {
    random: Random,
    sessions: Vec<Session>,
    most_keepers: usize,
    steps: usize,
    urgent: Option<usize>,
    kind: ServerKind,
    free: Items,
    pinning: Items,
    choosing: Items,
    kept: Items,
    counts: BTreeMap<&'static str, usize>,
    /// Pins that the script did not ask for: the item and the reason.
    unforeseen: BTreeMap<(&'static str, String), usize>,
    without: Vec<String>,
}

impl Script {
    /// All items but those of these names, and of those that the environment leaves out.
    pub(crate) fn new(
        seed: u64,
        sessions: usize,
        most_keepers: usize,
        kind: ServerKind,
        without: &[&str],
    ) -> Self {
        let more = std::env::var("ONECOPY_MIRROR_WITHOUT");
        let more = more.unwrap_or_default();
        let without = without.iter().copied().chain(more.split(','));
        let without: Vec<String> = without.map(str::to_owned).collect();
        Self {
            random: Random::new(seed),
            sessions: (0..sessions).map(|_| Session::default()).collect(),
            most_keepers,
            steps: 0,
            urgent: None,
            kind,
            free: Items::new(&[plain::FREE, variables::FREE, binary::FREE], &without),
            pinning: Items::new(&[keeping::PINNING, binary::PINNING], &without),
            choosing: Items::new(&[keeping::CHOOSING], &without),
            kept: Items::new(&[keeping::KEPT], &without),
            counts: BTreeMap::new(),
            unforeseen: BTreeMap::new(),
            without,
        }
    }

    /// The next session, the item's name and the step.
    pub(crate) fn next(&mut self) -> (usize, &'static str, Step) {
        self.steps += 1;
        let session = match self.urgent.take() {
            Some(session) => session,
            None => self.choose(),
        };
        if self.sessions[session].next.is_empty() {
            self.plan(session);
        }
        let planned = self.sessions[session].next.pop_front();
        let (name, step) = planned.unwrap_or(("ping", Step::Ping));
        (session, name, step)
    }

    fn keepers(&self) -> Vec<usize> {
        let all = 0..self.sessions.len();
        all.filter(|&at| self.sessions[at].keeps()).collect()
    }

    /// A session that can go on without waiting for others.
    fn choose(&mut self) -> usize {
        let keepers = self.keepers();
        // They have their turn more often, so that they come to an end.
        if !keepers.is_empty() && self.random.below(3) == 0 {
            return keepers[self.random.below(keepers.len())];
        }
        loop {
            let at = self.random.below(self.sessions.len());
            let session = &self.sessions[at];
            if session.keeps() || !session.may_begin() || keepers.len() < self.most_keepers {
                return at;
            }
        }
    }

    fn plan(&mut self, at: usize) {
        let keepers = self.keepers().len();
        let session = &self.sessions[at];
        let is_keeping = session.keeps();
        let has_room = is_keeping || keepers < self.most_keepers;
        // Pins are for the most part for good, and would leave no room for transactions.
        let items = match (is_keeping, self.random.below(12)) {
            (true, 0..7) => &self.kept,
            (true, 7..9) if session.is_pinned => &self.pinning,
            (true, _) => &self.free,
            (false, 0) if has_room => &self.choosing,
            (false, 1) if has_room && self.random.below(4) == 0 => &self.pinning,
            (false, _) => &self.free,
        };
        let pins = std::ptr::eq(items, &self.pinning);
        let item = items.choose(&mut self.random);
        let session = &mut self.sessions[at];
        let mut turn = Turn {
            random: &mut self.random,
            session: at,
            n: self.steps,
            slots: &mut session.slots,
            kind: self.kind,
        };
        let steps = (item.steps)(&mut turn);
        session.is_pinned |= pins;
        session.has_chosen_transaction |= item.name == "chosen transaction";
        let steps = steps.into_iter().map(|step| (item.name, step));
        session.next.extend(steps);
        *self.counts.entry(item.name).or_default() += 1;
    }

    /// Both replies are equal: what the session is at now.
    pub(crate) fn done(&mut self, at: usize, step: &Step, reply: &Reply, status: StatusFlags) {
        let session = &mut self.sessions[at];
        if step.is_end() || reply.is_closed() {
            *session = Session::default();
            return;
        }
        let was_in = session.is_in_transaction();
        session.status = Some(status);
        session.may_be_in_transaction = reply.is_error() && session.may_begin();
        if was_in && !session.is_in_transaction() {
            session.has_chosen_transaction = false;
        }
        if let Some((slot, sql)) = step.prepares() {
            session.slots[slot] = (!reply.is_error()).then(|| Slot {
                sql: sql.to_owned(),
                types: Vec::new(),
                had_cursor: false,
            });
        }
        match step {
            Step::Reset | Step::ChangeUser(_) if !reply.is_error() => {
                session.is_pinned = false;
                session.has_chosen_transaction = false;
                session.slots = Default::default();
            }
            Step::Close(slot) => session.slots[*slot] = None,
            Step::Execute(execution) => {
                let types = execution.parameters.iter().map(|(kind, _)| *kind);
                if let Some(Some(slot)) = session.slots.get_mut(execution.slot) {
                    slot.types = types.collect();
                    slot.had_cursor |= execution.cursor;
                }
            }
            _ => {}
        }
        // What is noted of a statement may be asked for.
        if session.next.is_empty() && reply.has_warnings() && self.random.below(3) == 0 {
            let sql = self.random.of(&[
                "SHOW WARNINGS",
                "SHOW WARNINGS",
                "SHOW ERRORS",
                "SHOW COUNT(*) WARNINGS",
                "SHOW WARNINGS LIMIT 1",
            ]);
            let name = match reply.is_of_unknown_statement() {
                true => "warnings of an unknown statement",
                false => "warnings",
            };
            if !self.without.iter().any(|one| one == name) {
                session.next.push_back((name, Step::query(sql)));
            }
        }
        if session.next.is_empty()
            && session.is_in_transaction()
            && self.keepers().len() > self.most_keepers
        {
            // An error has kept a free item from its COMMIT.
            let end = ("end of a transaction", Step::query("ROLLBACK"));
            self.sessions[at].next.push_back(end);
        }
        if !self.sessions[at].next.is_empty() {
            self.urgent = Some(at);
        }
    }

    /// Whether a session is known to keep its connection.
    pub(crate) fn is_keeping(&self, at: usize) -> bool {
        self.sessions[at].keeps()
    }

    /// A proxy says that a session keeps its connection.
    pub(crate) fn pin(&mut self, at: usize, item: &'static str, pins: String) {
        self.sessions[at].is_pinned = true;
        if self.keepers().len() > self.most_keepers {
            // It ends at once, or the next session would wait for ever.
            self.sessions[at].next = VecDeque::from([("end of a pin", Step::Quit)]);
            self.urgent = Some(at);
        }
        *self.unforeseen.entry((item, pins)).or_default() += 1;
    }

    /// All connections are kept: the session ends, or the next one would wait for ever.
    pub(crate) fn end_next(&mut self, at: usize) {
        self.sessions[at].next = VecDeque::from([("end of the last one", Step::Quit)]);
        self.urgent = Some(at);
    }

    /// The schema that a session's next client asks for.
    pub(crate) fn database_of_a_new_one(&mut self, _session: usize) -> Option<&'static str> {
        match self.random.below(8) {
            0 => None,
            1 => Some("two"),
            _ => Some("one"),
        }
    }

    /// How often each item came, and what pinned unforeseen.
    pub(crate) fn account(&self) -> String {
        let counts = self.counts.iter();
        let counts: Vec<_> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        format!(
            "{}; pins unforeseen: {:?}",
            counts.join(", "),
            self.unforeseen
        )
    }
}

/// Items of one kind.
struct Items(Vec<&'static Item>, usize);

impl Items {
    fn new(kinds: &[&'static [Item]], without: &[String]) -> Self {
        let only = std::env::var("ONECOPY_MIRROR_ONLY").unwrap_or_default();
        let only: Vec<_> = only.split(',').collect();
        let all = kinds.iter().flat_map(|items| items.iter());
        let all = all.filter(|item| !without.iter().any(|one| one == item.name));
        let chosen = all.filter(|item| only == [""] || only.contains(&item.name));
        let mut items: Vec<_> = chosen.collect();
        if items.is_empty() {
            items.push(&PING);
        }
        let weight = items.iter().map(|item| item.weight).sum();
        Self(items, weight)
    }

    fn choose(&self, random: &mut Random) -> &'static Item {
        let mut at = random.below(self.1);
        for item in &self.0 {
            match at.checked_sub(item.weight) {
                None => return item,
                Some(left) => at = left,
            }
        }
        self.0[0]
    }
}

static PING: Item = Item {
    name: "ping",
    weight: 1,
    steps: |_| vec![Step::Ping],
};
