//! A cluster of three servers that all take writes: one of them gets them, until it is lost or not a whole member any more.

use std::collections::HashSet;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::ReplicaReads;
use onecopy_testkit::server::{Server, ServerKind, lacks, shared, start_galera};

use crate::cluster::{Cluster, move_writes, read_after_moves, read_own_changes};
use crate::load::{CLIENTS, Load, Outcome};
use crate::pair::{self, GRANT, TABLE, create_app, shown_of};
use crate::replication::{PASSWORD, direct, run_all, until};

/// Pieces of work before and after.
const SOME: u64 = 200;

fn start() -> Option<Cluster> {
    start_nodes().map(Cluster::start)
}

pub(crate) fn start_nodes() -> Option<Vec<Server>> {
    if !has_galera() {
        return None;
    }
    let nodes = start_galera(3, PASSWORD).unwrap();
    for node in &nodes {
        // One that joins may close the first connections.
        let is_there =
            || Connection::connect(&node.socket_url()).is_ok_and(|mut conn| is_synced(&mut conn));
        until("all nodes have joined", is_there);
    }
    run_all(&mut direct(&nodes[0]), &[&create_app(), GRANT, TABLE]);
    Some(nodes)
}

/// Whether the installed server has Galera; what it can't be tried with is said.
fn has_galera() -> bool {
    let is_other = std::env::var_os("ONECOPY_TEST_SERVER").is_some_and(|path| !path.is_empty());
    if is_other || shared().kind() != ServerKind::MariaDb {
        lacks("Galera", "its library is the one of the machine's MariaDB");
        return false;
    }
    true
}

fn is_synced(conn: &mut Connection) -> bool {
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_local_state') AND Value IN ('3', '4')";
    let rows: Vec<(String, String)> = conn.query_as(sql).unwrap();
    let shown: HashSet<_> = rows
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    shown == HashSet::from([("wsrep_cluster_size", "3"), ("wsrep_local_state", "4")])
}

/// Looks at a node that has applied all that was committed before.
fn check(outcome: &Outcome, node: &Server) {
    direct(node)
        .run("SET STATEMENT wsrep_sync_wait = 1 FOR SELECT 0")
        .unwrap();
    outcome.check(node);
}

#[test]
fn a_node_of_galera_that_is_killed_loses_no_commit() {
    for _ in 0..crate::lost::rounds().div_ceil(3) {
        let Some(mut cluster) = start() else {
            return;
        };
        let load = Load::start_on(&cluster.proxy);
        load.await_more(SOME);
        cluster.nodes[0].kill();
        load.await_more(SOME);
        cluster.await_states(["down", "up", "standby"]);
        let outcome = load.end();
        check(&outcome, &cluster.nodes[1]);
        check(&outcome, &cluster.nodes[2]);
        let errors = outcome.errors();
        assert!(errors.len() as u64 <= CLIENTS, "{errors:?}");
        let lost = |error: &&str| error.contains("Lost connection to backend 'one'");
        assert!(errors.iter().all(lost), "{errors:?}");
        // Galera gives up the lost node after five seconds, and commits nothing before.
        println!(
            "node of Galera killed: no transaction for {:?}",
            outcome.longest_pause()
        );
    }
}

/// One that is behind the others on purpose is left without an error; one that has lost them says so to clients first.
#[test]
fn a_node_of_galera_that_is_no_whole_member_is_left() {
    let Some(cluster) = start() else {
        return;
    };
    let load = Load::start_on(&cluster.proxy);
    load.await_more(SOME);
    let mut one = direct(&cluster.nodes[0]);
    one.run("SET GLOBAL wsrep_desync = ON").unwrap();
    cluster.await_states(["desynced", "up", "standby"]);
    let mut admin = pair::admin(&cluster.proxy);
    let why = shown_of(&mut admin, "one", "Last_error");
    assert!(
        why.contains("wsrep_local_state_comment is Donor/Desynced"),
        "{why}"
    );
    load.await_more(SOME);
    one.run("SET GLOBAL wsrep_desync = OFF").unwrap();
    cluster.await_states(["standby", "up", "standby"]);
    load.await_more(SOME);
    // Nothing reaches the others any more, and nothing of theirs reaches it.
    direct(&cluster.nodes[1])
        .run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
        .unwrap();
    cluster.await_states(["up", "desynced", "standby"]);
    load.await_more(SOME);
    let outcome = load.end();
    check(&outcome, &cluster.nodes[0]);
    check(&outcome, &cluster.nodes[2]);
    let errors = outcome.errors();
    println!("{} errors when a node had lost the others", errors.len());
    // Each transaction under way has one from its statement, and one from its ROLLBACK at most.
    let mut kinds = std::collections::BTreeMap::new();
    for error in &errors {
        *kinds.entry(*error).or_insert(0) += 1;
    }
    assert!(errors.len() as u64 <= 2 * CLIENTS, "{kinds:?}");
    let is_of_the_node = |error: &&str| {
        let parts = [
            "WSREP",
            "provider status",
            "Lost connection to backend 'two'",
        ];
        parts.iter().any(|part| error.contains(part))
    };
    assert!(errors.iter().all(is_of_the_node), "{errors:?}");
}

/// Members that do not get the writes serve reads, and no session misses what it has written itself, while they apply large transactions
/// and the writes go to another member from time to time.
#[test]
fn reads_on_other_members_of_galera_show_a_sessions_own_changes() {
    let Some(nodes) = start_nodes() else {
        return;
    };
    let cluster = Cluster::start_reading(nodes, ReplicaReads::default());
    let mut admin = pair::admin(&cluster.proxy);
    read_own_changes(&cluster, 10_000, 200, |number| {
        move_writes(&mut admin, number)
    });
}

#[test]
fn a_session_finds_its_own_changes_on_the_node_that_it_comes_to() {
    let Some(cluster) = start() else {
        return;
    };
    read_after_moves(&cluster, 10_000, 20);
}
