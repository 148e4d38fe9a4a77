use std::collections::HashSet;
use std::sync::{Arc, mpsc};
use std::thread;

use super::{Handle, Prepared};

/// What a connection closes before a command.
fn closed(prepared: &mut Prepared<usize>) -> Vec<usize> {
    let mut ids = Vec::new();
    while let Some(id) = prepared.next_dropped() {
        prepared.close_next();
        ids.push(id);
    }
    ids.sort_unstable();
    ids
}

#[test]
fn what_is_dropped_is_closed_once_and_its_number_is_used_again() {
    let mut prepared = Prepared::default();
    for round in 0..3 {
        assert!(prepared.is_quiet());
        let first = prepared.handle(round).unwrap();
        let second = prepared.handle(round + 10).unwrap();
        let clone = Arc::clone(&first);
        drop(first);
        assert!(prepared.is_quiet());
        drop(clone);
        drop(second);
        assert!(!prepared.is_quiet());
        assert_eq!(closed(&mut prepared), [round, round + 10]);
    }
    assert_eq!(prepared.slots.len(), 2);
}

#[test]
fn what_could_not_be_closed_is_still_there() {
    let mut prepared = Prepared::default();
    drop(prepared.handle(1).unwrap());
    assert_eq!(prepared.next_dropped(), Some(1));
    assert!(!prepared.is_quiet());
    assert_eq!(prepared.next_dropped(), Some(1));
    drop(prepared.handle(2).unwrap());
    assert_eq!(closed(&mut prepared), [1, 2]);
}

#[test]
fn a_number_that_a_call_freed_is_not_pushed_by_a_clone_that_is_left() {
    let mut prepared = Prepared::default();
    let handle = prepared.handle(1).unwrap();
    let clone = Arc::clone(&handle);
    prepared.closed(&handle);
    prepared.closed(&handle);
    drop(handle);
    let next = prepared.handle(2).unwrap();
    assert_eq!(next.number, clone.number);
    drop(clone);
    assert!(prepared.is_quiet());
    drop(next);
    assert_eq!(closed(&mut prepared), [2]);
    assert_eq!(prepared.free.len(), 1);
}

#[test]
fn drops_on_many_threads_are_all_seen_and_none_twice() {
    const THREADS: usize = 4;
    const DROPS: usize = 2_000;
    let mut prepared = Prepared::default();
    let mut senders = Vec::new();
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        let (sender, handles) = mpsc::sync_channel::<Arc<Handle>>(16);
        senders.push(sender);
        threads.push(thread::spawn(move || handles.into_iter().for_each(drop)));
    }
    let mut open = HashSet::new();
    for id in 0..THREADS * DROPS {
        let handle = prepared.handle(id).unwrap();
        assert!(open.insert(id));
        senders[id % THREADS].send(handle).unwrap();
        for id in closed(&mut prepared) {
            assert!(open.remove(&id));
        }
    }
    drop(senders);
    for thread in threads {
        thread.join().unwrap();
    }
    for id in closed(&mut prepared) {
        assert!(open.remove(&id));
    }
    assert!(open.is_empty(), "{} are left", open.len());
    assert_eq!(prepared.free.len(), prepared.slots.len());
    // No more than wait in the channels and are being dropped at one time.
    assert!(prepared.slots.len() <= THREADS * (16 + 4));
}
