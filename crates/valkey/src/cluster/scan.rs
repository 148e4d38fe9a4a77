//! Goes over the keys of all nodes, whatever moves meanwhile: which node is scanned next, and what of it counts.
//!
//! ```text
//!   look at a node: its slots  ->  SCAN it from cursor 0 to its end  ->  look at it again
//! ```
//!
//! A slot is done when a node had it, whole, before and behind a complete SCAN by the same process. All others are scanned again
//! where they are then, so that a key that exists all the time is found even if its slot moves; it may be found more than once. A
//! slot that leaves a node and comes back during one SCAN of it is not noticed.

use super::slot::{SLOTS, key_slot};
use crate::Arg;
use crate::command::generic::{self, Scan};

/// Scans in a row that may bring nothing: slots that move all the time, or nodes that lie, end it.
const MAX_FRUITLESS: u32 = 50;

/// A set of slots.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SlotSet(Box<[bool]>);

impl SlotSet {
    pub(crate) fn empty() -> Self {
        Self(vec![false; usize::from(SLOTS)].into())
    }

    pub(crate) fn add(&mut self, slot: u16) {
        if let Some(has) = self.0.get_mut(usize::from(slot)) {
            *has = true;
        }
    }

    pub(crate) fn has(&self, slot: u16) -> bool {
        self.0.get(usize::from(slot)).is_some_and(|has| *has)
    }

    fn first_missing(&self) -> Option<u16> {
        (0..SLOTS).find(|&slot| !self.has(slot))
    }
}

/// Which keys are returned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) pattern: Option<Arg<'static>>,
    pub(crate) count: Option<i64>,
    pub(crate) kind: Option<Arg<'static>>,
}

impl Filter {
    pub(crate) fn command(&self, cursor: u64) -> Scan<'_> {
        let mut command = generic::scan(cursor);
        if let Some(pattern) = &self.pattern {
            command = command.match_(pattern);
        }
        if let Some(count) = self.count {
            command = command.count(count);
        }
        if let Some(kind) = &self.kind {
            command = command.type_(kind);
        }
        command
    }
}

/// What a node says of itself.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Differs after each start: a cursor is of no use to another process.
    run: Vec<u8>,
    /// Its slots, without those that leave it or come.
    slots: SlotSet,
}

impl View {
    /// Whether the node has this slot, and it is not moving.
    #[cfg(feature = "fuzz")]
    pub(crate) fn has(&self, slot: u16) -> bool {
        self.slots.has(slot)
    }

    /// Reads the replies to CLUSTER NODES and INFO of the same node.
    ///
    /// # Errors
    /// Fails if a part is missing.
    pub(crate) fn read(nodes: &[u8], info: &[u8]) -> Result<Self, String> {
        let run = split_lines(info).find_map(|line| line.strip_prefix(b"run_id:"));
        let run = run.ok_or("INFO has no run_id")?.to_vec();
        let is_own = |line: &&[u8]| {
            let flags = line.split(|&byte| byte == b' ').nth(2).unwrap_or_default();
            flags
                .split(|&byte| byte == b',')
                .any(|flag| flag == b"myself")
        };
        let own = split_lines(nodes)
            .find(is_own)
            .ok_or("CLUSTER NODES has no line of the node itself")?;
        let (mut slots, mut moving) = (SlotSet::empty(), SlotSet::empty());
        for word in own.split(|&byte| byte == b' ').skip(8) {
            let word = std::str::from_utf8(word).unwrap_or_default();
            if let Some(rest) = word.strip_prefix('[') {
                let slot = rest.split('-').next().and_then(|slot| slot.parse().ok());
                slot.into_iter().for_each(|slot| moving.add(slot));
                continue;
            }
            let (start, end) = word.split_once('-').unwrap_or((word, word));
            if let (Ok(start), Ok(end)) = (start.parse::<u16>(), end.parse::<u16>()) {
                (start..=end.min(SLOTS - 1)).for_each(|slot| slots.add(slot));
            }
        }
        let settled = slots
            .0
            .iter()
            .zip(&moving.0)
            .map(|(has, moves)| *has && !moves);
        Ok(Self {
            run,
            slots: SlotSet(settled.collect()),
        })
    }
}

fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split(|&byte| byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// How far a scan has come.
pub(crate) struct Progress<N> {
    done: SlotSet,
    node: Option<NodeScan<N>>,
    fruitless: u32,
}

struct NodeScan<N> {
    node: N,
    before: Option<View>,
    /// `None` behind the last.
    cursor: Option<u64>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<N> {
    /// Choose the node that has this slot: [`Progress::chosen`].
    Choose(u16),
    /// Look at the node: [`Progress::looked`].
    Look(N),
    /// SCAN the node from this cursor: [`Progress::scanned`].
    Scan(N, u64),
    /// All slots are done.
    Done,
    /// Slots move too fast, or nodes lie: this slot can't be scanned.
    Stuck(u16),
}

impl<N: Clone> Progress<N> {
    pub(crate) fn new() -> Self {
        Self {
            done: SlotSet::empty(),
            node: None,
            fruitless: 0,
        }
    }

    pub(crate) fn step(&self) -> Step<N> {
        match &self.node {
            Some(NodeScan {
                node,
                before: Some(_),
                cursor: Some(cursor),
            }) => Step::Scan(node.clone(), *cursor),
            Some(NodeScan { node, .. }) => Step::Look(node.clone()),
            None => match self.done.first_missing() {
                None => Step::Done,
                Some(slot) if self.fruitless >= MAX_FRUITLESS => Step::Stuck(slot),
                Some(slot) => Step::Choose(slot),
            },
        }
    }

    pub(crate) fn chosen(&mut self, node: N) {
        self.node = Some(NodeScan {
            node,
            before: None,
            cursor: Some(0),
        });
    }

    /// The node was looked at, before the first SCAN or behind the last. Whether slots were done by that, or are going to be; if
    /// not, wait before the next step.
    pub(crate) fn looked(&mut self, view: View) -> bool {
        let Some(scan) = &mut self.node else {
            return true;
        };
        let Some(before) = &scan.before else {
            let is_of_use = (0..SLOTS).any(|slot| view.slots.has(slot) && !self.done.has(slot));
            if is_of_use {
                scan.before = Some(view);
            } else {
                self.failed();
            }
            return is_of_use;
        };
        let mut is_any = false;
        for slot in 0..SLOTS {
            let is_whole = before.run == view.run && before.slots.has(slot) && view.slots.has(slot);
            if is_whole && !self.done.has(slot) {
                self.done.add(slot);
                is_any = true;
            }
        }
        self.node = None;
        self.fruitless = if is_any { 0 } else { self.fruitless + 1 };
        is_any
    }

    /// A SCAN came back with this cursor.
    pub(crate) fn scanned(&mut self, cursor: u64) {
        if let Some(scan) = &mut self.node {
            scan.cursor = Some(cursor).filter(|&cursor| cursor != 0);
        }
    }

    /// Whether a key was not returned before for sure: those of slots that are done were.
    pub(crate) fn is_new(&self, key: &[u8]) -> bool {
        !self.done.has(key_slot(key))
    }

    /// The node could not be looked at or scanned: it starts anew, there or elsewhere.
    pub(crate) fn failed(&mut self) {
        self.node = None;
        self.fruitless += 1;
    }
}

#[cfg(test)]
mod tests;
