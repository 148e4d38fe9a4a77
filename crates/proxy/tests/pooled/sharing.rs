//! Many clients on few connections.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, params};
use onecopy_proxy::config::Mode;

use crate::common::{Pooled, text};
use crate::private::{Front, until};

#[test]
fn clients_take_turns_on_one_connection() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut clients: Vec<_> = (0..8).map(|_| pooled.connect()).collect();
    // The word is this test's own: others look at the same server's list at the same time.
    let ids: Vec<_> = clients
        .iter_mut()
        .map(|client| {
            text(
                client,
                "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%taking turns%'",
            )
        })
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    for client in &mut clients {
        client.ping().unwrap();
    }
}

#[test]
fn a_transaction_keeps_its_connection_and_others_wait_for_it() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut one = pooled.connect();
    let mut other = pooled.connect();
    one.run("BEGIN").unwrap();
    let waiting = std::thread::spawn(move || text(&mut other, "SELECT 'other'"));
    assert_eq!(text(&mut one, "SELECT 'one'"), "one");
    assert!(!waiting.is_finished());
    one.run("COMMIT").unwrap();
    assert_eq!(waiting.join().unwrap(), "other");
}

#[test]
fn a_client_that_waits_for_too_long_hears_what_for() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.wait_timeout = Duration::from_millis(300);
    });
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("BEGIN").unwrap();
    let error = other.run("SELECT 1").unwrap_err();
    let server = error.server().unwrap();
    assert_eq!(server.code, 1040);
    let said = server.message.to_string();
    assert!(
        said.contains("[mysql.pool]") && said.contains("one of 1"),
        "{said}"
    );
    // Its session goes on.
    let error = other.run("SELECT 1").unwrap_err();
    assert_eq!(error.server().unwrap().code, 1040);
    one.run("COMMIT").unwrap();
    assert_eq!(text(&mut other, "SELECT 'again'"), "again");
}

#[test]
fn wrong_logins_are_refused_and_right_ones_are_not() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let mut config = Config::from_url(&pooled.url()).unwrap();
    config.password = "wrong".into();
    let error = Connection::connect_with(&config).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1045);
    config.user = "nobody".into();
    let error = Connection::connect_with(&config).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1045);
    pooled.connect().ping().unwrap();
}

#[test]
fn a_connection_that_its_server_has_closed_is_not_used() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut client = pooled.connect();
    let mut direct = pooled.direct();
    for _ in 0..5 {
        let id = text(
            &mut client,
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%a goodbye%'",
        );
        direct.run(format!("KILL {id}")).unwrap();
        // The server ends it when it sees fit; until then it is there.
        let listed = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
        while text(&mut direct, &listed) != "0" {}
        assert_eq!(text(&mut client, "SELECT 'again'"), "again");
    }
}

#[test]
fn a_connection_that_is_killed_while_it_is_kept_for_a_warning_is_nothing_to_its_client() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut direct = pooled.direct();
    let mut client = pooled.connect();
    for round in 0..5 {
        let id = text(
            &mut client,
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%a warning%'",
        );
        client.run("SELECT CAST('7x' AS SIGNED)").unwrap();
        direct.run(format!("KILL {id}")).unwrap();
        let listed = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
        while text(&mut direct, &listed) != "0" {}
        // Neither the server's farewell nor its end is a reply to what comes next.
        let sql = format!("SELECT 'again {round}'");
        assert_eq!(text(&mut client, &sql), format!("again {round}"));
    }
}

#[test]
fn a_statement_that_could_not_be_prepared_does_not_run_the_one_before_it() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let mut client = pooled.connect();
    client
        .run("DROP TABLE IF EXISTS pooled_prepared_last")
        .unwrap();
    client
        .run("CREATE TABLE pooled_prepared_last (a INT)")
        .unwrap();
    for count in 1..4 {
        let sql = format!("INSERT INTO pooled_prepared_last VALUES (?) -- {count}");
        client
            .exec(&sql, &params![count])
            .unwrap()
            .finish()
            .unwrap();
        // Both are sent at once, the execution for "what was prepared last".
        let error = client.exec(format!("SELECT {count} FROM WHERE ?"), &params![7]);
        assert_eq!(error.unwrap_err().server().unwrap().code, 1064);
        let sql = "SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM pooled_prepared_last";
        let sum: i32 = (1..=count).sum();
        assert_eq!(text(&mut client, sql), format!("{count} {sum}"));
    }
}

#[test]
fn many_clients_never_have_more_connections_than_there_may_be() {
    const MAX: usize = 4;
    let pooled = Pooled::start_as("pooled_many", Mode::Transaction, MAX);
    let mut direct = pooled.direct();
    let mut listed = || {
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'pooled_many'";
        text(&mut direct, sql).parse::<usize>().unwrap()
    };
    // The login by which the listener learns what to greet clients with: the server lists it for a while after its end.
    drop(pooled.connect());
    while listed() > 0 {}
    let clients: Vec<_> = (0..40)
        .map(|number| {
            let mut client = pooled.connect();
            std::thread::spawn(move || {
                for round in 0..50 {
                    if (number + round) % 5 == 0 {
                        client.run("START TRANSACTION").unwrap();
                        assert_eq!(text(&mut client, "SELECT 1"), "1");
                        client.run("COMMIT").unwrap();
                    } else {
                        let sql = format!("SELECT {number} * 1000 + {round}");
                        let expected = (number * 1000 + round).to_string();
                        assert_eq!(text(&mut client, &sql), expected);
                    }
                }
            })
        })
        .collect();
    let mut most = 0;
    while clients.iter().any(|client| !client.is_finished()) {
        most = most.max(listed());
    }
    for client in clients {
        client.join().unwrap();
    }
    assert!((1..=MAX).contains(&most), "{most}");
    direct.run("DROP USER pooled_many").unwrap();
}

#[test]
fn a_session_keeps_its_connection_until_its_end_and_leaves_nothing_on_it() {
    let pooled = Pooled::start(Mode::Session, 1);
    let mut one = pooled.connect();
    one.run("SET @a = 1, sql_mode = ''").unwrap();
    one.run("BEGIN").unwrap();
    one.close().unwrap();
    let mut next = pooled.connect();
    assert_eq!(text(&mut next, "SELECT @a"), "NULL");
    assert_ne!(text(&mut next, "SELECT @@sql_mode"), "");
    next.run("SET @a = 2").unwrap();
    assert_eq!(text(&mut next, "SELECT @a"), "2");
}

#[test]
fn a_client_that_dies_in_a_transaction_leaves_none_open() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut one = pooled.connect();
    one.run("CREATE TABLE IF NOT EXISTS pooled_dead (a INT)")
        .unwrap();
    one.run("DELETE FROM pooled_dead").unwrap();
    one.run("BEGIN").unwrap();
    one.run("INSERT INTO pooled_dead VALUES (1)").unwrap();
    drop(one);
    let mut next = pooled.connect();
    assert_eq!(text(&mut next, "SELECT COUNT(*) FROM pooled_dead"), "0");
    next.run("DROP TABLE pooled_dead").unwrap();
}

#[test]
fn clients_that_come_first_and_at_once_are_all_served() {
    for _ in 0..5 {
        let pooled = Pooled::start(Mode::Transaction, 4);
        std::thread::scope(|scope| {
            for number in 0..16 {
                let pooled = &pooled;
                scope.spawn(move || {
                    let mut client = pooled.connect();
                    let sql = format!("SELECT {number}");
                    assert_eq!(text(&mut client, &sql), number.to_string());
                });
            }
        });
    }
}

#[test]
fn a_command_in_one_write_with_a_long_one_is_looked_at_as_well() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    // Of several reads of the proxy: the last one has the commands behind it.
    let long = format!("SELECT LENGTH('{}')", "x".repeat(3 << 20));
    let statement = one.prepare("SELECT ? + 1").unwrap();
    let mut pipeline = one.pipeline();
    pipeline.query(long.as_str()).unwrap();
    pipeline.execute(&statement, &[41.into()]).unwrap();
    pipeline.query(long.as_str()).unwrap();
    pipeline.query("SET @pooled_behind = 7").unwrap();
    let mut results = pipeline.send().unwrap();
    let mut next = || {
        let mut rows = results.next().unwrap().unwrap();
        rows.next().unwrap().map(|row| row.get::<i64>(0).unwrap())
    };
    assert_eq!([next(), next()], [Some(3 << 20), Some(42)]);
    assert_eq!([next(), next()], [Some(3 << 20), None]);
    drop(results);
    // It was seen, and its session keeps the connection.
    assert_eq!(
        text(&mut other, "SELECT IFNULL(@pooled_behind, 'nothing')"),
        "nothing"
    );
    assert_eq!(text(&mut one, "SELECT @pooled_behind"), "7");
}

#[test]
fn an_account_may_share_connections_in_another_way_than_its_listener() {
    for (listener, account) in [
        (Mode::Transaction, Mode::Session),
        (Mode::Session, Mode::Transaction),
        (Mode::Transaction, Mode::Pass),
        (Mode::Session, Mode::Pass),
    ] {
        let pooled = Pooled::start_with(listener, 1, |config| {
            config.listeners[0].pool.wait_timeout = Duration::from_millis(300);
            config.listeners[0].accounts[0].mode = Some(account);
        });
        let (mut one, mut other) = (pooled.connect(), pooled.connect());
        one.run("DO 1").unwrap();
        let asked = other.run("DO 1");
        match account {
            Mode::Transaction => drop(asked.unwrap()),
            _ => assert_eq!(asked.unwrap_err().server().unwrap().code, 1040),
        }
        // Whoever leaves leaves its connection to the next one.
        drop(one);
        let mut third = pooled.connect();
        let asked = |client: &mut Connection| client.run("DO 1").is_ok();
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while !asked(&mut third) {
            assert!(std::time::Instant::now() < end);
        }
    }
}

#[test]
fn a_connection_of_an_account_that_shares_none_is_closed_behind_its_client() {
    for listener in [Mode::Transaction, Mode::Session] {
        let pooled = Pooled::start_with(listener, 2, |config| {
            config.listeners[0].accounts[0].mode = Some(Mode::Pass);
        });
        let mut direct = pooled.direct();
        let mut ids = Vec::new();
        for is_in_order in [true, false] {
            let mut conn = pooled.connect();
            let id = text(&mut conn, "SELECT CONNECTION_ID() + 0");
            for _ in 0..3 {
                assert_eq!(text(&mut conn, "SELECT CONNECTION_ID() + 0"), id);
            }
            // It is not as new.
            conn.run("SET @left_behind = 7").unwrap();
            if !is_in_order {
                conn.run("BEGIN").unwrap();
            }
            assert!(!ids.contains(&id), "{id} of {ids:?}");
            drop(conn);
            let alive =
                format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
            until("the end of its connection", || {
                text(&mut direct, &alive) == "0"
            });
            ids.push(id);
        }
    }
}

#[test]
fn the_server_is_told_when_such_a_connection_ends() {
    let front = Front::start(|listener| listener.accounts[0].mode = Some(Mode::Pass));
    let before = front.counted("Aborted_clients");
    for _ in 0..3 {
        let mut conn = front.connect();
        conn.run("SET @left_behind = 7").unwrap();
        conn.close().unwrap();
    }
    let mut direct = front.direct();
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    until("the end of the connections", || {
        text(&mut direct, count) == "0"
    });
    assert_eq!(front.counted("Aborted_clients"), before);
}
