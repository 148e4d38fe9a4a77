//! A cluster of three servers that all take writes: one of them gets them, until it is lost or not a whole member any more.

use std::collections::HashSet;

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::{ServerKind, lacks, shared, start_galera};

use crate::cluster::Cluster;
use crate::load::{CLIENTS, Load};
use crate::pair::{self, GRANT, TABLE, create_app, shown_of};
use crate::replication::{PASSWORD, direct, run_all, until};

/// Pieces of work before and after.
const SOME: u64 = 200;

fn start() -> Option<Cluster> {
    if !has_galera() {
        return None;
    }
    let nodes = start_galera(3, PASSWORD).unwrap();
    for node in &nodes {
        until("all nodes have joined", || is_synced(&mut direct(node)));
    }
    run_all(&mut direct(&nodes[0]), &[&create_app(), GRANT, TABLE]);
    Some(Cluster::start(nodes))
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

#[test]
fn a_node_of_galera_that_is_killed_loses_no_commit() {
    for _ in 0..crate::lost::rounds().div_ceil(10) {
        let Some(mut cluster) = start() else {
            return;
        };
        let load = Load::start_on(&cluster.proxy);
        load.await_more(SOME);
        cluster.nodes[0].kill();
        load.await_more(SOME);
        cluster.await_states(["down", "up", "standby"]);
        let outcome = load.end();
        outcome.check(&cluster.nodes[1]);
        outcome.check(&cluster.nodes[2]);
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
    outcome.check(&cluster.nodes[0]);
    outcome.check(&cluster.nodes[2]);
    let errors = outcome.errors();
    println!("{} errors when a node had lost the others", errors.len());
    // Each transaction under way has one from its statement, and one from its ROLLBACK at most.
    assert!(errors.len() as u64 <= 2 * CLIENTS, "{}", errors.len());
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
