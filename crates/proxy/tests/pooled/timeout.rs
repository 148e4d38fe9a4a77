//! Statements that take too long.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config as ClientConfig, Error};
use onecopy_net::Endpoint;
use onecopy_proxy::config::Mode;
use onecopy_testkit::LeavesOut;
use onecopy_testkit::server::ENDLESS;

use crate::common::{Pooled, loopback, text};

const LIMIT: Duration = Duration::from_millis(300);

fn start(mode: Mode, max: usize) -> Pooled {
    Pooled::start_with(mode, max, |config| {
        config.listeners[0].query_timeout = Some(LIMIT);
        config.listeners[0].reencrypt_passwords = true;
    })
}

/// The error of a statement, in its rows or before.
fn fails(conn: &mut Connection, sql: &str) -> Error {
    let mut rows = match conn.query(sql) {
        Err(error) => return error,
        Ok(rows) => rows,
    };
    loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it has ended"),
            Err(error) => return error,
        }
    }
}

fn timed_out(conn: &mut Connection, sql: &str) {
    let began = Instant::now();
    let error = fails(conn, sql);
    assert!(began.elapsed() >= LIMIT);
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(server.code, 3024, "{}", server.message);
    assert_eq!(
        server.message.to_string(),
        "Query execution was interrupted, maximum statement execution time exceeded"
    );
    let state = server.sql_state.as_ref().unwrap();
    assert_eq!(state.as_bytes(), b"HY000");
}

#[test]
fn a_statement_that_takes_too_long_is_interrupted_and_its_session_goes_on() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = start(mode, 2);
        let mut conn = pooled.connect();
        conn.run("SET SESSION sql_mode = 'ANSI_QUOTES'").unwrap();
        for round in 0..3 {
            timed_out(&mut conn, &format!("{ENDLESS} AND 'goes on' <> ''"));
            let sql_mode = text(&mut conn, "SELECT @@sql_mode");
            assert_eq!(sql_mode, "ANSI_QUOTES", "{round}");
        }
        // It has ended on the server.
        let mut direct = pooled.direct();
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%AND ''goes on''%' \
            AND ID <> CONNECTION_ID()";
        while text(&mut direct, running) != "0" {}
    }
}

#[test]
fn a_statement_in_a_transaction_leaves_it_open_and_nothing_behind_it_is_hit() {
    let pooled = start(Mode::Transaction, 1);
    let mut direct = pooled.direct();
    direct.run("DROP TABLE IF EXISTS timed_out").unwrap();
    direct
        .run("CREATE TABLE timed_out (a INT) ENGINE = InnoDB")
        .unwrap();
    let mut conn = pooled.connect();
    conn.run("BEGIN").unwrap();
    conn.run("INSERT INTO timed_out VALUES (1)").unwrap();
    for _ in 0..3 {
        timed_out(&mut conn, ENDLESS);
        for _ in 0..20 {
            assert_eq!(text(&mut conn, "SELECT COUNT(*) FROM timed_out"), "1");
        }
    }
    conn.run("ROLLBACK").unwrap();
    assert_eq!(text(&mut direct, "SELECT COUNT(*) FROM timed_out"), "0");
    direct.run("DROP TABLE timed_out").unwrap();
}

/// One less when it is dropped, whatever happened.
struct Done<'c>(&'c AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn nobody_else_is_interrupted() {
    let pooled = start(Mode::Transaction, 3);
    let slow = AtomicUsize::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _done = Done(&slow);
                let mut conn = pooled.connect();
                (0..4).for_each(|_| timed_out(&mut conn, ENDLESS));
            });
        }
        for _ in 0..6 {
            scope.spawn(|| {
                let mut conn = pooled.connect();
                while slow.load(SeqCst) > 0 {
                    assert_eq!(text(&mut conn, "SELECT 1 + 1"), "2");
                }
            });
        }
    });
}

#[test]
fn one_that_ends_just_then_is_answered_as_it_ended_and_nothing_behind_it_is_hit() {
    let pooled = start(Mode::Transaction, 1);
    let mut conn = pooled.connect();
    conn.run("SET @pinned = 1").unwrap();
    for millis in (200_u32..700).step_by(20) {
        let sql = format!("SELECT SLEEP({})", f64::from(millis) / 1000.0);
        let outcome = conn.query(&sql).and_then(|mut rows| {
            while rows.next()?.is_some() {}
            rows.finish()
        });
        // MySQL's gives 1 where it is interrupted.
        if let Err(error) = outcome {
            assert_eq!(error.server().unwrap().code, 3024, "{millis}");
        }
        assert_eq!(text(&mut conn, "SELECT @pinned"), "1", "{millis}");
    }
}

#[test]
fn an_account_may_have_a_limit_of_its_own() {
    for (own, is_limited) in [(Some(Duration::ZERO), false), (Some(LIMIT), true)] {
        let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
            let listener = &mut config.listeners[0];
            listener.query_timeout = match is_limited {
                true => None,
                false => Some(LIMIT),
            };
            listener.reencrypt_passwords = true;
            listener.accounts[0].query_timeout = own;
        });
        let mut conn = pooled.connect();
        match is_limited {
            true => timed_out(&mut conn, ENDLESS),
            false => drop(conn.run("DO SLEEP(1.2)").unwrap()),
        }
    }
}

#[test]
fn a_prepared_statement_is_limited_too() {
    let pooled = start(Mode::Transaction, 1);
    let mut conn = pooled.connect();
    let statement = conn.prepare(ENDLESS).unwrap();
    for _ in 0..2 {
        let error = match conn.execute(&statement, &[]) {
            Err(error) => error,
            Ok(mut rows) => rows.next().map(drop).unwrap_err(),
        };
        assert_eq!(error.server().unwrap().code, 3024);
    }
    assert_eq!(text(&mut conn, "SELECT 'there'"), "there");
}

/// The word that is asked for comes behind the reply here: nothing is left out.
#[test]
fn one_of_several_statements_is_interrupted_with_all_behind_it() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = start(mode, 1);
        let mut config = ClientConfig::from_url(&pooled.url()).unwrap();
        config.multi_statements = true;
        let mut conn = Connection::connect_with(&config).unwrap();
        conn.run("SET @kept = 7").unwrap();
        for _ in 0..2 {
            let mut rows = conn
                .query(format!("SELECT 1; {ENDLESS}; SELECT 3"))
                .unwrap();
            assert_eq!(rows.next().unwrap().unwrap().get::<u8>(0).unwrap(), 1);
            let error = loop {
                match rows.next_result() {
                    Err(error) => break error,
                    Ok(is_there) => assert!(is_there),
                }
                if let Err(error) = rows.next() {
                    break error;
                }
            };
            assert_eq!(error.server().unwrap().code, 3024, "{error}");
            for _ in 0..3 {
                assert_eq!(text(&mut conn, "SELECT @kept"), "7");
            }
        }
    }
}

#[test]
fn one_that_ends_between_two_statements_is_answered() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = start_between(mode);
        let mut config = ClientConfig::from_url(&pooled.url()).unwrap();
        config.multi_statements = true;
        let mut conn = Connection::connect_with(&config).unwrap();
        for round in 0..3 {
            let began = Instant::now();
            let mut rows = conn.query("DO 1; DO 'left out'; DO 3").unwrap();
            let error = rows.next_result().unwrap_err();
            assert_eq!(error.server().unwrap().code, 3024, "{error}");
            assert!(began.elapsed() >= LIMIT);
            // The next one waits for what becomes of the KILL, which a statement of the proxy's own takes.
            assert_eq!(
                text(&mut conn, &format!("SELECT {round}")),
                round.to_string()
            );
            conn.run(format!("SET @kept = {round}")).unwrap();
            timed_out(&mut conn, ENDLESS);
            assert_eq!(text(&mut conn, "SELECT @kept"), round.to_string());
        }
        conn.close().unwrap();
    }
}

/// Some KILLs come just between two statements.
#[test]
fn several_statements_that_are_interrupted_at_any_moment_come_to_an_end() {
    let is_soak = std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1");
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].query_timeout = Some(Duration::from_millis(20));
        config.listeners[0].reencrypt_passwords = true;
    });
    let mut config = ClientConfig::from_url(&pooled.url()).unwrap();
    config.multi_statements = true;
    config.call_timeout = Some(Duration::from_secs(30));
    let mut conn = Connection::connect_with(&config).unwrap();
    let sql = "SELECT 1;".repeat(20_000);
    let mut interrupted = 0;
    for round in 0..if is_soak { 1000 } else { 10 } {
        let mut rows = conn.query(&sql).unwrap();
        let end = loop {
            match rows.next_result() {
                Ok(true) => {}
                end => break end,
            }
        };
        drop(rows);
        if let Err(error) = end {
            let code = error.server().map(|error| error.code);
            assert_eq!(code, Some(3024), "{error}");
            interrupted += 1;
        }
        assert_eq!(
            text(&mut conn, &format!("SELECT {round}")),
            round.to_string()
        );
    }
    println!("{interrupted} were interrupted");
}

fn start_between(mode: Mode) -> Pooled {
    Pooled::start_with(mode, 1, |config| {
        let listener = &mut config.listeners[0];
        listener.query_timeout = Some(LIMIT);
        listener.reencrypt_passwords = true;
        let Endpoint::Tcp { port, .. } = &listener.backends[0].endpoint else {
            panic!("a port");
        };
        let between = LeavesOut::to(([127, 0, 0, 1], *port).into());
        listener.backends[0].endpoint = loopback(between.address().port());
    })
}
