//! The blocking face, on the cluster of the other tests.

use std::collections::BTreeSet;

use onecopy_valkey::blocking::Cluster;
use onecopy_valkey::cluster::{ClusterError, ReadFrom};
use onecopy_valkey::command::{string, transactions};
use onecopy_valkey::{Script, raw};

use crate::common::{config, is_soak, own, shared};

#[test]
fn it_does_what_the_other_does() {
    let mut cluster = Cluster::connect_with(&config(shared())).unwrap();
    for number in 0..50 {
        let key = format!("blocking:{number}");
        cluster.run(&string::set(&key, number)).unwrap();
        assert_eq!(
            cluster.run(&raw("GET").arg(&key)).unwrap().as_i64(),
            Some(number)
        );
    }
    assert_eq!((cluster.connections(), cluster.refreshes()), (3, 1));

    let mut pipeline = cluster.pipeline();
    for number in 0..50 {
        pipeline
            .push(&string::incr(format!("blocking:{number}")))
            .unwrap();
    }
    let error = pipeline.push(&string::mget(["left", "right"])).unwrap_err();
    assert!(matches!(
        error.cluster(),
        Some(ClusterError::CrossSlot { .. })
    ));
    let replies = pipeline.run().unwrap();
    for number in 0..50 {
        let counted = replies.get::<string::Incr>(number).unwrap();
        assert_eq!(counted, i64::try_from(number).unwrap() + 1);
    }

    let mut transaction = cluster.transaction();
    transaction
        .push(&string::set("{blocking}a", 1))
        .unwrap()
        .push(&string::incr("{blocking}a"))
        .unwrap();
    assert!(
        transaction
            .push(&string::set("other", 1))
            .unwrap_err()
            .cluster()
            .is_some()
    );
    let replies = transaction.exec().unwrap();
    assert_eq!(
        (replies.len(), replies.get::<string::Incr>(1).unwrap()),
        (2, 2)
    );

    let script = Script::new("return redis.call('GET', KEYS[1]) -- blocking face");
    for _ in 0..2 {
        let value = cluster
            .run_script(&script.call().keys("{blocking}a"))
            .unwrap();
        assert_eq!(value.as_i64(), Some(2));
    }
    assert_eq!(cluster.on_all_primaries(&raw("PING")).len(), 3);
    let keys: Vec<String> = (0..20)
        .map(|number| format!("blocking:split:{number}"))
        .collect();
    cluster.mset_non_atomic(keys.iter().zip(0..)).unwrap();
    assert_eq!(
        cluster.mget_non_atomic(&keys).unwrap()[7].as_deref(),
        Some(&b"7"[..])
    );
    let mut found = BTreeSet::new();
    let mut scan = cluster.scan().matching("blocking:split:*").count(100);
    while let Some(keys) = scan.next().unwrap() {
        found.extend(keys);
    }
    assert_eq!(found.len(), 20);
    assert_eq!(cluster.unlink_non_atomic(&keys).unwrap(), 20);

    let error = cluster.run(&transactions::multi()).unwrap_err();
    assert!(error.is_misuse(), "{error}");
    let connection = cluster.connection_of("{blocking}a").unwrap();
    connection.run(&transactions::watch("{blocking}a")).unwrap();
    connection.run(&transactions::unwatch()).unwrap();

    let mut config = config(shared());
    config.read_from = ReadFrom::Any;
    let mut reading = Cluster::connect_with(&config).unwrap();
    for _ in 0..10 {
        reading.run(&string::get("{blocking}a")).unwrap();
    }
    assert_eq!(reading.connections(), 2);
}

#[test]
fn it_follows_slots_that_move_and_waits_for_a_failover() {
    // A failover takes seconds, and is the same for both faces: the other one waits for it in each run.
    let mut nodes = own(3, usize::from(is_soak()));
    let mut cluster = Cluster::connect_with(&config(&nodes)).unwrap();
    cluster.run(&string::set("{moving}a", 1)).unwrap();
    let slot = onecopy_valkey::cluster::key_slot(b"moving");
    let from = nodes
        .position(cluster.primary_of("moving").unwrap().port())
        .unwrap();
    let to = (from + 1) % 3;
    nodes.begin_move(slot, from, to).unwrap();
    cluster.run(&string::set("{moving}b", 2)).unwrap();
    let mut pipeline = cluster.pipeline();
    pipeline
        .push(&string::get("{moving}a"))
        .unwrap()
        .push(&string::get("{moving}b"))
        .unwrap();
    let replies = pipeline.run().unwrap();
    assert_eq!(replies.get::<string::Get>(0).unwrap(), Some(&b"1"[..]));
    assert_eq!(replies.get::<string::Get>(1).unwrap(), Some(&b"2"[..]));
    let mut transaction = cluster.transaction();
    transaction.push(&string::incr("{moving}b")).unwrap();
    assert_eq!(
        transaction.exec().unwrap().get::<string::Incr>(0).unwrap(),
        3
    );
    nodes.move_slot(slot, from, to, || {}).unwrap();
    assert_eq!(
        cluster.run(&string::get("{moving}a")).unwrap().as_i64(),
        Some(1)
    );
    assert_eq!(
        cluster.primary_of("moving").unwrap().port(),
        nodes.node(to).port()
    );

    if !is_soak() {
        return;
    }
    nodes.node_mut(to).kill();
    let mut errors = 0;
    let value = loop {
        match cluster.run(&string::set("{moving}c", 3)) {
            Ok(value) => break value,
            // What was in flight when the connection was lost.
            Err(error) => {
                assert!(error.maybe_executed(), "{error}");
                errors += 1;
                assert!(errors < 3);
            }
        }
    };
    value.get().unwrap();
    assert_eq!(
        cluster.primary_of("moving").unwrap().port(),
        nodes.node(to + 3).port()
    );
}
