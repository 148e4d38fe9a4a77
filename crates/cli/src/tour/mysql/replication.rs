//! A pair of private servers: one follows the other, and takes its place.

use std::thread;
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint};

use crate::bench::failure::Failure;

/// Until a replica has what it should have.
const PATIENCE: Duration = Duration::from_secs(30);

/// Statements that differ between the servers.
struct Words {
    reset: &'static str,
    follow: &'static str,
    source: [&'static str; 4],
    source_rest: &'static str,
    start: &'static str,
    stop_receiving: &'static str,
    status: &'static str,
    state: &'static str,
    promote: [&'static str; 3],
    replica_takes_part: &'static [&'static str],
    primary_takes_part: &'static [&'static str],
    replicas: &'static str,
}

const MARIADB: Words = Words {
    reset: "RESET MASTER",
    follow: "CHANGE MASTER TO",
    source: [
        "MASTER_HOST",
        "MASTER_PORT",
        "MASTER_USER",
        "MASTER_PASSWORD",
    ],
    source_rest: "MASTER_USE_GTID = slave_pos",
    start: "START SLAVE",
    stop_receiving: "STOP SLAVE IO_THREAD",
    status: "SHOW SLAVE STATUS",
    state: "Slave_SQL_Running_State",
    promote: ["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"],
    replica_takes_part: &["SET GLOBAL rpl_semi_sync_slave_enabled = 1"],
    primary_takes_part: &[
        "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC",
        "SET GLOBAL rpl_semi_sync_master_timeout = 600000",
        "SET GLOBAL rpl_semi_sync_master_enabled = 1",
    ],
    replicas: "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_clients'",
};

const MYSQL: Words = Words {
    reset: "RESET BINARY LOGS AND GTIDS",
    follow: "CHANGE REPLICATION SOURCE TO",
    source: [
        "SOURCE_HOST",
        "SOURCE_PORT",
        "SOURCE_USER",
        "SOURCE_PASSWORD",
    ],
    source_rest: "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
    start: "START REPLICA",
    stop_receiving: "STOP REPLICA IO_THREAD",
    status: "SHOW REPLICA STATUS",
    state: "Replica_SQL_Running_State",
    promote: [
        "STOP REPLICA",
        "RESET REPLICA ALL",
        "SET GLOBAL read_only = 0",
    ],
    replica_takes_part: &[
        "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
        "SET GLOBAL rpl_semi_sync_replica_enabled = 1",
    ],
    primary_takes_part: &[
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "SET GLOBAL rpl_semi_sync_source_timeout = 600000",
        "SET GLOBAL rpl_semi_sync_source_enabled = 1",
    ],
    replicas: "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'",
};

fn words(conn: &Connection) -> &'static Words {
    match conn.server_version().contains("MariaDB") {
        true => &MARIADB,
        false => &MYSQL,
    }
}

/// Has the replica follow the primary, which acknowledges a commit once the replica has it.
pub(super) fn follow(primary: &Config, password: &str, replica: &Config) -> Result<(), Failure> {
    let mut first = Connection::connect_with(primary)?;
    let mut second = Connection::connect_with(replica)?;
    let words = words(&first);
    let Endpoint::Tcp { host, port } = &primary.endpoint else {
        return Err(Failure::said("a replica follows its primary over TCP"));
    };
    let [host_is, port_is, user_is, password_is] = words.source;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let follow = format!(
        "{} {host_is} = {}, {port_is} = {port}, {user_is} = {}, {password_is} = {}, {}",
        words.follow,
        quoted(host),
        quoted(&primary.user),
        quoted(password),
        words.source_rest
    );
    first.run(words.reset)?;
    second.run(words.reset)?;
    for sql in words.primary_takes_part {
        // Its commits wait from the last of them on: nobody commits before the replica has come.
        first.run(*sql)?;
    }
    for sql in words.replica_takes_part {
        second.run(*sql)?;
    }
    for sql in [follow.as_str(), words.start, "SET GLOBAL read_only = 1"] {
        second.run(sql)?;
    }
    wait("the replica to take part", || {
        Ok(column(&mut first, words.replicas, "Value")? != "0")
    })
}

/// Makes the replica a primary, with all that it has received.
pub(super) fn promote(replica: &Config) -> Result<(), Failure> {
    let mut conn = Connection::connect_with(replica)?;
    let words = words(&conn);
    conn.run(words.stop_receiving)?;
    wait("the replica to apply what it has", || {
        let state = column(&mut conn, words.status, words.state)?;
        Ok(state.contains("has read all relay log"))
    })?;
    for sql in words.promote {
        conn.run(sql)?;
    }
    Ok(())
}

fn column(conn: &mut Connection, sql: &str, name: &str) -> Result<String, Failure> {
    let mut rows = conn.query(sql)?;
    let value = match rows.next()? {
        Some(row) => row.get::<&str>(name)?.to_owned(),
        None => String::new(),
    };
    rows.finish()?;
    Ok(value)
}

/// Asks again and again.
pub(super) fn wait(
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::said(format!(
                "waited {} s for {what}",
                PATIENCE.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
