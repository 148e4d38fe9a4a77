//! What errors do to transactions, and what the proxy makes of them: an ERR packet tells no state.

use std::time::{Duration, Instant};

use onecopy_proxy::Proxy;
use onecopy_testkit::server::ServerKind;

use crate::raw::Raw;
use crate::{Watcher, client};

const DEADLOCK: u16 = 1213;
const NAMED_DEADLOCK: u16 = 3058;
const TIMEOUT: u16 = 1205;
const DUPLICATE: u16 = 1062;
const TABLE_EXISTS: u16 = 1050;
const NO_TABLE: u16 = 1146;
const NO_SQL: u16 = 1064;

/// Something of the first of two sessions that fails, and what is open behind it.
pub(crate) struct Failure {
    name: &'static str,
    /// Gives the number of the error.
    play: fn(&mut Raw, &mut Raw) -> u16,
    errors: &'static [u16],
    /// The server's transaction, and the proxy's account of it.
    is_open: bool,
    account: bool,
}

const fn failure(
    name: &'static str,
    errors: &'static [u16],
    is_open: bool,
    play: fn(&mut Raw, &mut Raw) -> u16,
) -> Failure {
    Failure {
        name,
        play,
        errors,
        is_open,
        account: is_open,
    }
}

impl Failure {
    /// The proxy can't know better before the next OK.
    const fn known_as(self, account: bool) -> Self {
        Self { account, ..self }
    }

    pub(crate) fn compare(&self, proxy: &Proxy, watcher: &mut Watcher, kind: ServerKind) {
        let name = self.name;
        let port = proxy.tcp_address().unwrap().port();
        let connect = || Raw::connect(port, crate::capabilities(kind));
        let (mut first, mut second) = (connect(), connect());
        first.run("UPDATE failures SET b = 0");
        // The server counts a statement when it ends, which is a little later than its reply.
        let id = first.id;
        let counted = |watcher: &mut Watcher| {
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                let proxys = client(proxy, id);
                let servers = watcher.account(id);
                if servers.commands >= proxys.commands {
                    return (servers.in_transaction, proxys.in_transaction);
                }
                assert!(Instant::now() < deadline, "not all is counted: {name}");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let error = (self.play)(&mut first, &mut second);
        assert!(self.errors.contains(&error), "{error}: {name}");
        let expected = (self.is_open, self.account);
        assert_eq!(
            counted(watcher),
            expected,
            "the server's, the proxy's: {name}"
        );
        // The next reply that tells it puts it right.
        first.run("DO 1");
        let (servers, proxys) = counted(watcher);
        assert_eq!(proxys, servers, "behind an OK: {name}");
    }
}

/// The number of the error that a query has to have.
fn fails(raw: &mut Raw, sql: &str) -> u16 {
    assert!(!raw.query(sql), "{sql}");
    raw.last_error
}

/// The second waits for the first, and the first is chosen: it has changed less.
fn deadlock(first: &mut Raw, second: &mut Raw) -> u16 {
    first.run("UPDATE failures SET b = 1 WHERE a = 1");
    second.run("BEGIN");
    second.run("UPDATE failures SET b = 1 WHERE a >= 2");
    second.command(0x03, b"UPDATE failures SET b = 2 WHERE a = 1");
    let error = fails(first, "UPDATE failures SET b = 2 WHERE a = 2");
    assert!(second.results());
    error
}

pub(crate) const FAILURES: &[Failure] = &[
    failure("a deadlock", &[DEADLOCK], false, |first, second| {
        first.run("BEGIN");
        deadlock(first, second)
    }),
    failure(
        "a deadlock without autocommit",
        &[DEADLOCK],
        false,
        |first, second| {
            first.run("SET autocommit = 0");
            deadlock(first, second)
        },
    ),
    failure(
        "a deadlock of named locks",
        &[DEADLOCK, NAMED_DEADLOCK],
        true,
        |first, second| {
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            first.run("DO GET_LOCK('failures_1', 10)");
            second.run("SELECT GET_LOCK('failures_2', 10)");
            second.command(0x03, b"SELECT GET_LOCK('failures_1', 60)");
            // The session that asks last gets the error; the other one must be waiting by then.
            let waits = format!(
                "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {} AND STATE LIKE 'User lock%'",
                second.id
            );
            while first.last_rows == 0 {
                first.run(&waits);
            }
            fails(first, "SELECT GET_LOCK('failures_2', 60)")
        },
    ),
    failure(
        "a lock that is not had in time",
        &[TIMEOUT],
        true,
        |first, second| {
            first.run("SET innodb_lock_wait_timeout = 1");
            second.run("BEGIN");
            second.run("UPDATE failures SET b = 1 WHERE a = 2");
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            fails(first, "UPDATE failures SET b = 2 WHERE a = 2")
        },
    ),
    failure(
        "a key that is there already",
        &[DUPLICATE],
        true,
        |first, _| {
            first.run("BEGIN");
            fails(first, "INSERT INTO failures VALUES (1, 1)")
        },
    ),
    failure(
        "an end before the failure",
        &[NO_TABLE],
        false,
        |first, _| {
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            fails(first, "COMMIT; SELECT * FROM not_there")
        },
    ),
    failure(
        "a definition that can't be read",
        &[NO_SQL],
        true,
        |first, _| {
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            fails(first, "CREATE TABLE failures (a")
        },
    ),
    failure(
        "a definition that fails",
        &[TABLE_EXISTS],
        false,
        |first, _| {
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            fails(first, "CREATE TABLE failures (a INT)")
        },
    )
    .known_as(true),
    failure(
        "a procedure that commits and fails",
        &[NO_TABLE],
        false,
        |first, _| {
            first.run("BEGIN");
            first.run("UPDATE failures SET b = 1 WHERE a = 1");
            fails(first, "CALL failing()")
        },
    )
    .known_as(true),
    failure(
        "a first statement that fails",
        &[DUPLICATE],
        true,
        |first, _| {
            first.run("SET autocommit = 0");
            fails(first, "INSERT INTO failures VALUES (1, 1)")
        },
    )
    .known_as(false),
];
