//! Rules that send reads to one replica.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Config, Mode, ReplicaReads, Role, RuleConfig, RuleTarget};
use onecopy_testkit::server::Server;

use crate::pair::{self, GRANT, TABLE, admin, connect, create_app, number, state_of};
use crate::replication::{direct, follow, run_all, until};

const REPORT: &str = "SELECT @@server_id AS report";
const OTHER: &str = "SELECT @@server_id";

/// The primary, and replicas that follow it.
fn servers(replicas: u32) -> Vec<Server> {
    let servers: Vec<_> = (1..=replicas + 1).map(|id| pair::server(id, &[])).collect();
    for replica in &servers[1..] {
        follow("127.0.0.1", &servers[0], replica, [&[], &[]]);
    }
    run_all(&mut direct(&servers[0]), &[&create_app(), GRANT, TABLE]);
    for replica in &servers[1..] {
        until("the replica has the table", || {
            direct(replica)
                .query_opt::<(i64,)>("SELECT COUNT(*) FROM test.done")
                .is_ok()
        });
    }
    servers
}

/// A proxy that sends reports to a backend.
fn start(servers: &[Server], to: &str, change: impl FnOnce(&mut Config)) -> Proxy {
    let servers: Vec<_> = servers.iter().collect();
    let reads = ReplicaReads {
        max_lag: None,
        ..ReplicaReads::default()
    };
    let mut config = pair::config(&servers, Mode::Transaction, Some(reads));
    (config.health.timeout, config.health.fall) = (Duration::from_secs(30), 3);
    config.listeners[0].rules = vec![RuleConfig {
        name: "reports".to_owned(),
        digest: Some("AS `report`".to_owned()),
        to: Some(RuleTarget::Backend(to.to_owned())),
        ..RuleConfig::default()
    }];
    change(&mut config);
    Proxy::start(config).unwrap()
}

#[test]
fn reads_go_to_the_replica_that_a_rule_names() {
    let mut servers = servers(2);
    let proxy = start(&servers, "three", |config| {
        let reports = &mut config.listeners[0].backends[2];
        (reports.role, reports.weight) = (Role::Replica, 0);
    });
    let mut admin = admin(&proxy);
    until("both replicas serve", || {
        ["two", "three"].map(|name| state_of(&mut admin, name)) == ["replica", "replica"]
    });
    let mut conn = connect(&proxy);
    let statement = conn.prepare(REPORT).unwrap();
    for round in 0..20 {
        // What was written is there at once.
        conn.run(format!("INSERT INTO test.done VALUES ({round}, 1)"))
            .unwrap();
        let sql = "SELECT COUNT(*), @@server_id AS report FROM test.done";
        assert_eq!(conn.query_one::<(i64, i64)>(sql).unwrap(), (round + 1, 3));
        assert_eq!(number(&mut conn, OTHER), 2);
        assert_eq!(number(&mut conn, REPORT), 3);
        let prepared = conn.execute_one::<(i64,)>(&statement, &[]).unwrap();
        assert_eq!(prepared, (3,));
    }
    // Comments have the last word, and writes go to the primary.
    let commented = format!("{REPORT} /* onecopy: primary */");
    assert_eq!(number(&mut conn, &commented), 1);
    assert_eq!(number(&mut conn, &format!("{REPORT} FOR UPDATE")), 1);
    conn.run("BEGIN").unwrap();
    assert_eq!(number(&mut conn, REPORT), 1);
    conn.run("COMMIT").unwrap();
    // Without it another replica does.
    admin.run("DRAIN BACKEND three").unwrap();
    assert_eq!(number(&mut conn, REPORT), 2);
    admin.run("RESUME BACKEND three").unwrap();
    assert_eq!(number(&mut conn, REPORT), 3);
    servers[2].kill();
    until("it is known to be gone", || {
        state_of(&mut admin, "three") == "down"
    });
    let mut conn = connect(&proxy);
    assert_eq!(number(&mut conn, REPORT), 2);
    servers[1].kill();
    until("no replica is left", || {
        state_of(&mut admin, "two") == "down"
    });
    let mut conn = connect(&proxy);
    assert_eq!(number(&mut conn, REPORT), 1);
    let answer = "EXPLAIN RULE 'SELECT 1 AS report'";
    let mut rows = admin.query(answer).unwrap();
    let action = rows.next().unwrap().unwrap();
    assert_eq!(action.get::<&str>("Action").unwrap(), "to backend 'three'");
    rows.finish().unwrap();
}

/// Both kinds of reads are for the same server, which has room for one connection: each gets its turn, and nobody waits in vain.
#[test]
fn reads_of_a_rule_share_their_server_with_others() {
    const EACH: usize = 20;
    let servers = servers(1);
    let proxy = start(&servers, "two", |config| {
        let pool = &mut config.listeners[0].pool;
        (pool.max, pool.connect_rate) = (1, None);
    });
    let mut admin = admin(&proxy);
    until("the replica serves", || {
        state_of(&mut admin, "two") == "replica"
    });
    // One kind goes on until the other one has had its turns.
    for (busy, other) in [(REPORT, OTHER), (OTHER, REPORT)] {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut conn = connect(&proxy);
                    while !is_over.load(SeqCst) {
                        assert_eq!(number(&mut conn, busy), 2);
                    }
                });
            }
            let turns = scope.spawn(|| {
                let mut conn = connect(&proxy);
                for _ in 0..EACH {
                    assert_eq!(number(&mut conn, other), 2);
                }
            });
            let since = Instant::now();
            while !turns.is_finished() && since.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_over.store(true, SeqCst);
            turns.join().unwrap();
        });
    }
}

#[test]
fn a_target_is_a_backend_that_may_be_a_replica() {
    let servers = servers(1);
    let proxy = start(&servers, "two", |_| {});
    for (to, role, why) in [
        ("replcia", Role::Replica, "is none of its backends"),
        ("two", Role::Any, "is never a replica"),
    ] {
        let mut config = proxy.config();
        config.listeners[0].rules[0].to = Some(RuleTarget::Backend(to.to_owned()));
        config.listeners[0].backends[1].role = role;
        let error = proxy.reload(config).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
