//! Replicas of another server than the primary: what they have is not what clients may read.

use std::thread;
use std::time::{Duration, Instant};

use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Config, Mode, ReplicaReads, Role};
use onecopy_testkit::server::{Server, ServerKind, shared};

use crate::pair::{
    self, GRANT, TABLE, admin, connect, create_app, metric_of, number, shown_of, state_of,
};
use crate::replication::{
    PASSWORD, begin_log, direct, follow, follow_from_start, is_mariadb, run_all, until,
};

/// Three servers, of which each follows the one with this index. The account and the table have arrived everywhere.
fn servers(follows: [usize; 2]) -> Vec<Server> {
    let servers: Vec<_> = (1..=3).map(|id| pair::server(id, &[])).collect();
    servers.iter().for_each(begin_log);
    for (replica, source) in [1, 2].into_iter().zip(follows) {
        follow_from_start("127.0.0.1", &servers[source], &servers[replica]);
    }
    run_all(&mut direct(&servers[0]), &[&create_app(), GRANT, TABLE]);
    for replica in &servers[1..] {
        until("the replica has the table", || {
            let mut conn = direct(replica);
            conn.run("SELECT COUNT(*) FROM test.done").is_ok()
        });
    }
    servers
}

fn start(servers: &[&Server], reads: ReplicaReads, change: impl FnOnce(&mut Config)) -> Proxy {
    let mut config = pair::config(servers, Mode::Transaction, Some(reads));
    (config.health.timeout, config.health.fall) = (Duration::from_secs(30), 3);
    change(&mut config);
    Proxy::start(config).unwrap()
}

fn await_states(proxy: &Proxy, states: &[&str]) {
    let mut admin = admin(proxy);
    let names = || ["one", "two", "three"].into_iter().take(states.len());
    let mut now = Vec::new();
    let since = Instant::now();
    while now != states {
        now = names().map(|name| state_of(&mut admin, name)).collect();
        let why: Vec<_> = (names().map(|name| shown_of(&mut admin, name, "Last_error"))).collect();
        assert!(since.elapsed().as_secs() < 60, "{now:?} {why:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Statements about the replication of a server, of all of its sources.
fn replication(server: &Server, mariadb: &[&str], mysql: &[&str]) {
    let statements = match is_mariadb(server) {
        true => mariadb,
        false => mysql,
    };
    run_all(&mut direct(server), statements);
}

/// Ends its replication, and has it take writes.
fn promote(server: &Server) {
    let writes = "SET GLOBAL read_only = 0";
    replication(
        server,
        &["STOP SLAVE", "RESET SLAVE ALL", writes],
        &["STOP REPLICA", "RESET REPLICA ALL", writes],
    );
}

fn change_source(replica: &Server, port: u16) {
    replication(
        replica,
        &[
            "STOP SLAVE",
            &format!("CHANGE MASTER TO MASTER_PORT = {port}"),
            "START SLAVE",
        ],
        &[
            "STOP REPLICA",
            &format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT = {port}"),
            "START REPLICA",
        ],
    );
}

#[test]
fn a_replica_that_still_follows_the_primary_before_serves_no_reads() {
    let servers = servers([0, 0]);
    let all: Vec<_> = servers.iter().collect();
    let proxy = start(&all, ReplicaReads::default(), |_| {});
    await_states(&proxy, &["up", "replica", "replica"]);
    // Nobody tells the third one of the new primary.
    run_all(&mut direct(&servers[0]), &["SET GLOBAL read_only = 1"]);
    promote(&servers[1]);
    await_states(&proxy, &["lagging", "up", "wrong source"]);
    let (mut writer, mut reader) = (connect(&proxy), connect(&proxy));
    for id in 0..100 {
        let sql = format!("INSERT INTO done VALUES ({id}, 0)");
        writer.run(sql).unwrap();
        let sql = format!("SELECT COUNT(*) + 10 * @@server_id FROM done WHERE id = {id}");
        assert_eq!(number(&mut reader, &sql), 21, "{id}");
    }
    let why = || shown_of(&mut admin(&proxy), "three", "Last_error");
    until("why is said", || why().contains("(server id 1"));
    assert!(why().contains("the primary (server id 2"), "{}", why());
    // It may come back as it was.
    run_all(&mut direct(&servers[0]), &["SET GLOBAL read_only = 0"]);
    await_states(&proxy, &["second primary", "up", "wrong source"]);
    let alarms = |name| ["one", "two", "three"].map(|backend| metric_of(&proxy, backend, name));
    assert_eq!(alarms("wrong_source"), [0., 0., 1.]);
    assert_eq!(alarms("second_primary"), [1., 0., 0.]);
    change_source(&servers[2], servers[1].port());
    await_states(&proxy, &["second primary", "up", "replica"]);
    until("it is read from", || {
        number(&mut reader, "SELECT @@server_id + COUNT(*) FROM done") == 103
    });
    until("the error is gone", || why().is_empty());
    assert_eq!(alarms("wrong_source"), [0.; 3]);
}

#[test]
fn a_replica_of_a_replica_serves_reads_as_long_as_that_one_keeps_up() {
    let servers = servers([0, 1]);
    let all: Vec<_> = servers.iter().collect();
    let proxy = start(&all, ReplicaReads::default(), |config| {
        // The one in between need not serve any reads.
        let between = &mut config.listeners[0].backends[1];
        (between.role, between.weight) = (Role::Replica, 0);
    });
    await_states(&proxy, &["up", "replica", "replica"]);
    let mut conn = connect(&proxy);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 3);
    let io = |what: &str| {
        let sql = format!("{what} SLAVE IO_THREAD");
        let of_mysql = format!("{what} REPLICA IO_THREAD");
        replication(&servers[1], &[&sql], &[&of_mysql]);
    };
    io("STOP");
    await_states(&proxy, &["up", "lagging", "wrong source"]);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 1);
    io("START");
    await_states(&proxy, &["up", "replica", "replica"]);
    // It does not follow the primary any more.
    promote(&servers[1]);
    await_states(&proxy, &["up", "standby", "wrong source"]);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 1);
}

#[test]
fn a_replica_of_a_server_that_the_proxy_does_not_know_is_trusted_where_any_lag_will_do() {
    let servers = servers([0, 1]);
    let known = [&servers[0], &servers[2]];
    let proxy = start(&known, ReplicaReads::default(), |_| {});
    await_states(&proxy, &["up", "wrong source"]);
    let mut conn = connect(&proxy);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 1);
    let mut config = proxy.config();
    let reads = ReplicaReads {
        max_lag: None,
        ..ReplicaReads::default()
    };
    config.listeners[0].replica_reads = Some(reads);
    proxy.reload(config).unwrap();
    await_states(&proxy, &["up", "replica"]);
    let mut conn = connect(&proxy);
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 3);
    // One that is known to be wrong is not.
    let all: Vec<_> = servers.iter().collect();
    let proxy = start(&all, reads, |_| {});
    await_states(&proxy, &["up", "replica", "replica"]);
    promote(&servers[1]);
    await_states(&proxy, &["up", "second primary", "wrong source"]);
}

#[test]
fn a_replica_of_several_servers_serves_reads_if_the_primary_is_one_of_them() {
    let of_mariadb = ["--gtid-domain-id=7"];
    let domain: &[&str] = match shared().kind() {
        ServerKind::MariaDb => &of_mariadb,
        _ => &[],
    };
    let servers = [
        pair::server(1, &[]),
        pair::server(2, domain),
        pair::server(3, &[]),
    ];
    follow("127.0.0.1", &servers[0], &servers[2], [&[], &[]]);
    run_all(&mut direct(&servers[0]), &[&create_app(), GRANT, TABLE]);
    let port = servers[1].port();
    replication(
        &servers[2],
        &[
            &format!(
                "CHANGE MASTER 'other' TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_PASSWORD = '{PASSWORD}', MASTER_USE_GTID = slave_pos"
            ),
            "START SLAVE 'other'",
        ],
        &[
            &format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_PASSWORD = '{PASSWORD}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1 FOR CHANNEL 'other'"
            ),
            "START REPLICA FOR CHANNEL 'other'",
        ],
    );
    let proxy = start(&[&servers[0], &servers[2]], ReplicaReads::default(), |_| {});
    await_states(&proxy, &["up", "replica"]);
    replication(
        &servers[2],
        &["STOP SLAVE", "RESET SLAVE ALL"],
        &[
            "STOP REPLICA FOR CHANNEL ''",
            "RESET REPLICA ALL FOR CHANNEL ''",
        ],
    );
    await_states(&proxy, &["up", "wrong source"]);
}
