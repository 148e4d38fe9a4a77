//! Slots that move from node to node under load.

use std::time::Instant;

use onecopy_valkey::aio::Cluster;
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::command::string;

use crate::common::{connect, connect_hasty, count, is_soak, own, within};
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
                let from = owner(&nodes, &cluster, slot);
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

/// The position of the node that has a slot, by what it says itself.
fn owner(nodes: &onecopy_testkit::valkey::Cluster, _: &Cluster, slot: u16) -> usize {
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
