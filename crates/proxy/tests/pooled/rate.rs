//! Users that send more statements than they may.

use std::time::Instant;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Param, StatusFlags};
use onecopy_proxy::config::{Mode, Rate};

use crate::common::{Pooled, text};

fn start(rate: Rate) -> Pooled {
    Pooled::start_with(Mode::Transaction, 4, |config| {
        config.listeners[0].accounts[0].statement_rate = Some(rate);
    })
}

/// Seldom enough that no test waits for the next one.
const SELDOM: u32 = 1;

fn refused(outcome: Result<impl Sized, onecopy_mysql::Error>) {
    let error = outcome.err().expect("it was sent");
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    let text = server.message.to_string();
    assert_eq!(server.code, 1226, "{text}");
    assert!(
        text.ends_with("' has exceeded the 'statements_per_second' resource (current value: 1)"),
        "{text}"
    );
    assert_eq!(server.sql_state.as_ref().unwrap().as_bytes(), b"42000");
}

/// Sends statements until one is refused; gives how many were not.
fn use_up(conn: &mut Connection) -> u32 {
    let mut count = 0;
    while conn.run("DO 1").is_ok() {
        count += 1;
    }
    count
}

#[test]
fn a_user_may_send_a_burst_and_then_gets_an_error_and_keeps_its_session() {
    let pooled = start(Rate {
        per_second: SELDOM,
        burst: 20,
    });
    let mut conn = pooled.connect();
    let began = Instant::now();
    conn.run("SET SESSION sql_mode = 'ANSI_QUOTES'").unwrap();
    conn.run("BEGIN").unwrap();
    let count = use_up(&mut conn) + 2;
    let most = 21 + u32::try_from(began.elapsed().as_secs()).unwrap();
    assert!((20..=most).contains(&count), "{count}");
    // Whatever is sent is refused, and nothing of it arrives.
    refused(conn.run("ROLLBACK"));
    refused(conn.prepare("SELECT 1").map(drop));
    conn.ping().unwrap();
    assert!(conn.status().contains(StatusFlags::IN_TRANS));
    let sql_mode = loop {
        if let Ok(mut rows) = conn.query("SELECT @@sql_mode") {
            let row = rows.next().unwrap().unwrap();
            let sql_mode = row.get::<&str>(0).unwrap().to_owned();
            rows.finish().unwrap();
            break sql_mode;
        }
    };
    assert_eq!(sql_mode, "ANSI_QUOTES");
    assert!(conn.status().contains(StatusFlags::IN_TRANS));
}

#[test]
fn all_sessions_of_a_user_share_one_limit_and_others_are_not_concerned() {
    let pooled = Pooled::start_for(&["rate_limited", "rate_free"], 4, |config| {
        config.listeners[0].accounts[0].statement_rate = Some(Rate {
            per_second: SELDOM,
            burst: 30,
        });
    });
    let mut clients: Vec<_> = (0..5).map(|_| pooled.connect_as("rate_limited")).collect();
    let began = Instant::now();
    let sent: u32 = std::thread::scope(|scope| {
        let each = clients
            .iter_mut()
            .map(|client| scope.spawn(|| use_up(client)));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|one| one.join().unwrap()).sum()
    });
    let most = 31 + u32::try_from(began.elapsed().as_secs()).unwrap();
    assert!((30..=most).contains(&sent), "{sent}");
    let mut free = pooled.connect_as("rate_free");
    for _ in 0..100 {
        assert_eq!(text(&mut free, "SELECT 1"), "1");
    }
}

#[test]
fn a_large_statement_is_passed_over_and_answered() {
    let pooled = start(Rate {
        per_second: SELDOM,
        burst: 3,
    });
    let mut conn = pooled.connect();
    for len in [100_usize, 70_000, 300_000, 3_000_000, 17_000_000] {
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(len));
        use_up(&mut conn);
        refused(conn.query(&sql).map(drop));
        conn.ping().unwrap();
    }
}

#[test]
fn a_reload_changes_the_limit_of_sessions_that_are_there() {
    let pooled = start(Rate {
        per_second: SELDOM,
        burst: 1,
    });
    let mut conn = pooled.connect();
    use_up(&mut conn);
    let mut config = pooled.proxy.config();
    config.listeners[0].accounts[0].statement_rate = None;
    pooled.proxy.reload(config).unwrap();
    for _ in 0..100 {
        assert_eq!(text(&mut conn, "SELECT 1"), "1");
    }
}

#[test]
fn values_that_were_sent_ahead_go_with_the_execution_that_is_refused() {
    let pooled = start(Rate {
        per_second: SELDOM,
        burst: 3,
    });
    let mut conn = pooled.connect();
    let lengths = conn.prepare("SELECT CONCAT(LENGTH(?), ',', LENGTH(?))");
    let lengths = lengths.unwrap();
    let params = [Param::LongData, Param::LongData];
    let send = |conn: &mut Connection| {
        conn.send_long_data(&lengths, 0, &b"first"[..]).unwrap();
        conn.send_long_data(&lengths, 1, &b"second"[..]).unwrap();
    };
    for in_transaction in [false, true] {
        // In a transaction they are on the connection that the next execution is sent on.
        while in_transaction && conn.run("BEGIN").is_err() {}
        send(&mut conn);
        while use_up(&mut conn) > 0 {}
        refused(conn.execute(&lengths, &params).map(drop));
        let found = loop {
            send(&mut conn);
            if let Ok(mut rows) = conn.execute(&lengths, &params) {
                let row = rows.next().unwrap().unwrap();
                let found = row.get::<&str>(0).unwrap().to_owned();
                rows.finish().unwrap();
                break found;
            }
        };
        assert_eq!(found, "5,6");
        assert_eq!(
            conn.status().contains(StatusFlags::IN_TRANS),
            in_transaction
        );
    }
}
