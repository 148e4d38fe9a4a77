//! Networks that are cut between the client and a node: connections that end, and ones on which nothing comes any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onecopy_valkey::aio::{Cluster, SharedOptions};
use onecopy_valkey::cluster::ClusterConfig;
use onecopy_valkey::command::string;
use onecopy_valkey::{blocking, raw};

use crate::common::{count, shared, until, within};
use crate::fake::{Answer, Fake};
use crate::relay::Relay;

/// A cluster that is reached through relays only: a node that knows no commands but the slots says so.
fn through_relays() -> (Vec<Relay>, Fake) {
    let nodes = shared();
    let relays: Vec<Relay> = (0..3).map(|at| Relay::to(nodes.node(at).port())).collect();
    let ports: Vec<u16> = relays.iter().map(|relay| relay.port()).collect();
    let guide = Fake::start(move |request, _| match request {
        "CLUSTER SLOTS" => {
            let range = |at: usize| {
                let (start, end) = (at * 16_384 / 3, (at + 1) * 16_384 / 3 - 1);
                format!(
                    "*3\r\n:{start}\r\n:{end}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{}\r\n",
                    ports[at]
                )
            };
            Answer::from(format!("*3\r\n{}{}{}", range(0), range(1), range(2)))
        }
        _ => Answer::from("-ERR only slots are known here\r\n"),
    });
    (relays, guide)
}

fn config(guide: &Fake) -> ClusterConfig {
    let mut config = guide.config();
    config.max_wait = crate::common::LONG;
    config
}

/// Whether a handle still learns the slots from its seed: nodes behind relays tell their own ports, which nobody cuts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_go_on_behind_connections_that_end() {
    let (relays, guide) = through_relays();
    let cluster = Cluster::connect_with(&config(&guide), SharedOptions::default())
        .await
        .unwrap();
    let over = Arc::<AtomicBool>::default();
    let tasks: Vec<_> = (0..8_u64)
        .map(|task| {
            let (cluster, over) = (cluster.clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let (mut done, mut lost) = (0_u64, 0_u64);
                while !over.load(Ordering::Relaxed) {
                    let text = format!("cut:{task}:{}", done + lost);
                    match cluster
                        .run(
                            &raw("EVAL")
                                .args(["return ARGV[1]", "1"])
                                .arg(&text)
                                .arg(&text),
                        )
                        .await
                    {
                        Ok(reply) => {
                            assert_eq!(reply.into_bytes().unwrap(), text.as_bytes());
                            done += 1;
                        }
                        Err(error) => {
                            assert!(error.is_closed() && error.maybe_executed(), "{error}");
                            lost += 1;
                        }
                    }
                }
                (done, lost)
            })
        })
        .collect();
    for _ in 0..count(5, 200) {
        for relay in &relays {
            tokio::time::sleep(Duration::from_millis(20)).await;
            relay.end_all();
        }
    }
    over.store(true, Ordering::Relaxed);
    let mut totals = (0, 0);
    for task in tasks {
        let (done, lost) = within(task).await.unwrap();
        totals = (totals.0 + done, totals.1 + lost);
    }
    println!("{} executed, {} lost", totals.0, totals.1);
    assert!(totals.0 > 0);
}

/// A node from which nothing comes: commands that were sent there fail with a typed error after their time, others are not
/// affected, and when the network is back late replies reach nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_cut_off_affects_no_other() {
    let (relays, guide) = through_relays();
    let mut config = config(&guide);
    config.node.command_timeout = Some(Duration::from_millis(200));
    let cluster = Cluster::connect_with(&config, SharedOptions::default())
        .await
        .unwrap();
    let key_at = |at: usize| {
        let keys = (0..).map(|number| format!("cutoff:{number}"));
        let slot = |key: &String| {
            usize::from(onecopy_valkey::cluster::key_slot(key.as_bytes())) * 3 / 16_384
        };
        keys.filter(|key| slot(key) == at).nth(5).unwrap()
    };
    let keys = [key_at(0), key_at(1), key_at(2)];
    for key in &keys {
        cluster.run(&string::set(key, key)).await.unwrap();
    }
    relays[1].cut(true);
    for _ in 0..3 {
        let error = within(cluster.run(&string::set(&keys[1], "late")))
            .await
            .unwrap_err();
        assert!(error.is_timeout() && error.maybe_executed(), "{error}");
        for at in [0, 2] {
            let value = within(cluster.run(&string::get(&keys[at]))).await.unwrap();
            assert_eq!(value.into_bytes().unwrap(), keys[at].as_bytes());
        }
    }
    relays[1].cut(false);
    relays[1].end_all();
    until(|| relays[1].accepted() > 1).await;
    for number in 0..50 {
        let text = format!("own:{number}");
        let Ok(reply) = within(
            cluster.run(
                &raw("EVAL")
                    .args(["return ARGV[1]", "1"])
                    .arg(&keys[1])
                    .arg(&text),
            ),
        )
        .await
        else {
            continue;
        };
        assert_eq!(reply.into_bytes().unwrap(), text.as_bytes());
    }
}

/// The blocking face, whose deadline holds for all attempts together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_call_ends_with_its_deadline() {
    let (relays, guide) = through_relays();
    let mut config = config(&guide);
    config.node.command_timeout = Some(Duration::from_millis(200));
    let blocking = tokio::task::spawn_blocking(move || {
        let mut cluster = blocking::Cluster::connect_with(&config).unwrap();
        cluster.run(&string::set("cutoff", "1")).unwrap();
        relays.iter().for_each(|relay| relay.cut(true));
        let error = cluster.run(&string::set("cutoff", "2")).unwrap_err();
        assert!(error.is_timeout() && error.maybe_executed(), "{error}");
        relays.iter().for_each(|relay| relay.cut(false));
        relays.iter().for_each(Relay::end_all);
        let value = (0..100)
            .find_map(|_| cluster.run(&string::get("cutoff")).ok())
            .unwrap();
        assert_eq!(value.as_i64(), Some(1));
    });
    within(blocking).await.unwrap();
}
