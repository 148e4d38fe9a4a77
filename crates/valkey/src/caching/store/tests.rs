use std::cell::Cell;

use super::*;
use crate::testing::with_reply;

fn store(change: impl FnOnce(&mut CacheOptions)) -> Store {
    let mut options = CacheOptions::default();
    change(&mut options);
    Store::new(&options)
}

fn reply(text: &str) -> OwnedReply {
    let bytes = format!("${}\r\n{text}\r\n", text.len());
    with_reply(bytes.as_bytes(), |reply| reply.detach().unwrap())
}

fn begin(store: &Store, command: &str, key: &str) -> Fetch {
    store.begin(command.as_bytes().into(), key.as_bytes())
}

fn cached(store: &Store, command: &str) -> Option<String> {
    let entry = store.get(command.as_bytes(), Instant::now)?;
    Some(entry.reply().reply().as_str().unwrap().to_owned())
}

fn fetch(store: &Store, command: &str, key: &str, value: &str) {
    let fetch = begin(store, command, key);
    store.end(&fetch, reply(value), Instant::now);
}

#[test]
fn a_value_is_a_hit_until_its_key_changes() {
    let store = store(|_| {});
    fetch(&store, "GET k", "k", "one");
    fetch(&store, "STRLEN k", "k", "3");
    fetch(&store, "GET other", "other", "stays");
    assert_eq!(cached(&store, "GET k").as_deref(), Some("one"));
    store.invalidate(b"k");
    assert_eq!(cached(&store, "GET k"), None);
    assert_eq!(cached(&store, "STRLEN k"), None);
    assert_eq!(cached(&store, "GET other").as_deref(), Some("stays"));
    let stats = store.stats();
    assert_eq!((stats.hits, stats.misses, stats.invalidations), (2, 3, 1));
    assert_eq!(stats.entries, 1, "what has changed takes no memory");
}

#[test]
fn a_change_between_the_command_and_the_store_leaves_nothing() {
    let store = store(|_| {});
    let early = begin(&store, "GET k", "k");
    store.invalidate(b"k");
    assert!(early.is_outdated());
    let entry = store.end(&early, reply("old"), Instant::now);
    assert_eq!(
        entry.reply().reply().as_str(),
        Some("old"),
        "its caller gets it"
    );
    assert_eq!(cached(&store, "GET k"), None);
    // A read that began behind the change is not touched by it.
    let early = begin(&store, "GET k", "k");
    let flushed = begin(&store, "GET f", "f");
    assert!(!early.is_same_life(&flushed));
    store.flush();
    store.end(&flushed, reply("old"), Instant::now);
    let late = begin(&store, "GET k", "k");
    store.end(&late, reply("new"), Instant::now);
    store.end(&early, reply("old"), Instant::now);
    assert_eq!(cached(&store, "GET k").as_deref(), Some("new"));
    assert_eq!(cached(&store, "GET f"), None);
}

#[test]
fn memory_is_bounded_and_keys_without_values_are_forgotten() {
    let store = store(|options| options.max_bytes = 256 << 10);
    let value = "x".repeat(1_000);
    for number in 0..10_000 {
        fetch(
            &store,
            &format!("GET {number}"),
            &format!("k{number}"),
            &value,
        );
        assert!(store.stats().bytes <= 256 << 10);
    }
    let stats = store.stats();
    assert!(stats.entries > 50 && stats.evictions > 9_000, "{stats:?}");
    let keys = store.lock().by_name.len();
    assert!(keys as u64 == stats.entries, "{keys} keys of {stats:?}");
    // Reads that fail.
    for number in 0..100_000 {
        begin(&store, &format!("GET {number}"), &format!("f{number}"));
    }
    let keys = store.lock().by_name.len();
    assert!(keys <= 2 * 256 + SPARE_KEYS + 1, "{keys}");
    // One key with many commands.
    for number in 0..10_000 {
        fetch(&store, &format!("HGET h {number}"), "h", &value);
    }
    let keys = store.lock();
    let commands = keys.by_name[&b"h"[..]].commands.len();
    assert!(commands <= 256, "{commands}");
}

#[test]
fn a_large_value_is_not_cached() {
    let store = store(|options| options.max_value_bytes = 100);
    fetch(&store, "GET k", "k", &"x".repeat(101));
    assert_eq!(cached(&store, "GET k"), None);
    fetch(&store, "GET k", "k", &"x".repeat(80));
    assert!(cached(&store, "GET k").is_some());
}

#[test]
fn a_value_is_used_up_to_its_age() {
    let store = store(|options| options.max_age = Some(Duration::from_secs(1)));
    let now = Cell::new(Instant::now());
    let fetch = begin(&store, "GET k", "k");
    store.end(&fetch, reply("one"), || now.get());
    now.set(now.get() + Duration::from_millis(999));
    assert!(store.get(b"GET k", || now.get()).is_some());
    now.set(now.get() + Duration::from_millis(1));
    assert!(store.get(b"GET k", || now.get()).is_none());
}

/// As a cluster's reads are.
fn fetch_over(store: &Store, line: u64, command: &str, key: &str, value: &str) {
    let fetch = begin(store, command, key);
    store.bind(&fetch, line);
    store.end(&fetch, reply(value), Instant::now);
}

#[test]
fn a_lost_connection_takes_what_was_read_over_it_and_nothing_else() {
    let store = store(|_| {});
    fetch_over(&store, 1, "GET a", "a", "one");
    fetch_over(&store, 2, "GET b", "b", "two");
    let under_way = begin(&store, "GET c", "c");
    store.bind(&under_way, 1);
    store.flush_line(1);
    assert_eq!(cached(&store, "GET a"), None);
    assert_eq!(cached(&store, "GET b").as_deref(), Some("two"));
    store.end(&under_way, reply("old"), Instant::now);
    assert_eq!(cached(&store, "GET c"), None);
    assert_eq!((store.stats().entries, store.stats().flushes), (1, 1));
    // Nothing was read over it.
    store.flush_line(3);
    assert_eq!(store.stats().flushes, 1);
}

#[test]
fn a_slot_that_moves_takes_its_keys_and_reads_under_way() {
    let store = store(|_| {});
    fetch_over(&store, 1, "GET {k}1", "{k}1", "one");
    fetch_over(&store, 1, "GET other", "other", "two");
    let unbound = begin(&store, "GET {k}2", "{k}2");
    let slot = key_slot(b"k");
    store.flush_slots(&|moved| moved == slot);
    assert_eq!(cached(&store, "GET {k}1"), None);
    assert_eq!(cached(&store, "GET other").as_deref(), Some("two"));
    store.bind(&unbound, 1);
    store.end(&unbound, reply("old"), Instant::now);
    assert_eq!(cached(&store, "GET {k}2"), None);
}

#[test]
fn a_read_over_another_connection_drops_what_the_first_one_would_have_to_speak_for() {
    let store = store(|_| {});
    fetch_over(&store, 1, "GET k", "k", "old");
    let other = begin(&store, "STRLEN k", "k");
    store.bind(&other, 2);
    assert_eq!(cached(&store, "GET k"), None);
    store.end(&other, reply("3"), Instant::now);
    assert_eq!(
        cached(&store, "STRLEN k"),
        None,
        "its life was the first one's"
    );
    fetch_over(&store, 2, "GET k", "k", "new");
    store.flush_line(1);
    assert_eq!(cached(&store, "GET k").as_deref(), Some("new"));
}
