//! Slots that move from node to node under load.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use onecopy_valkey::blocking;
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::string;

use crate::common::{config, connect, connect_hasty, count, is_soak, own, within};
use crate::drops::Drops;
use crate::load::{Keeps, Load};

/// A tag whose slot the node at this position has, one for each number.
fn tag(nodes: usize, position: usize, number: usize) -> String {
    let share = 16_384 / nodes;
    let is_own = |tag: &String| usize::from(key_slot(tag.as_bytes())) / share == position;
    let tags = (0..).map(|tag| format!("tag{tag}"));
    tags.filter(is_own).nth(number).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_is_followed_key_by_key() {
    let nodes = own(2, 0);
    let cluster = connect(&nodes).await;
    let slot = key_slot(b"moving");
    let from = nodes
        .position(cluster.primary_of("moving").unwrap().port())
        .unwrap();
    let to = 1 - from;
    for number in 0..3 {
        cluster
            .run(&string::set(format!("{{moving}}{number}"), number))
            .await
            .unwrap();
    }
    nodes.begin_move(slot, from, to).unwrap();
    let port = nodes.node(to).port();
    nodes
        .ask(
            from,
            &format!("MIGRATE 127.0.0.1 {port} {{moving}}0 0 5000"),
        )
        .unwrap();
    // ASK, for what has gone and for what was never there; not for what is there still.
    for number in 0..4 {
        let got = cluster
            .run(&string::get(format!("{{moving}}{number}")))
            .await
            .unwrap();
        assert_eq!(got.as_i64(), (number < 3).then_some(number));
    }
    let mut pipeline = cluster.pipeline();
    for number in 0..4 {
        pipeline
            .push(&string::get(format!("{{moving}}{number}")))
            .unwrap();
    }
    let replies = pipeline.run().await.unwrap();
    for number in 0..3 {
        assert_eq!(
            replies.get::<string::Get>(number).unwrap(),
            Some(number.to_string().as_bytes())
        );
    }
    // A new key is written where the slot is going to.
    cluster.run(&string::set("{moving}4", 4)).await.unwrap();
    assert_eq!(
        nodes
            .ask(to, &format!("CLUSTER COUNTKEYSINSLOT {slot}"))
            .unwrap(),
        "2"
    );
    // A transaction on keys that have gone is redirected as a whole.
    let mut transaction = cluster.transaction();
    transaction
        .push(&string::incr("{moving}4"))
        .unwrap()
        .push(&string::incr("{moving}0"))
        .unwrap();
    let replies = transaction.exec().await.unwrap();
    assert_eq!(replies.get::<string::Incr>(0).unwrap(), 5);
    assert_eq!(replies.get::<string::Incr>(1).unwrap(), 1);
    // ASK is no news of the slots.
    assert_eq!(cluster.refreshes(), 1);
    // Keys on both nodes: TRYAGAIN until they are together.
    let own = cluster.clone();
    let waits =
        tokio::spawn(async move { own.run(&string::mget(["{moving}0", "{moving}1"])).await });
    nodes.move_slot(slot, from, to, || {}).unwrap();
    let both = within(waits).await.unwrap().unwrap();
    let values: Vec<_> = both
        .get()
        .unwrap()
        .iter()
        .map(|value| value.unwrap().to_vec())
        .collect();
    assert_eq!(values, [b"1", b"1"]);
    within(cluster.run(&string::set("{moving}5", 5)))
        .await
        .unwrap();
    assert_eq!(cluster.primary_of("moving").unwrap().port(), port);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_value_is_wrong_or_lost_while_slots_move() {
    let begun = Instant::now();
    let mut nodes = own(3, usize::from(is_soak()));
    let cluster = connect(&nodes).await;
    let load = Load::start(&cluster, 12, Keeps::Everything, |number| {
        tag(3, number % 3, number / 3)
    });
    load.more(200).await;
    let keys: Vec<String> = (0..4)
        .map(|number| format!("{{{}}}:dropped", tag(3, number % 3, number / 3)))
        .collect();
    let drops = Drops::start(&cluster, &connect_hasty(&nodes).await, &keys);
    let targets = if is_soak() {
        vec![nodes.grow(2).unwrap(), 1, 2]
    } else {
        vec![1, 2, 0]
    };
    for round in 0..count(2, 20) {
        for position in 0..3 {
            for number in 0..4 {
                let slot = key_slot(tag(3, position, number).as_bytes());
                let from = owner(&nodes, slot);
                let to = targets[(position + round) % 3];
                if from != to {
                    nodes.move_slot(slot, from, to, || {}).unwrap();
                }
            }
            load.more(u64::try_from(count(50, 16_000)).unwrap()).await;
        }
    }
    let operations = load.operations();
    let least = u64::try_from(count(20_000, 1_000_000)).unwrap();
    let (dropped, errors) = drops.end(least).await;
    println!("{dropped} calls were dropped or timed out");
    assert!(errors.is_empty(), "{errors:?}");
    let errors = load.end().await;
    println!("{operations} operations, {} refreshes", cluster.refreshes());
    assert!(errors.is_empty(), "{errors:?}");
    let seconds = begun.elapsed().as_secs();
    assert!(
        cluster.refreshes() <= 2 + seconds,
        "{} in {seconds} s",
        cluster.refreshes()
    );
}

/// Slots go round all the time, key by key. Every scan finds every key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_find_every_key_while_slots_move() {
    let nodes = own(3, 0);
    let cluster = connect(&nodes).await;
    let config = config(&nodes);
    let tags: Vec<String> = (0..30)
        .map(|number| tag(3, number % 3, number / 3))
        .collect();
    let mut keys = BTreeSet::new();
    for tag in &tags {
        for number in 0..20 {
            let key = format!("{{{tag}}}:{number}");
            cluster.run(&string::set(&key, number)).await.unwrap();
            keys.insert(key.into_bytes());
        }
    }
    let is_over = Arc::<AtomicBool>::default();
    let ends = Arc::clone(&is_over);
    let mover = tokio::task::spawn_blocking(move || {
        let mut moves = 0;
        while !ends.load(Ordering::Relaxed) {
            let slot = key_slot(tags[moves % tags.len()].as_bytes());
            let from = owner(&nodes, slot);
            nodes.move_slot(slot, from, (from + 1) % 3, || {}).unwrap();
            // With moves that the nodes have not all heard of they may lose a slot.
            nodes.wait_until_stable().unwrap();
            moves += 1;
        }
        moves
    });
    let scans = count(6, 100);
    let expected = keys.clone();
    let blocking = tokio::task::spawn_blocking(move || {
        let mut cluster = blocking::Cluster::connect_with(&config).unwrap();
        for _ in 0..scans {
            let mut found = BTreeSet::new();
            let mut scan = cluster.scan().count(20);
            while let Some(keys) = scan.next().unwrap() {
                found.extend(keys);
            }
            assert!(
                found == expected,
                "missing: {:?}",
                expected.difference(&found)
            );
        }
    });
    let (mut returned, mut calls) = (0, 0);
    for _ in 0..scans {
        let mut found = BTreeSet::new();
        let mut scan = cluster.scan().count(20);
        while let Some(keys) = within(scan.next()).await.unwrap() {
            calls += 1;
            returned += keys.len();
            found.extend(keys);
        }
        assert!(found == keys, "missing: {:?}", keys.difference(&found));
    }
    within(blocking).await.unwrap();
    is_over.store(true, Ordering::Relaxed);
    let moves = within(mover).await.unwrap();
    println!(
        "{returned} keys by {calls} calls for {scans} scans of {}, {moves} moves",
        keys.len()
    );
    assert!(moves > scans, "{moves}");
}

/// The position of the node that has a slot, by what it says itself.
fn owner(nodes: &onecopy_testkit::valkey::Cluster, slot: u16) -> usize {
    let has = |position: &usize| {
        let view = nodes.ask(*position, "CLUSTER NODES").unwrap();
        let own = view
            .lines()
            .find(|line| line.contains("myself"))
            .unwrap()
            .to_owned();
        own.split(' ').skip(8).any(|range| {
            let (start, end) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<u16>().ok();
            number(start)
                .zip(number(end))
                .is_some_and(|(start, end)| (start..=end).contains(&slot))
        })
    };
    (0..nodes.len()).find(has).unwrap()
}
