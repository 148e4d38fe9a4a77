use super::{MAX_FRUITLESS, Progress, SLOTS, SlotSet, Step, View};
use crate::cluster::slot::key_slot;

const INFO: &[u8] = b"# Server\r\nredis_version:7.0.15\r\nrun_id:aaaa\r\n";

fn view(slots: &str) -> View {
    let nodes = format!(
        "b 127.0.0.1:2@12 master - 0 5 2 connected 5-9\na 127.0.0.1:1@11 myself,master - 0 0 1 connected {slots}\n"
    );
    View::read(nodes.as_bytes(), INFO).unwrap()
}

fn slots(view: &View) -> Vec<u16> {
    (0..SLOTS).filter(|&slot| view.slots.has(slot)).collect()
}

#[test]
fn a_node_has_the_slots_that_do_not_move() {
    assert_eq!(slots(&view("0-2 7 100-101")), [0, 1, 2, 7, 100, 101]);
    assert_eq!(slots(&view("0-2 [1->-bbbb] [9-<-bbbb]")), [0, 2]);
    assert_eq!(slots(&view("x 5-1 99999 16382-16999 -")), [16_382, 16_383]);
    assert!(View::read(b"", INFO).is_err());
    assert!(View::read(b"a 1 myself - 0 0 1 connected", b"").is_err());
}

/// One node with all slots: looked at, scanned, looked at again.
#[test]
fn a_cluster_that_rests_is_scanned_once() {
    let mut progress = Progress::new();
    assert_eq!(progress.step(), Step::Choose(0));
    progress.chosen("a");
    assert_eq!(progress.step(), Step::Look("a"));
    assert!(progress.looked(view("0-16383")));
    for cursor in [0, 17, 5] {
        assert_eq!(progress.step(), Step::Scan("a", cursor));
        assert!(progress.is_new(b"key"));
        progress.scanned(match cursor {
            0 => 17,
            17 => 5,
            _ => 0,
        });
    }
    assert_eq!(progress.step(), Step::Look("a"));
    assert!(progress.looked(view("0-16383")));
    assert_eq!(progress.step(), Step::Done);
    assert!(!progress.is_new(b"key"));
}

fn scan(
    progress: &mut Progress<&'static str>,
    node: &'static str,
    before: View,
    behind: View,
) -> bool {
    progress.chosen(node);
    if !progress.looked(before) {
        return false;
    }
    progress.scanned(0);
    progress.looked(behind)
}

#[test]
fn what_moved_meanwhile_is_scanned_again_where_it_is() {
    let mut progress = Progress::new();
    assert!(scan(
        &mut progress,
        "a",
        view("0-99"),
        view("0-49 [60->-b]")
    ));
    assert_eq!(progress.step(), Step::Choose(50));
    // Of the slots that it got, only those that it had from the start.
    assert!(scan(
        &mut progress,
        "b",
        view("100-16383"),
        view("50-16383")
    ));
    assert_eq!(progress.step(), Step::Choose(50));
    assert!(!scan(&mut progress, "b", view("[50->-a]"), view("")));
    assert!(scan(&mut progress, "b", view("50-99"), view("50-99")));
    assert_eq!(progress.step(), Step::Done);
}

#[test]
fn a_scan_of_a_server_that_was_restarted_does_not_count() {
    let mut progress = Progress::new();
    let other = View {
        run: b"bbbb".to_vec(),
        ..view("0-16383")
    };
    assert!(!scan(&mut progress, "a", view("0-16383"), other));
    assert_eq!(progress.step(), Step::Choose(0));
}

#[test]
fn nodes_that_never_have_what_they_are_said_to_have_end_it() {
    let mut progress = Progress::new();
    let mut rounds = 0;
    while progress.step() != Step::Stuck(0) {
        assert!(!scan(&mut progress, "a", view(""), view("")));
        rounds += 1;
    }
    assert_eq!(rounds, MAX_FRUITLESS);
}

/// Keys and slots move at random between two nodes, as MIGRATE and SETSLOT move them; each key that exists all the time is found.
#[test]
fn no_key_is_missed_in_random_histories() {
    for seed in 1..100_u64 {
        World::new(seed).run();
    }
}

/// Two nodes with eight slots of one key each; the other slots rest on the first.
struct World {
    random: u64,
    keys: Vec<(String, u16)>,
    /// For each key: the node that has its slot, the one that has the key, and whether it is moving.
    owner: Vec<usize>,
    holder: Vec<usize>,
    is_moving: Vec<bool>,
    moves: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let keys: Vec<(String, u16)> = (0..8)
            .map(|number| format!("key{number}"))
            .map(|key| (key.clone(), key_slot(key.as_bytes())))
            .collect();
        Self {
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            owner: vec![0; keys.len()],
            holder: vec![0; keys.len()],
            is_moving: vec![false; keys.len()],
            keys,
            moves: 0,
        }
    }

    fn next(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 33).unwrap() % below
    }

    /// Each slot moves once at most, so none comes back during a SCAN.
    fn change(&mut self) {
        let at = self.next(self.keys.len());
        match (self.is_moving[at], self.holder[at] == self.owner[at]) {
            (false, _) if self.owner[at] == 0 && self.moves < 6 => {
                self.is_moving[at] = true;
                self.moves += 1;
            }
            (true, true) => self.holder[at] = 1 - self.owner[at],
            (true, false) => {
                self.owner[at] = self.holder[at];
                self.is_moving[at] = false;
            }
            _ => {}
        }
    }

    fn view(&self, node: usize) -> View {
        let mut slots = SlotSet::empty();
        let is_key = |slot: u16| self.keys.iter().position(|(_, own)| *own == slot);
        for slot in 0..SLOTS {
            let has = match is_key(slot) {
                Some(at) => self.owner[at] == node && !self.is_moving[at],
                None => node == 0,
            };
            if has {
                slots.add(slot);
            }
        }
        View {
            run: vec![u8::try_from(node).unwrap()],
            slots,
        }
    }

    fn run(mut self) {
        let mut progress = Progress::new();
        let mut found = vec![false; self.keys.len()];
        loop {
            if self.next(2) == 0 {
                self.change();
            }
            match progress.step() {
                Step::Done => break,
                Step::Stuck(_) => panic!("it is stuck"),
                Step::Choose(slot) => {
                    let at = self.keys.iter().position(|(_, own)| *own == slot);
                    progress.chosen(at.map_or(0, |at| self.owner[at]));
                }
                Step::Look(node) => {
                    if !progress.looked(self.view(node)) {
                        (0..20).for_each(|_| self.change());
                    }
                }
                // Two keys with each SCAN.
                Step::Scan(node, cursor) => {
                    let start = usize::try_from(cursor).unwrap();
                    let end = (start + 2).min(self.keys.len());
                    for (at, found) in found.iter_mut().enumerate().take(end).skip(start) {
                        let is_here = self.holder[at] == node;
                        *found |= is_here && progress.is_new(self.keys[at].0.as_bytes());
                    }
                    let next = if end == self.keys.len() { 0 } else { end };
                    progress.scanned(next as u64);
                }
            }
        }
        assert!(found.iter().all(|found| *found), "{found:?}");
    }
}
