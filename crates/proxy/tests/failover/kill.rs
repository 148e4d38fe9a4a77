//! A `KILL` of a client whose connection is on another server than that of the client that kills.

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::ReplicaReads;
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
