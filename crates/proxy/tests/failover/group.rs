//! A group of three MySQL servers that elects its primary by itself, or in which all take writes.

use std::net::TcpListener;
use std::time::Duration;

use onecopy_mysql::Param;
use onecopy_proxy::config::ReplicaReads;

use onecopy_testkit::server::{Server, ServerKind, lacks, shared};

use crate::cluster::{Cluster, move_writes, read_own_changes};
use crate::load::{CLIENTS, Load};
use crate::pair::{self, GRANT, connect, create_app, metric_of, shown_of};
use crate::replication::{PASSWORD, direct, replicating, run_all, until};

/// Pieces of work before and after.
const SOME: u64 = 200;

/// Group replication wants primary keys.
const TABLE: &str = "CREATE TABLE test.done (id BIGINT NOT NULL, part INT NOT NULL, number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
    KEY (id)) ENGINE = InnoDB";

const JOIN: &[&str] = &[
    "RESET BINARY LOGS AND GTIDS",
    "SET GLOBAL group_replication_recovery_get_public_key = ON",
];

fn start() -> Option<Cluster> {
    start_nodes().map(Cluster::start)
}

/// `None` where the servers have no group replication, which is said.
pub(crate) fn start_nodes() -> Option<Vec<Server>> {
    start_nodes_with(&[])
}

/// The same with these settings for each of them.
fn start_nodes_with(settings: &[&str]) -> Option<Vec<Server>> {
    if shared().kind() == ServerKind::MariaDb {
        lacks("group replication", "MariaDB has Galera");
        return None;
    }
    let ports: Vec<u16> = free_ports();
    let seeds: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let nodes = vec![node(1), node(2), node(3)];
    let recovery = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root', SOURCE_PASSWORD = '{PASSWORD}' FOR CHANNEL 'group_replication_recovery'"
    );
    for (at, node) in nodes.iter().enumerate() {
        let mut conn = direct(node);
        run_all(
            &mut conn,
            &["INSTALL PLUGIN group_replication SONAME 'group_replication.so'"],
        );
        run_all(&mut conn, JOIN);
        run_all(&mut conn, settings);
        run_all(
            &mut conn,
            &[
                "SET GLOBAL group_replication_group_name = '6f6e6563-6f70-4921-8000-000000000002'",
                &format!(
                    "SET GLOBAL group_replication_group_seeds = '{}'",
                    seeds.join(",")
                ),
                &format!(
                    "SET GLOBAL group_replication_local_address = '{}'",
                    seeds[at]
                ),
                &recovery,
            ],
        );
        let start: &[&str] = match at {
            0 => &[
                "SET GLOBAL group_replication_bootstrap_group = ON",
                "START GROUP_REPLICATION",
                "SET GLOBAL group_replication_bootstrap_group = OFF",
            ],
            _ => &["START GROUP_REPLICATION"],
        };
        run_all(&mut conn, start);
        until("it is a member", || {
            let sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'";
            let (online,): (usize,) = conn.query_one(sql).unwrap();
            online == at + 1
        });
    }
    run_all(&mut direct(&nodes[0]), &[&create_app(), GRANT, TABLE]);
    Some(nodes)
}

fn node(id: u32) -> Server {
    let options = [
        "--performance-schema=ON",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--report-host=127.0.0.1",
    ];
    let node = replicating(id);
    let node = options
        .iter()
        .fold(node, |node, option| node.argument(*option));
    node.start().unwrap()
}

fn free_ports() -> Vec<u16> {
    let bind = |_| TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<_> = (0..3).map(bind).collect();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    listeners.iter().map(port).collect()
}

#[test]
fn a_primary_of_a_group_that_is_killed_loses_no_commit() {
    let Some(mut cluster) = start() else { return };
    let load = Load::start_on(&cluster.proxy);
    load.await_more(SOME);
    cluster.nodes[0].kill();
    load.await_more(SOME);
    until("it is seen to be down", || cluster.states()[0] == "down");
    let states = cluster.states();
    let elected = match states[1] == "up" {
        true => &cluster.nodes[1],
        false => &cluster.nodes[2],
    };
    let outcome = load.end();
    outcome.check(elected);
    let errors = outcome.errors();
    assert!(errors.len() as u64 <= 2 * CLIENTS, "{errors:?}");
    println!(
        "primary of a group killed: no transaction for {:?}",
        outcome.longest_pause()
    );
    // Without the others a member is none, though it goes on.
    let mut admin = pair::admin(&cluster.proxy);
    let (two, three) = cluster.nodes.split_at_mut(2);
    let (lost, name) = match states[1] == "up" {
        true => (&mut three[0], "two"),
        false => (&mut two[1], "three"),
    };
    lost.kill();
    until("a member without a majority is out", || {
        pair::state_of(&mut admin, name) == "desynced"
    });
    let why = shown_of(&mut admin, name, "Last_error");
    assert!(
        why.contains("1 of the 2 members of its group are unreachable"),
        "{why}"
    );
}

/// All of them take writes. Each numbers its transactions in a range of its own, and exhausts that soon.
const MULTI_PRIMARY: &[&str] = &[
    "SET GLOBAL group_replication_single_primary_mode = OFF",
    "SET GLOBAL group_replication_gtid_assignment_block_size = 20",
];

#[test]
fn reads_on_secondaries_of_a_group_show_a_sessions_own_changes() {
    let Some(nodes) = start_nodes() else { return };
    let cluster = Cluster::start_reading(nodes, ReplicaReads::default());
    read_own_changes(&cluster, 200, 100, |_| false);
}

/// The writes go to one of them, and to another one from time to time.
#[test]
fn reads_on_equal_members_of_a_group_show_a_sessions_own_changes() {
    let Some(nodes) = start_nodes_with(MULTI_PRIMARY) else {
        return;
    };
    let cluster = Cluster::start_reading(nodes, ReplicaReads::default());
    let mut admin = pair::admin(&cluster.proxy);
    read_own_changes(&cluster, 200, 100, |number| move_writes(&mut admin, number));
}

/// The member that gets the writes may still have to apply what a session has written on the one before.
#[test]
fn a_session_that_comes_to_another_member_finds_its_own_changes_there() {
    let Some(nodes) = start_nodes_with(MULTI_PRIMARY) else {
        return;
    };
    let cluster = Cluster::start_reading_with(nodes, ReplicaReads::default(), |pool| {
        pool.failover_timeout = Duration::from_secs(1);
    });
    let tables = [
        "CREATE TABLE test.own (id INT PRIMARY KEY, number BIGINT)",
        "INSERT INTO test.own VALUES (1, 0)",
    ];
    run_all(&mut direct(&cluster.nodes[0]), &tables);
    let mut holder = direct(&cluster.nodes[1]);
    until("the row is there", || {
        let rows = holder.query_one::<(u64,)>("SELECT COUNT(*) FROM test.own");
        rows.is_ok_and(|rows| rows == (1,))
    });
    // What comes to this table waits there.
    holder.run("LOCK TABLES test.own READ").unwrap();
    let mut conn = connect(&cluster.proxy);
    conn.run("UPDATE own SET number = 1").unwrap();
    let mut admin = pair::admin(&cluster.proxy);
    admin.run("DRAIN BACKEND three").unwrap();
    admin.run("DRAIN BACKEND one").unwrap();
    let long = format!("SELECT number /* {} */ FROM own", "long ".repeat(100_000));
    for sql in ["SELECT number FROM own", "BEGIN", &long] {
        let error = conn.run(sql).unwrap_err();
        let error = error.server().unwrap();
        assert_eq!(error.code, 1205, "{error}");
        let expected = "Backend 'two' has not applied the last changes of this session yet";
        assert!(error.message.starts_with(expected), "{error}");
    }
    let error = conn.exec("SELECT number FROM own WHERE id = ?", &[Param::from(1)]);
    let error = error.and_then(|rows| rows.finish()).unwrap_err();
    assert_eq!(
        error.server().map(|error| error.code),
        Some(1205),
        "{error}"
    );
    conn.ping().unwrap();
    holder.run("UNLOCK TABLES").unwrap();
    let mut read = None;
    until("it has them", || {
        let row = conn.query_one::<(u64, u16)>("SELECT number, @@port FROM own");
        read = row.ok();
        read.is_some()
    });
    assert_eq!(read, Some((1, cluster.nodes[1].port())));
}

/// What one of them says of its lag counts, also where it takes writes itself.
#[test]
fn members_of_a_group_that_are_behind_serve_no_reads() {
    for settings in [&[][..], MULTI_PRIMARY] {
        let Some(nodes) = start_nodes_with(settings) else {
            return;
        };
        let reads = ReplicaReads {
            max_lag: Some(Duration::from_secs(1)),
            ..ReplicaReads::default()
        };
        let cluster = Cluster::start_reading(nodes, reads);
        let mut conn = connect(&cluster.proxy);
        let mut holder = direct(&cluster.nodes[1]);
        // What comes to this table waits there, and all that comes behind it.
        holder.run("LOCK TABLES test.done READ").unwrap();
        conn.run("INSERT INTO done (id, part) VALUES (1, 0)")
            .unwrap();
        cluster.await_states(["up", "lagging", "replica"]);
        let lag = metric_of(&cluster.proxy, "two", "replication_lag_transactions");
        assert_eq!(lag, 1.);
        holder.run("UNLOCK TABLES").unwrap();
        cluster.await_states(["up", "replica", "replica"]);
    }
}
