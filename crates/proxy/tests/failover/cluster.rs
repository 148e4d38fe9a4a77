//! A proxy in front of a cluster of three servers.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Mode, PoolConfig, ReplicaReads};
use onecopy_testkit::server::Server;

use crate::pair::{self, connect, state_of};
use crate::replication::{direct, run_all, until};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// The servers, of which the first one gets the writes at first.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    pub(crate) proxy: Proxy,
}

impl Cluster {
    /// Starts the proxy; returns when it knows who is who.
    pub(crate) fn start(nodes: Vec<Server>) -> Self {
        let cluster = Self::start_with(nodes, None, |_| ());
        cluster.await_states(["up", "standby", "standby"]);
        cluster
    }

    /// The same with reads on those that do not get the writes.
    pub(crate) fn start_reading(nodes: Vec<Server>, reads: ReplicaReads) -> Self {
        Self::start_reading_with(nodes, reads, |_| ())
    }

    pub(crate) fn start_reading_with(
        nodes: Vec<Server>,
        reads: ReplicaReads,
        configure: impl FnOnce(&mut PoolConfig),
    ) -> Self {
        let cluster = Self::start_with(nodes, Some(reads), configure);
        cluster.await_states(["up", "replica", "replica"]);
        cluster
    }

    fn start_with(
        nodes: Vec<Server>,
        reads: Option<ReplicaReads>,
        configure: impl FnOnce(&mut PoolConfig),
    ) -> Self {
        let servers: Vec<_> = nodes.iter().collect();
        let mut config = pair::config(&servers, Mode::Transaction, reads);
        // Nodes that are only slow are not left.
        (config.health.timeout, config.health.fall) = (Duration::from_secs(30), 3);
        configure(&mut config.listeners[0].pool);
        let proxy = Proxy::start(config).unwrap();
        Self { nodes, proxy }
    }

    /// Waits until the proxy has the nodes in these states.
    pub(crate) fn await_states(&self, states: [&str; 3]) {
        until(&format!("the proxy has {states:?}"), || {
            self.states() == states
        });
    }

    pub(crate) fn states(&self) -> [String; 3] {
        let mut admin = pair::admin(&self.proxy);
        NAMES.map(|name| state_of(&mut admin, name))
    }
}

const TABLES: &[&str] = &[
    "CREATE TABLE test.ten (a INT PRIMARY KEY)",
    "INSERT INTO test.ten VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "CREATE TABLE test.bulk (a INT PRIMARY KEY, b INT)",
    "INSERT INTO test.bulk SELECT a.a + 10 * b.a + 100 * c.a + 1000 * d.a, 0 FROM test.ten a, test.ten b, test.ten c, test.ten d",
    "CREATE TABLE test.own (id INT PRIMARY KEY, number BIGINT)",
    "INSERT INTO test.own VALUES (1, 0)",
];

/// `ER_LOCK_DEADLOCK`, `ER_ERROR_DURING_COMMIT` and `ER_TRANSACTION_ROLLBACK_DURING_COMMIT`: another member has changed the same row,
/// and its change has not come here yet.
const CONFLICTS: [u16; 3] = [1213, 1180, 3101];

/// What is done again where the writes have gone to another member, and the last ones have not come there yet.
fn change(conn: &mut Connection, sql: &str) {
    while let Err(error) = conn.run(sql) {
        let is_conflict = error
            .server()
            .is_some_and(|server| CONFLICTS.contains(&server.code));
        assert!(is_conflict, "{sql}: {error}");
    }
}

/// Has the writes go from the first member to the second one and back, in front of some of the pairs of [`read_own_changes`]: whether they do.
pub(crate) fn move_writes(admin: &mut Connection, number: u64) -> bool {
    let (back, away) = match number % 40 {
        20 => ("two", "one"),
        0 => ("one", "two"),
        _ => return false,
    };
    admin.run(format!("RESUME BACKEND {back}")).unwrap();
    admin.run(format!("DRAIN BACKEND {away}")).unwrap();
    true
}

/// Pairs of a write and a read of one session, while the members apply transactions of so many rows: no read is before its write, and
/// some are on members that do not get the writes. `moves` may have the writes go to another member, which is read first then.
pub(crate) fn read_own_changes(
    cluster: &Cluster,
    rows: u32,
    pairs: u64,
    mut moves: impl FnMut(u64) -> bool,
) {
    let first = i64::from(cluster.nodes[0].port());
    let port = |conn: &mut Connection| conn.query_one::<(i64,)>("SELECT @@port").unwrap().0;
    assert_ne!(
        port(&mut connect(&cluster.proxy)),
        first,
        "without a change"
    );
    while_changing(cluster, rows, |conn| {
        let (mut elsewhere, mut stale, mut writer) = (0, Vec::new(), first);
        // Whether it was read on a member that does not get the writes.
        let mut read = |number: u64| {
            if moves(number) {
                let read = conn.query_one("SELECT /* onecopy: primary */ number, @@port FROM own");
                let (found, port): (u64, i64) = read.unwrap();
                if found != number - 1 {
                    stale.push((number - 1, found, port));
                }
                writer = port;
            }
            let update = format!("UPDATE own SET number = {number}");
            change(conn, &update);
            let read = conn.query_one::<(u64, i64)>("SELECT number, @@port FROM own");
            let (found, port) = read.unwrap();
            if found != number {
                stale.push((number, found, port));
            }
            port != writer
        };
        for number in 1..=pairs {
            elsewhere += u32::from(read(number));
        }
        // On a slow machine the others may have been late all the time.
        let mut number = pairs;
        until("a read on another member", || {
            number += 1;
            elsewhere += u32::from(read(number));
            elsewhere > 0
        });
        assert!(stale.is_empty(), "{stale:?}");
    });
    let mut admin = pair::admin(&cluster.proxy);
    let mut rows = admin.query("SHOW READS").unwrap();
    let row = rows.next().unwrap().unwrap();
    let [reads, waits, late] =
        ["Replica", "Waits", "Ahead_of_replica"].map(|column| row.get::<u64>(column).unwrap());
    println!("{reads} reads on other members, {waits} waits, {late} too late");
    assert!(waits > 0 && reads > 1);
    rows.finish().unwrap();
}

/// A session without reads on replicas changes so many rows, and then one that it reads on the member that gets the writes next.
pub(crate) fn read_after_moves(cluster: &Cluster, rows: u32, moves: u64) {
    let mut admin = pair::admin(&cluster.proxy);
    run_all(&mut direct(&cluster.nodes[0]), TABLES);
    let mut conn = connect(&cluster.proxy);
    let mut stale = Vec::new();
    for number in 1..=moves {
        change(&mut conn, &update_of(rows));
        change(&mut conn, &format!("UPDATE own SET number = {number}"));
        assert!(move_writes(&mut admin, 20 * number));
        let read = conn.query_one::<(u64, i64)>("SELECT number, @@port FROM own");
        let (found, port) = read.unwrap();
        if found != number {
            stale.push((number, found, port));
        }
    }
    assert!(stale.is_empty(), "{stale:?}");
}

fn update_of(rows: u32) -> String {
    format!("UPDATE bulk SET b = b + 1 WHERE a < {rows}")
}

/// Makes the tables, and does this with a connection while another one changes so many rows again and again.
fn while_changing(cluster: &Cluster, rows: u32, work: impl FnOnce(&mut Connection)) {
    run_all(&mut direct(&cluster.nodes[0]), TABLES);
    let mut conn = connect(&cluster.proxy);
    let is_over = AtomicBool::new(false);
    let update = update_of(rows);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut conn = connect(&cluster.proxy);
            while !is_over.load(SeqCst) {
                change(&mut conn, &update);
            }
        });
        let work = std::panic::AssertUnwindSafe(|| work(&mut conn));
        let ended = std::panic::catch_unwind(work);
        is_over.store(true, SeqCst);
        ended.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
}
