//! Backends that a reload removes: sessions continue on the others.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::Mode;

use crate::pair::{Pair, number};
use crate::planned::{FOR_EVER, sessions};
use crate::replication::until;

fn tcp(host: &str, port: u16) -> Endpoint {
    let host = host.to_owned();
    Endpoint::Tcp { host, port }
}

const SERVER: &str = "SELECT @@server_id";

/// How often a worker looks at the times of its sessions.
const LOOK: Duration = Duration::from_millis(250);

/// The client gets 1053 as a command's error, or as the reason of the close.
fn is_sent_away(conn: &mut Connection) -> bool {
    let error = conn.run("COMMIT").unwrap_err();
    let said = error.to_string();
    error.is_closed()
        && said.contains("1053")
        && said.contains("does not have this session's backend")
}

/// All sessions are on the first backend, and the second one would take them.
fn on_the_first(mode: Mode) -> Pair {
    let pair = Pair::start_apart(mode);
    pair.admin().run("DRAIN BACKEND two").unwrap();
    pair
}

/// The first backend is removed. Its sessions have so long to leave.
fn remove_the_first(pair: &Pair, timeout: Duration) {
    pair.admin().run("RESUME BACKEND two").unwrap();
    let mut config = pair.proxy.config();
    config.drain.timeout = timeout;
    config.listeners[0].backends.remove(0);
    pair.proxy.reload(config).unwrap();
}

#[test]
fn sessions_leave_a_removed_backend_once_their_transactions_and_pins_are_over() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pair = on_the_first(mode);
        let [mut open, mut pinned, mut idle] =
            [(); 3].map(|()| Connection::connect_with(&pair.client()).unwrap());
        open.run("SET SESSION lock_wait_timeout = 1234").unwrap();
        open.run("BEGIN").unwrap();
        pinned.run("DO GET_LOCK('removed', 0)").unwrap();
        idle.run("SET SESSION lock_wait_timeout = 4321").unwrap();
        for conn in [&mut open, &mut pinned, &mut idle] {
            assert_eq!(number(conn, SERVER), 1);
        }
        remove_the_first(&pair, FOR_EVER);
        assert_eq!(number(&mut open, SERVER), 1, "{mode:?}");
        assert_eq!(number(&mut pinned, SERVER), 1, "{mode:?}");
        until("the idle one has left", || number(&mut idle, SERVER) == 2);
        open.run("COMMIT").unwrap();
        pinned.run("DO RELEASE_LOCK('removed')").unwrap();
        until("the pin is over", || number(&mut pinned, SERVER) == 2);
        for (conn, timeout) in [(&mut open, 1234), (&mut idle, 4321)] {
            let sql = "SELECT @@server_id, @@lock_wait_timeout";
            until("both are on the second one", || {
                conn.query_one::<(i64, i64)>(sql).unwrap() == (2, timeout)
            });
        }
        until("all have left", || sessions(&pair.primary) == 0);
    }
}

#[test]
fn a_session_that_can_not_leave_a_removed_backend_ends_after_its_transaction() {
    let pair = on_the_first(Mode::Transaction);
    let mut pinned = Connection::connect_with(&pair.client()).unwrap();
    for sql in ["SET @own = 1", "DO GET_LOCK('own', 0)", "BEGIN"] {
        pinned.run(sql).unwrap();
    }
    remove_the_first(&pair, FOR_EVER);
    let mut other = Connection::connect_with(&pair.client()).unwrap();
    until("the removal", || number(&mut other, SERVER) == 2);
    pinned.run("COMMIT").unwrap();
    // Its lock is not taken from it.
    std::thread::sleep(2 * LOOK);
    assert_eq!(number(&mut pinned, "SELECT @own"), 1);
    pinned.run("DO RELEASE_LOCK('own')").unwrap();
    until("its session has ended", || sessions(&pair.primary) == 0);
    assert!(is_sent_away(&mut pinned));
    assert_eq!(number(&mut other, SERVER), 2);
}

#[test]
fn a_pinned_session_that_is_reset_leaves_a_removed_backend() {
    let pair = on_the_first(Mode::Transaction);
    let mut pinned = Connection::connect_with(&pair.client()).unwrap();
    for sql in ["SET @own = 1", "BEGIN", "SELECT 1"] {
        pinned.run(sql).unwrap();
    }
    remove_the_first(&pair, FOR_EVER);
    std::thread::sleep(2 * LOOK);
    assert_eq!(number(&mut pinned, SERVER), 1);
    pinned.reset().unwrap();
    until("it has left", || number(&mut pinned, SERVER) == 2);
}

#[test]
fn sessions_that_can_leave_a_removed_backend_do_so_without_a_deadline() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pair = on_the_first(mode);
        let mut conn = Connection::connect_with(&pair.client()).unwrap();
        conn.run("SET SESSION lock_wait_timeout = 1234").unwrap();
        assert_eq!(number(&mut conn, SERVER), 1);
        remove_the_first(&pair, Duration::ZERO);
        until("it has left", || sessions(&pair.primary) == 0);
        let sql = "SELECT @@server_id, @@lock_wait_timeout";
        let found = conn.query_one::<(i64, i64)>(sql).unwrap();
        assert_eq!(found, (2, 1234), "{mode:?}");
    }
}

#[test]
fn a_session_that_does_not_leave_a_removed_backend_in_time_is_told() {
    let pair = on_the_first(Mode::Transaction);
    let [mut open, mut other] = [(); 2].map(|()| Connection::connect_with(&pair.client()).unwrap());
    open.run("BEGIN").unwrap();
    for conn in [&mut open, &mut other] {
        assert_eq!(number(conn, SERVER), 1);
    }
    remove_the_first(&pair, Duration::from_millis(300));
    until("the transaction's session has ended", || {
        sessions(&pair.primary) == 0
    });
    assert!(is_sent_away(&mut open));
    assert_eq!(number(&mut other, SERVER), 2);
}

#[test]
fn sessions_end_with_their_listener() {
    let pair = on_the_first(Mode::Transaction);
    let mut idle = Connection::connect_with(&pair.client()).unwrap();
    assert_eq!(number(&mut idle, SERVER), 1);
    let before = pair.proxy.sessions();
    let mut config = pair.proxy.config();
    config.drain.timeout = FOR_EVER;
    let listener = &mut config.listeners[0];
    "back".clone_into(&mut listener.name);
    listener.listen = vec![tcp("127.0.0.2", 0)];
    listener.backends.truncate(1);
    listener.backends[0].endpoint = tcp("localhost", pair.primary.port());
    pair.proxy.reload(config).unwrap();
    until("its session has ended", || pair.proxy.sessions() < before);
    assert!(is_sent_away(&mut idle));
}
