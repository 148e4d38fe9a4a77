//! What a cluster does as long as nothing happens to it.

use std::collections::BTreeSet;
use std::time::Duration;

use onecopy_testkit::server::lacks;
use onecopy_valkey::aio::Cluster;
use onecopy_valkey::cluster::{ClusterConfig, ClusterError, ReadFrom, key_slot};
use onecopy_valkey::command::{generic, list, pubsub, scripting, server, string};
use onecopy_valkey::{Library, Script, raw};

use crate::common::{config, connect, connect_with, shared, within};

#[tokio::test]
async fn commands_find_the_node_of_their_keys() {
    let cluster = connect(shared()).await;
    let mut nodes = BTreeSet::new();
    for number in 0..200 {
        let key = format!("basics:{number}");
        cluster.run(&string::set(&key, number)).await.unwrap();
        let value = cluster.run(&raw("GET").arg(&key)).await.unwrap();
        assert_eq!(value.as_i64(), Some(number));
        nodes.insert(cluster.primary_of(&key).unwrap());
    }
    assert_eq!(nodes.len(), 3);
    assert_eq!(cluster.primaries().len(), 3);
    assert_eq!(cluster.connections(), 3);
    // Nothing was redirected: the slots were asked for once.
    assert_eq!(cluster.refreshes(), 1);
}

#[tokio::test]
async fn slots_are_those_of_the_server() {
    let cluster = connect(shared()).await;
    for key in ["foo", "{a}b", "a{}b", "{{x}y}", "}{", "", "ключ"] {
        let slot = cluster
            .run(&raw("CLUSTER").args(["KEYSLOT", key]))
            .await
            .unwrap();
        assert_eq!(
            slot.as_i64(),
            Some(key_slot(key.as_bytes()).into()),
            "{key}"
        );
    }
}

#[tokio::test]
async fn keys_of_several_slots_are_refused_before_anything_is_sent() {
    let cluster = connect(shared()).await;
    let error = cluster
        .run(&string::mget(["left", "right"]))
        .await
        .unwrap_err();
    assert!(matches!(
        error.cluster(),
        Some(ClusterError::CrossSlot { .. })
    ));
    assert!(error.to_string().contains("`left` and `right`"), "{error}");
    let script = Script::new("return #KEYS");
    let error = cluster
        .run_script(&script.call().keys(["left", "right"]))
        .await
        .unwrap_err();
    assert!(error.cluster().is_some());
    let mut transaction = cluster.transaction();
    transaction.push(&string::set("left", 1)).unwrap();
    let error = transaction.push(&string::set("right", 1)).unwrap_err();
    assert!(error.to_string().contains("`left` and `right`"), "{error}");
    // What was refused is not a part of it.
    assert_eq!(transaction.exec().await.unwrap().len(), 1);
}

#[tokio::test]
async fn transactions_and_scripts_run_on_the_node_of_their_keys() {
    let cluster = connect(shared()).await;
    for tag in ["{t1}", "{t2}", "{t3}", "{t4}"] {
        let (a, b) = (format!("{tag}a"), format!("{tag}b"));
        let mut transaction = cluster.transaction();
        transaction
            .push(&string::set(&a, 1))
            .unwrap()
            .push(&string::incr(&a))
            .unwrap();
        transaction.push(&string::mset([(b.as_str(), 5)])).unwrap();
        let replies = transaction.exec().await.unwrap();
        assert_eq!(replies.get::<string::Incr>(1).unwrap(), 2);
        let script = Script::new(format!(
            "return redis.call('GET', KEYS[1]) + redis.call('GET', KEYS[2]) -- {tag}"
        ));
        for _ in 0..2 {
            let sum = cluster
                .run_script(&script.call().keys([&a, &b]))
                .await
                .unwrap();
            assert_eq!(sum.as_i64(), Some(7));
        }
    }
    let refused = {
        let mut transaction = cluster.transaction();
        transaction.push(&raw("NOSUCHCOMMAND").arg("{t1}")).unwrap();
        transaction.exec().await.unwrap_err()
    };
    assert_eq!(refused.command_index(), Some(0));
}

#[tokio::test]
async fn pipelines_are_split_and_put_together_in_order() {
    let cluster = connect(shared()).await;
    let mut pipeline = cluster.pipeline();
    let large = "x".repeat(100_000);
    for number in 0..300 {
        let key = format!("pipeline:{number}");
        pipeline.push(&string::set(&key, number)).unwrap();
        pipeline.push(&string::incr(&key)).unwrap();
        if number % 50 == 0 {
            pipeline.push(&string::append(&key, &large)).unwrap();
        }
    }
    let script = Script::new("return KEYS[1]");
    pipeline
        .push_script(&script.call().keys("pipeline:script"))
        .unwrap();
    let error = pipeline.push(&generic::del(["a", "b"])).unwrap_err();
    assert!(error.cluster().is_some());
    let replies = within(pipeline.run()).await.unwrap();
    assert_eq!(replies.len(), 607);
    let mut at = 0;
    for number in 0..300 {
        assert_eq!(replies.get::<string::Incr>(at + 1).unwrap(), number + 1);
        at += 2;
        if number % 50 == 0 {
            let len = replies.get::<string::Append>(at).unwrap();
            assert_eq!(
                len,
                100_000 + i64::try_from((number + 1).to_string().len()).unwrap()
            );
            at += 1;
        }
    }
    assert_eq!(
        replies.reply(606).unwrap().unwrap().bytes(),
        b"pipeline:script"
    );
    assert!(cluster.pipeline().run().await.unwrap().is_empty());
}

#[tokio::test]
async fn commands_for_each_primary_run_on_each() {
    let cluster = connect(shared()).await;
    let names = cluster.on_all_primaries(&raw("CLUSTER").arg("MYID")).await;
    let ids: BTreeSet<Vec<u8>> = names
        .into_iter()
        .map(|(_, id)| id.unwrap().into_bytes().unwrap())
        .collect();
    assert_eq!(ids.len(), 3);
    let library = Library::new(
        "#!lua name=basics\nredis.register_function('basics_get', function(keys) return redis.call('GET', keys[1]) end)",
    )
    .unwrap();
    assert!(cluster.load_library(&library).await.unwrap());
    assert!(!cluster.load_library(&library).await.unwrap());
    for key in ["fa", "fb", "fc", "fd"] {
        cluster.run(&string::set(key, key)).await.unwrap();
        let got = cluster
            .run(&scripting::fcall("basics_get").keys(key))
            .await
            .unwrap();
        assert_eq!(got.into_bytes().unwrap(), key.as_bytes());
    }
}

#[tokio::test]
async fn blocking_commands_block_nobody() {
    let cluster = connect(shared()).await;
    let own = cluster.clone();
    let waits = tokio::spawn(async move { own.run(&list::blpop("basics:jobs", 0.0)).await });
    for _ in 0..10 {
        cluster
            .run(&string::set("{basics:jobs}x", 1))
            .await
            .unwrap();
    }
    cluster
        .run(&list::rpush("basics:jobs", "job"))
        .await
        .unwrap();
    let popped = within(waits).await.unwrap().unwrap();
    assert!(!popped.reply().is_null());
}

#[tokio::test]
async fn reads_go_to_replicas_if_they_may() {
    let nodes = shared();
    let mut config = config(nodes);
    config.read_from = ReadFrom::Replica;
    let cluster = connect_with(&config).await;
    // No other test sends STRLEN to these servers.
    let replicas = |_: &Cluster| -> u64 {
        (3..6)
            .map(|at| {
                let stats = nodes.ask(at, "INFO commandstats").unwrap();
                let calls = stats
                    .lines()
                    .find_map(|line| line.strip_prefix("cmdstat_strlen:calls="));
                calls.map_or(0, |calls| {
                    calls.split(',').next().unwrap().parse::<u64>().unwrap()
                })
            })
            .sum()
    };
    let before = replicas(&cluster);
    for number in 0..30 {
        cluster
            .run(&string::set(format!("replica:{number}"), number))
            .await
            .unwrap();
        cluster
            .run(&string::strlen(format!("replica:{number}")))
            .await
            .unwrap();
    }
    assert_eq!(replicas(&cluster) - before, 30);
    assert_eq!(cluster.connections(), 6);
}

#[tokio::test]
async fn sharded_messages_are_published_on_the_node_of_their_channel() {
    let cluster = connect(shared()).await;
    for channel in ["c1", "c2", "c3", "c4"] {
        let heard = cluster
            .run(&pubsub::spublish(channel, "hello"))
            .await
            .unwrap();
        assert_eq!(heard.as_i64(), Some(0));
    }
    assert_eq!(cluster.refreshes(), 1);
}

#[tokio::test]
async fn a_server_without_a_cluster_says_so() {
    let server = onecopy_testkit::valkey::test_server();
    let config =
        ClusterConfig::from_url(&server.url().replace("redis://", "redis+cluster://")).unwrap();
    let error = Cluster::connect_with(&config, Default::default())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("cluster support disabled"),
        "{error}"
    );
}

#[tokio::test]
async fn a_wrong_password_is_a_refusal() {
    let url = shared().url().replace("://", "://onecopy:wrong@");
    let error = Cluster::connect(&url).await.unwrap_err();
    assert!(error.refusal().is_some(), "{error}");
}

#[tokio::test]
async fn a_dropped_or_timed_out_caller_gets_no_ones_reply() {
    let mut config = config(shared());
    config.node.command_timeout = Some(Duration::from_millis(3));
    let cluster = connect_with(&config).await;
    let mut timed_out = 0;
    for number in 0..300 {
        let text = format!("own:{number}");
        let _ = tokio::time::timeout(
            Duration::from_micros(number * 3),
            cluster.run(&raw("ECHO").arg(&text)),
        )
        .await;
        match cluster.run(&raw("ECHO").arg(&text)).await {
            Ok(echo) => assert_eq!(echo.into_bytes().unwrap(), text.as_bytes()),
            Err(error) => {
                assert!(error.is_timeout(), "{error}");
                timed_out += 1;
            }
        }
    }
    println!("{timed_out} of 300 timed out");
}

#[tokio::test]
async fn a_closed_handle_takes_nothing() {
    let cluster = connect(shared()).await;
    cluster.run(&server::dbsize()).await.unwrap();
    cluster.close().await;
    let error = within(cluster.run(&string::get("a"))).await.unwrap_err();
    assert!(error.is_closed() && !error.maybe_executed(), "{error}");
}

#[tokio::test]
async fn commands_on_any_keys_are_split_by_methods_that_say_so() {
    let cluster = connect(shared()).await;
    let keys: Vec<String> = (0..50).map(|number| format!("split:{number}")).collect();
    let pairs = keys.iter().zip(100..).filter(|(_, number)| number % 2 == 0);
    cluster.mset_non_atomic(pairs).await.unwrap();
    let values = cluster.mget_non_atomic(&keys).await.unwrap();
    for (number, value) in (100..).zip(values) {
        let expected = (number % 2 == 0).then(|| number.to_string().into_bytes());
        assert_eq!(value, expected);
    }
    assert_eq!(cluster.exists_non_atomic(&keys).await.unwrap(), 25);
    assert_eq!(cluster.touch_non_atomic(&keys).await.unwrap(), 25);
    assert_eq!(cluster.unlink_non_atomic(&keys[..20]).await.unwrap(), 10);
    assert_eq!(cluster.del_non_atomic(&keys).await.unwrap(), 15);
    assert_eq!(
        cluster.mget_non_atomic::<&str>([]).await.unwrap(),
        Vec::<Option<Vec<u8>>>::new()
    );
}

#[tokio::test]
async fn a_scan_finds_the_keys_of_all_nodes() {
    let cluster = connect(shared()).await;
    let keys: BTreeSet<Vec<u8>> = (0..300)
        .map(|number| format!("scan:{number}").into_bytes())
        .collect();
    cluster
        .mset_non_atomic(keys.iter().map(|key| (key, 1)))
        .await
        .unwrap();
    let mut found = BTreeSet::new();
    let mut scan = cluster
        .scan()
        .matching("scan:*")
        .count(50)
        .of_type("string");
    while let Some(keys) = within(scan.next()).await.unwrap() {
        found.extend(keys);
    }
    assert_eq!(found, keys);
}

/// Valkey has zones since 8.0: in INFO, if not in the description of the cluster.
#[tokio::test]
async fn reads_go_to_the_nodes_of_a_zone() {
    let nodes = shared();
    let has_zones = (0..6).all(|at| {
        let zone = if at < 3 { "near" } else { "far" };
        nodes
            .ask(at, &format!("CONFIG SET availability-zone {zone}"))
            .is_ok()
    });
    if !has_zones {
        lacks("availability-zone", "Valkey has it since 8.0");
        return;
    }
    let mut config = config(nodes);
    config.read_from = ReadFrom::Zone("far".into());
    let cluster = connect_with(&config).await;
    for number in 0..30 {
        cluster
            .run(&string::get(format!("zone:{number}")))
            .await
            .unwrap();
    }
    // No connection to a primary was needed.
    assert_eq!(cluster.connections(), 3);
    cluster.run(&string::set("zone:0", 1)).await.unwrap();
    assert_eq!(cluster.connections(), 4);
    let blocking = tokio::task::spawn_blocking(move || {
        let mut cluster = onecopy_valkey::blocking::Cluster::connect_with(&config).unwrap();
        for number in 0..30 {
            cluster.run(&string::get(format!("zone:{number}"))).unwrap();
        }
        cluster.connections()
    });
    assert_eq!(blocking.await.unwrap(), 3);
}
