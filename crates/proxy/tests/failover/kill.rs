//! A `KILL` of a client whose connection is on another server than that of the client that kills.

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::{Mode, ReplicaReads};
use onecopy_testkit::server::Server;

use crate::pair::Pair;
use crate::replication::{PASSWORD, direct, until};

/// `ER_QUERY_INTERRUPTED`.
const INTERRUPTED: u16 = 1317;

/// The ids of the threads that execute a statement with this comment.
fn threads(server: &Server, comment: &str) -> Vec<u32> {
    let sql = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%{comment}%'"
    );
    let ids = direct(server).query_as::<(u32,)>(&sql).unwrap();
    ids.into_iter().map(|(id,)| id).collect()
}

/// A connection to a server whose id is this one; the ones before it are closed.
fn numbered(server: &Server, id: u32) -> Connection {
    let mut config = ClientConfig::from_url(&server.url()).unwrap();
    (config.user, config.password) = ("app".into(), PASSWORD.into());
    config.get_server_public_key = true;
    loop {
        let conn = Connection::connect_with(&config).unwrap();
        if conn.connection_id() == id {
            return conn;
        }
        assert!(
            conn.connection_id() < id,
            "{} is above",
            conn.connection_id()
        );
    }
}

#[test]
fn a_kill_reaches_a_statement_on_the_replica_and_nobody_on_the_primary() {
    for what in ["QUERY ", ""] {
        let pair = Pair::start_reading(ReplicaReads::default());
        // What connects to the replica from now on has ids that the primary gives later.
        let given = direct(&pair.primary).connection_id() + 200;
        while direct(&pair.replica).connection_id() < given {}
        let connect = || Connection::connect_with(&pair.client()).unwrap();
        let (mut one, mut other) = (connect(), connect());
        let id = one.connection_id();
        let comment = format!("of {id}");
        let sql = format!("SELECT SLEEP(600) /* {comment} */");
        let sleeping = std::thread::spawn(move || {
            // MariaDB gives an error, MySQL a 1.
            let ended = one.query(sql).and_then(|mut rows| rows.next().map(drop));
            let code = ended.err().and_then(|error| Some(error.server()?.code));
            // A KILL that comes late does not interrupt the next statements.
            let goes_on = (0..100).all(|_| one.run("SELECT 1").is_ok());
            (code, goes_on)
        });
        until("its statement", || {
            threads(&pair.replica, &comment).len() == 1
        });
        let mut bystander = numbered(&pair.primary, threads(&pair.replica, &comment)[0]);
        other.run(format!("KILL {what}{id}")).unwrap();
        until("its end", || threads(&pair.replica, &comment).is_empty());
        let (code, goes_on) = sleeping.join().unwrap();
        assert_eq!(goes_on, !what.is_empty(), "KILL {what}");
        if goes_on {
            assert!(matches!(code, None | Some(INTERRUPTED)), "{code:?}");
        }
        bystander.ping().unwrap();
        other.run("SELECT 1").unwrap();
    }
}

/// A client's own connection to a server with an id that the pool's connections to the other one also have.
fn bystander(server: &Server, other: &Server) -> Connection {
    let given = direct(other)
        .connection_id()
        .max(direct(server).connection_id())
        + 300;
    for server in [server, other] {
        while direct(server).connection_id() < given {}
    }
    numbered(server, direct(server).connection_id() + 50)
}

fn assert_error(error: &onecopy_mysql::Error, code: u16, part: &str) {
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    let text = server.message.to_string();
    assert!(server.code == code && text.contains(part), "{error}");
}

#[test]
fn a_kill_of_a_servers_own_id_runs_on_the_server_that_the_client_stays_on_and_nowhere_else() {
    let pair = Pair::start_reading(ReplicaReads::default());
    let mut bystander = bystander(&pair.primary, &pair.replica);
    let id = bystander.connection_id();
    let mut conn = Connection::connect_with(&pair.client()).unwrap();
    for kill in [format!("KILL {id}"), format!("/*! KILL QUERY {id} */")] {
        assert_error(
            &conn.run(kill).unwrap_err(),
            1094,
            "BEGIN, SHOW PROCESSLIST",
        );
    }
    let unclear = [
        format!("KILL {id} + 0"),
        format!("KILL {id} /* {} */", "long".repeat(20_000)),
        format!("SELECT 1; KILL {id}"),
    ];
    for kill in unclear {
        let ended = conn.run(&kill).unwrap_err();
        assert_error(&ended, 1235, "several servers");
    }
    let prepared = conn.prepare(format!("KILL {id}"));
    assert_error(&prepared.unwrap_err(), 1295, "several servers");
    conn.run("DO 1").unwrap();
    bystander.run("DO 1").unwrap();
    // As an administrator would.
    conn.run("BEGIN").unwrap();
    let mut listed = Vec::new();
    let mut rows = conn.query("SHOW PROCESSLIST").unwrap();
    while let Some(row) = rows.next().unwrap() {
        listed.push(row.get::<u32>(0).unwrap());
    }
    rows.finish().unwrap();
    assert!(listed.contains(&id));
    conn.run(format!("KILL {id}")).unwrap();
    bystander.run("DO 1").unwrap_err();
    conn.run("COMMIT").unwrap();
}

#[test]
fn the_id_that_a_client_was_told_by_its_server_means_that_client() {
    let pair = Pair::start_apart(Mode::Transaction);
    // The first server is ahead: its ids are free on the other one.
    let given = direct(&pair.replica).connection_id() + 400;
    while direct(&pair.primary).connection_id() < given {}
    let connect = || Connection::connect_with(&pair.client()).unwrap();
    let mut others = Vec::new();
    let (mut one, id) = loop {
        let mut conn = connect();
        let sql = "SELECT CONNECTION_ID(), @@server_id";
        let (id, server) = conn.query_one::<(u32, u32)>(sql).unwrap();
        match server {
            1 => break (conn, id),
            _ => others.push(conn),
        }
    };
    let mut bystander = numbered(&pair.replica, id);
    let mut killer = connect();
    for what in ["QUERY ", ""] {
        let comment = format!("of {id} {what}");
        let sql = format!("SELECT SLEEP(600) /* {comment} */");
        let sleeping = std::thread::spawn(move || {
            let _ = one.query(sql).and_then(|mut rows| rows.next().map(drop));
            let goes_on = one.run("SELECT 1").is_ok();
            (one, goes_on)
        });
        until("its statement", || {
            threads(&pair.primary, &comment).len() == 1
        });
        // One that stays on another server may mean its thread there.
        if let Some(other) = others.last_mut() {
            let refused = other.run(format!("KILL {what}{id}")).unwrap_err();
            assert_error(&refused, 1094, "any of this listener's servers");
        }
        killer.run(format!("KILL {what}{id}")).unwrap();
        let goes_on;
        (one, goes_on) = sleeping.join().unwrap();
        assert_eq!(goes_on, !what.is_empty(), "KILL {what}");
    }
    // It has no connection any more.
    until("nobody has it", || {
        let gone = killer.run(format!("KILL {id}")).unwrap_err();
        gone.server().unwrap().code == 1094
    });
    bystander.run("DO 1").unwrap();
    // Who stays on that server means it.
    let mut own = others.pop().unwrap_or_else(connect);
    let sql = "SELECT CONNECTION_ID(), @@server_id";
    let (_, server) = own.query_one::<(u32, u32)>(sql).unwrap();
    if server == 2 {
        own.run(format!("KILL {id}")).unwrap();
        bystander.run("DO 1").unwrap_err();
    }
}
