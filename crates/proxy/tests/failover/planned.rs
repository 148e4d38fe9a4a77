//! A primary that is replaced on purpose: a pause, a drain.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::own_network::{self, ADDRESS};
use onecopy_testkit::server::Server;

use crate::load::Load;
use crate::pair::{Pair, connects, number, state_of};
use crate::replication::{direct, until};

/// The pool's connections that clients have.
fn in_use(admin: &mut Connection) -> i64 {
    let mut rows = admin.query("SHOW POOLS").unwrap();
    let row = rows.next().unwrap().unwrap();
    let [all, idle] = ["Connections", "Idle"].map(|name| row.get::<i64>(name).unwrap());
    rows.finish().unwrap();
    all - idle
}

#[test]
fn a_pause_lets_the_primary_change_without_an_error() {
    let pair = Pair::start(Mode::Transaction);
    let mut admin = pair.admin();
    let load = Load::start(&pair);
    load.await_more(200);
    admin.run("PAUSE front").unwrap();
    until("what was under way is over", || in_use(&mut admin) == 0);
    direct(&pair.primary)
        .run("SET GLOBAL read_only = 1")
        .unwrap();
    pair.promote();
    admin.run("RESUME front").unwrap();
    load.await_more(200);
    let outcome = load.end();
    outcome.check(&pair.replica);
    let errors = outcome.errors();
    assert!(errors.is_empty(), "{} errors: {}", errors.len(), errors[0]);
}

/// The sessions of the proxy's clients on a server.
pub(crate) fn sessions(server: &Server) -> u64 {
    let mut conn = direct(server);
    let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    conn.query_opt::<(u64,)>(sql).unwrap().unwrap().0
}

/// The backends of a listener are equal here: the two servers do not know of each other.
#[test]
fn connections_are_made_anew_where_there_are_fewest() {
    const CLIENTS: u64 = 12;
    for mode in [Mode::Transaction, Mode::Session] {
        let pair = Pair::start_apart(mode);
        let mut admin = pair.admin();
        admin.run("DRAIN BACKEND two").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let (config, is_over) = (pair.client(), &is_over);
                    scope.spawn(move || {
                        let mut conn = Connection::connect_with(&config).unwrap();
                        conn.run(format!(
                            "SET SESSION lock_wait_timeout = {}",
                            1_000 + number
                        ))
                        .unwrap();
                        while !is_over.load(SeqCst) {
                            let sql = "SELECT @@lock_wait_timeout";
                            let found = conn.query_opt::<(u64,)>(sql).unwrap().unwrap();
                            assert_eq!(found, (1_000 + number,));
                        }
                    })
                })
                .collect();
            until("all connections are to the first one", || {
                sessions(&pair.primary) == 8 && sessions(&pair.replica) == 0
            });
            admin.run("RESUME BACKEND two").unwrap();
            until("both have their share", || {
                // Sessions that share connections leave by themselves, a few at a time.
                if mode == Mode::Session {
                    admin.run("MOVE BACKEND one").unwrap();
                }
                let both = [&pair.primary, &pair.replica].map(sessions);
                both.iter().all(|&count| count >= 4)
            });
            is_over.store(true, SeqCst);
            for client in clients {
                client.join().unwrap();
            }
        });
        let error = admin.run("MOVE BACKEND three").unwrap_err();
        assert!(error.to_string().contains("SHOW SERVERS"), "{error}");
    }
}

#[test]
fn sessions_leave_a_drained_backend_between_transactions_and_wait_for_it_to_come_back() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pair = Pair::start(mode);
        let mut admin = pair.admin();
        let mut open = Connection::connect_with(&pair.client()).unwrap();
        let mut other = Connection::connect_with(&pair.client()).unwrap();
        other.run("SET SESSION lock_wait_timeout = 1234").unwrap();
        open.run("BEGIN").unwrap();
        open.run("INSERT INTO done VALUES (1, 0)").unwrap();
        admin.run("DRAIN BACKEND one").unwrap();
        assert_eq!(state_of(&mut admin, "one"), "drained");
        // A transaction is not interrupted.
        open.run("COMMIT").unwrap();
        until("all sessions have left", || sessions(&pair.primary) == 0);
        let waits = std::thread::spawn(move || {
            let sql = "SELECT @@lock_wait_timeout, @@server_id";
            other.query_opt::<(u64, u64)>(sql).unwrap().unwrap()
        });
        pair.promote();
        assert_eq!(waits.join().unwrap(), (1234, 2), "{mode:?}");
        admin.run("RESUME BACKEND one").unwrap();
        // Both take writes now.
        assert_eq!(state_of(&mut admin, "one"), "second primary");
        let error = admin.run("DRAIN BACKEND three").unwrap_err();
        assert!(error.to_string().contains("SHOW SERVERS"), "{error}");
        let error = admin.run("PAUSE back").unwrap_err();
        assert!(error.to_string().contains("SHOW POOLS"), "{error}");
    }
}

fn set_warning_hold(pair: &Pair, time: Duration) {
    let mut config = pair.proxy.config();
    config.listeners[0].pool.warning_hold = time;
    pair.proxy.reload(config).unwrap();
}

/// Longer than any test.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(3600);

/// What a statement has left is kept for its client while the server is drained, and keeps no client there for ever.
#[test]
fn warnings_delay_a_drain_once() {
    let pair = Pair::start_apart(Mode::Transaction);
    let mut admin = pair.admin();
    let mut drain = |name| {
        let other = if name == "one" { "two" } else { "one" };
        admin.run(format!("RESUME BACKEND {other}")).unwrap();
        admin.run(format!("DRAIN BACKEND {name}")).unwrap();
    };
    set_warning_hold(&pair, FOR_EVER);
    let mut conn = Connection::connect_with(&pair.client()).unwrap();
    let asks = |conn: &mut Connection, sql: &str| conn.query_one::<(i64, i64)>(sql).unwrap().0;
    const WARNED: &str = "SELECT @@server_id, CAST('abc' AS SIGNED)";
    const PLAIN: &str = "SELECT @@server_id, COUNT(*) FROM information_schema.schemata";
    drain("two");
    assert_eq!(asks(&mut conn, WARNED), 1);
    drain("one");
    let warning = conn.query_one::<(String, u32, String)>("SHOW WARNINGS");
    assert_eq!(warning.unwrap().1, 1292);
    // Behind the next statement nothing is left.
    assert_eq!(asks(&mut conn, PLAIN), 1);
    assert_eq!(asks(&mut conn, PLAIN), 2);
    // One statement behind the other, each with a warning.
    set_warning_hold(&pair, Duration::from_millis(200));
    assert_eq!(asks(&mut conn, WARNED), 2);
    drain("two");
    until("it has left", || asks(&mut conn, WARNED) == 1);
}

/// Nobody asks for the error of a write that went to a server that is no primary any more.
#[test]
fn errors_keep_nobody_on_a_server_that_takes_no_more_writes() {
    let pair = Pair::start(Mode::Transaction);
    set_warning_hold(&pair, FOR_EVER);
    let mut conn = Connection::connect_with(&pair.client()).unwrap();
    let mut write = || conn.run("INSERT INTO done VALUES (1, 0)");
    write().unwrap();
    direct(&pair.primary)
        .run("SET GLOBAL read_only = 1")
        .unwrap();
    pair.promote();
    until("it writes elsewhere", || write().is_ok());
    assert_eq!(number(&mut conn, "SELECT @@server_id"), 2);
}

/// Each name is the other server's from one moment to the next, again and again.
#[test]
fn names_that_swap_their_servers_are_followed_without_an_error() {
    if !own_network::is_here("planned::names_that_swap_their_servers_are_followed_without_an_error")
    {
        return;
    }
    let name = |names: [&str; 2]| {
        let text = format!("127.0.0.1 {}\n{ADDRESS} {}\n", names[1], names[0]);
        std::fs::write("/etc/hosts", text).unwrap();
    };
    let names = ["one.test", "two.test"];
    name(names);
    let pair = Pair::start_by_name(names);
    let mut admin = pair.admin();
    let load = Load::start(&pair);
    load.await_more(200);
    let before = connects(&mut admin);
    let swaps = 6;
    for swap in 0..swaps {
        let [one, two] = names;
        let (now, states) = match swap % 2 {
            0 => ([two, one], ["standby", "up"]),
            _ => ([one, two], ["up", "standby"]),
        };
        name(now);
        pair.await_states(states);
        load.await_more(200);
    }
    let outcome = load.end();
    outcome.check(&pair.primary);
    println!(
        "{swaps} swaps: {} connects, errors: {:?}",
        connects(&mut admin) - before,
        outcome.errors()
    );
    assert_eq!(outcome.errors(), [""; 0]);
}

/// Servers look at privileges for all schemas at the login, and for a schema when it is chosen.
#[test]
fn connections_have_the_privileges_of_their_login_until_they_are_made_anew() {
    const ASKS: &str = "SELECT COUNT(*) FROM information_schema.INNODB_TRX";
    let pair = Pair::start_apart_with(Mode::Transaction, 1);
    let mut admin = pair.admin();
    admin.run("DRAIN BACKEND two").unwrap();
    let connect = || Connection::connect_with(&pair.client()).unwrap();
    let may_ask = |conn: &mut Connection| match conn.query_one::<(i64,)>(ASKS) {
        Ok(_) => true,
        Err(error) if error.server().map(|error| error.code) == Some(1227) => false,
        Err(error) => panic!("{error}"),
    };
    assert!(!may_ask(&mut connect()));
    direct(&pair.primary)
        .run("GRANT PROCESS ON *.* TO app@'%'")
        .unwrap();
    assert!(!may_ask(&mut connect()));
    admin.run("MOVE BACKEND one").unwrap();
    assert!(may_ask(&mut connect()));
}
