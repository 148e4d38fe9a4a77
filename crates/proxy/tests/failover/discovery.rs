//! Servers that are not configured are found by what the others tell.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{DiscoveryConfig, Mode, ReplicaReads};
use onecopy_testkit::server::Server;

use crate::galera;
use crate::group;
use crate::pair::{self, GRANT, Pair, TABLE, admin, create_app, state_of};
use crate::replication::{direct, follow, is_mariadb, run_all, until};

/// A proxy that is told of the first of these servers only.
fn start(first: &Server, reads: Option<ReplicaReads>, forget_after: Duration) -> Proxy {
    let mut config = pair::config(&[first], Mode::Transaction, reads);
    (config.health.timeout, config.health.fall) = (Duration::from_secs(30), 3);
    config.listeners[0].discovery = Some(DiscoveryConfig { forget_after });
    Proxy::start(config).unwrap()
}

fn port_of(conn: &mut Connection) -> u16 {
    conn.query_one::<(u16,)>("SELECT @@port").unwrap().0
}

fn name(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

/// Two servers, of which the first one takes writes and can say where the second one is.
fn servers() -> (Server, Server) {
    let tells = ["--report-host=127.0.0.1"];
    let (primary, replica) = (pair::server(1, &[]), pair::server(2, &tells));
    follow("127.0.0.1", &primary, &replica, [&[], &[]]);
    run_all(&mut direct(&primary), &[&create_app(), GRANT, TABLE]);
    until("the replica has the table", || {
        direct(&replica)
            .query_opt::<(i64,)>("SELECT COUNT(*) FROM test.done")
            .is_ok()
    });
    (primary, replica)
}

#[test]
fn a_replica_is_found_and_read_and_is_forgotten() {
    let (primary, replica) = servers();
    let reads = ReplicaReads {
        max_lag: None,
        ..ReplicaReads::default()
    };
    let proxy = start(&primary, Some(reads), Duration::from_millis(1));
    let mut admin = admin(&proxy);
    let found = name(&replica);
    until("the replica is found", || {
        state_of(&mut admin, &found) == "replica"
    });
    let config = proxy.config();
    let backends = config.listeners[0].backends.iter();
    assert!(backends.map(|one| one.is_discovered).eq([false, true]));
    let mut conn = Connection::connect_with(&pair::client(&proxy)).unwrap();
    until("a read on it", || port_of(&mut conn) == replica.port());
    // A reload does not give it up.
    let mut config = proxy.config();
    config.listeners[0].backends.truncate(1);
    config.listeners[0].pool.max = 7;
    let changes = proxy.reload(config).unwrap();
    assert!(
        !changes.lines().iter().any(|line| line.contains(&found)),
        "{changes}"
    );
    assert_eq!(port_of(&mut conn), replica.port());
    // It no longer follows: the primary tells of it as long as it has not noticed.
    let stop = match is_mariadb(&replica) {
        true => "STOP SLAVE",
        false => "STOP REPLICA",
    };
    run_all(&mut direct(&replica), &[stop]);
    until("the primary has no replica", || {
        let list = match is_mariadb(&primary) {
            true => "SHOW SLAVE HOSTS",
            false => "SHOW REPLICAS",
        };
        // Writes have it look at its connections.
        direct(&primary)
            .run("INSERT INTO test.done VALUES (1, 1)")
            .unwrap();
        let mut primary = direct(&primary);
        let mut rows = primary.query(list).unwrap();
        let is_gone = rows.next().unwrap().is_none();
        rows.finish().unwrap();
        is_gone
    });
    until("it is forgotten", || {
        state_of(&mut admin, &found).is_empty()
    });
    assert_eq!(port_of(&mut conn), primary.port());
}

/// Where the configured server is lost, the one that was found takes its part.
#[test]
fn a_discovered_replica_is_promoted() {
    let (primary, replica) = servers();
    let proxy = start(&primary, None, Duration::from_secs(600));
    let mut admin = admin(&proxy);
    let found = name(&replica);
    until("the replica is found", || {
        state_of(&mut admin, &found) == "standby"
    });
    let mut conn = Connection::connect_with(&pair::client(&proxy)).unwrap();
    conn.run("INSERT INTO test.done VALUES (1, 1)").unwrap();
    let count = "SELECT COUNT(*) FROM test.done";
    // The primary does not wait for it.
    until("the replica has the row", || {
        direct(&replica).query_one::<(u32,)>(count).unwrap().0 == 1
    });
    let mut pair = Pair {
        primary,
        replica,
        proxy,
    };
    pair.primary.kill();
    pair.promote();
    conn.run("INSERT INTO test.done VALUES (2, 1)").unwrap();
    assert_eq!(port_of(&mut conn), pair.replica.port());
    assert_eq!(conn.query_one::<(u32,)>(count).unwrap().0, 2);
}

/// One of them is configured. It is lost, and with it its word of the others, which go on without it.
fn members_are_found(mut nodes: Vec<Server>, others: &str) {
    let reads = (others == "replica").then(ReplicaReads::default);
    let proxy = start(&nodes[1], reads, Duration::from_secs(600));
    let mut admin = admin(&proxy);
    let servers = || proxy.servers().len();
    until("the others are found", || servers() == 3);
    let names = [name(&nodes[0]), "one".to_owned(), name(&nodes[2])];
    until("one of them gets the writes", || {
        let mut states = names.each_ref().map(|name| state_of(&mut admin, name));
        states.sort_unstable();
        states == [others, others, "up"] || states == ["up", others, others]
    });
    let mut conn = Connection::connect_with(&pair::client(&proxy)).unwrap();
    let sql = "INSERT INTO test.done (id, part) VALUES (1, 1)";
    conn.run(sql).unwrap();
    nodes[1].kill();
    until("the others get the writes", || {
        let conn = Connection::connect_with(&pair::client(&proxy));
        conn.and_then(|mut conn| conn.run(sql)).is_ok()
    });
    assert_eq!(servers(), 3);
}

#[test]
fn members_of_galera_are_found() {
    if let Some(nodes) = galera::start_nodes() {
        members_are_found(nodes, "replica");
    }
}

#[test]
fn members_of_a_group_are_found() {
    if let Some(nodes) = group::start_nodes() {
        members_are_found(nodes, "standby");
    }
}
