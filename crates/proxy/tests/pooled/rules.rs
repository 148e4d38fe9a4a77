//! Rules for statements: what is refused, limited and timed, as text and prepared, and while they change.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;
use onecopy_net::evented::Address;
use onecopy_proxy::config::{Mode, Rate, RuleConfig, Secret};

use crate::common::{Pooled, loopback, text};

pub(crate) fn rule(name: &str, change: impl FnOnce(&mut RuleConfig)) -> RuleConfig {
    let mut rule = RuleConfig {
        name: name.to_owned(),
        ..RuleConfig::default()
    };
    change(&mut rule);
    rule
}

pub(crate) fn start(rules: Vec<RuleConfig>) -> Pooled {
    Pooled::start_with(Mode::Transaction, 4, |config| {
        config.listeners[0].name = "front".to_owned();
        config.listeners[0].rules = rules;
        config.admin.listen = Some(loopback(0));
        config.admin.user = "admin".to_owned();
        config.admin.password = Secret::new("secret");
    })
}

pub(crate) fn admin(pooled: &Pooled) -> Connection {
    let Some(Address::Tcp(address)) = pooled.proxy.admin_address() else {
        panic!("there is no admin listener");
    };
    Connection::connect(&format!("mysql://admin:secret@{address}?ssl-mode=disabled")).unwrap()
}

fn code(outcome: Result<impl Sized, Error>) -> u16 {
    let error = outcome.err().expect("it was sent");
    error.server().unwrap_or_else(|| panic!("{error}")).code
}

/// One column of the rows of the admin listener.
pub(crate) fn column(admin: &mut Connection, sql: &str, column: &str) -> Vec<String> {
    let mut rows = admin.query(sql).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = row.bytes(column).unwrap().map(<[u8]>::to_vec);
        found.push(value.map_or("NULL".to_owned(), |value| String::from_utf8(value).unwrap()));
    }
    rows.finish().unwrap();
    found
}

#[test]
fn a_statement_that_is_rejected_is_not_run_and_the_session_goes_on() {
    let pooled = start(vec![
        rule("allowed", |rule| {
            rule.digest = Some("^DELETE FROM `rules_kept` ".into())
        }),
        rule("no deletes", |rule| {
            rule.starts_with = Some("delete".into());
            rule.reject = Some("nothing is deleted here".into());
        }),
    ]);
    let mut conn = pooled.connect();
    conn.run("CREATE OR REPLACE TABLE rules_kept (a INT)")
        .or_else(|_| conn.run("CREATE TABLE rules_kept (a INT)"))
        .unwrap();
    conn.run("BEGIN").unwrap();
    conn.run("INSERT INTO rules_kept VALUES (1), (2), (3)")
        .unwrap();
    let refused = conn.run("/* now */ DELETE FROM other").unwrap_err();
    assert_eq!(
        refused.server().unwrap().message.to_string(),
        "nothing is deleted here (rule 'no deletes' of the proxy)"
    );
    assert_eq!(code(conn.prepare("DELETE FROM rules_kept").map(drop)), 3164);
    conn.run("DELETE FROM rules_kept WHERE a = 1").unwrap();
    let statement = conn.prepare("DELETE FROM rules_kept WHERE a = ?").unwrap();
    conn.execute(&statement, &[2.into()])
        .unwrap()
        .finish()
        .unwrap();
    conn.run("COMMIT").unwrap();
    assert_eq!(text(&mut conn, "SELECT COUNT(*) FROM rules_kept"), "1");
    let mut admin = admin(&pooled);
    assert_eq!(column(&mut admin, "SHOW RULES", "Rejected"), ["0", "2"]);
    // The text, and the prepared one twice.
    assert_eq!(column(&mut admin, "SHOW RULES", "Statements"), ["3", "2"]);
    conn.run("DROP TABLE rules_kept").unwrap();
}

#[test]
fn statements_of_a_rule_have_a_rate_and_a_time() {
    let pooled = start(vec![
        rule("seldom", |rule| {
            rule.digest = Some("`seldom`".into());
            rule.rate = Some(Rate {
                per_second: 1,
                burst: 3,
            });
        }),
        rule("short", |rule| {
            rule.digest = Some("^SELECT `SLEEP`".into());
            rule.timeout = Some(Duration::from_millis(100));
        }),
    ]);
    let mut conn = pooled.connect();
    let statement = conn.prepare("SELECT 1 AS seldom").unwrap();
    let mut sent = 0;
    while conn
        .execute(&statement, &[])
        .and_then(|rows| rows.finish())
        .is_ok()
    {
        sent += 1;
    }
    assert!(sent >= 3, "{sent}");
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
    let outcome = conn.query("SELECT SLEEP(60)").and_then(|mut rows| {
        // MySQL's ends with a row.
        let ends = rows.next()?.map(|row| row.get::<i64>(0)).transpose()?;
        rows.finish().map(|_| ends)
    });
    match outcome {
        Ok(ends) => assert_eq!(ends, Some(1)),
        Err(error) => assert_eq!(code(Err::<(), _>(error)), 3024),
    }
    // The others take their time.
    assert_eq!(text(&mut conn, "SELECT /* long */ 0 + SLEEP(0.5)"), "0");
}

#[test]
fn rules_change_under_load_for_sessions_that_are_there() {
    let pooled = start(Vec::new());
    let is_over = AtomicBool::new(false);
    let ways: Vec<Vec<RuleConfig>> = vec![
        vec![rule("all", |rule| rule.digest = Some("`a`$".into()))],
        vec![rule("none", |rule| {
            rule.digest = Some("AS `b`$".into());
            rule.reject = Some("no".into());
        })],
        Vec::new(),
    ];
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut conn = pooled.connect();
                    let statement = conn.prepare("SELECT 7 AS a").unwrap();
                    let mut rejected = 0;
                    while !is_over.load(SeqCst) {
                        let found: (i64,) = conn.execute_one(&statement, &[]).unwrap();
                        assert_eq!(found, (7,));
                        match conn.query_one::<(i64,)>("SELECT 8 AS b") {
                            Ok(found) => assert_eq!(found, (8,)),
                            Err(error) => {
                                assert_eq!(code(Err::<(), _>(error)), 3164);
                                rejected += 1;
                            }
                        }
                    }
                    rejected
                })
            })
            .collect();
        for round in 0..30 {
            let mut config = pooled.proxy.config();
            config.listeners[0].rules = ways[round % 3].clone();
            pooled.proxy.reload(config).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        is_over.store(true, SeqCst);
        let rejected: u64 = clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum();
        assert!(rejected > 0);
    });
}

#[test]
fn the_admin_listener_says_which_rule_applies() {
    let pooled = start(vec![
        rule("report", |rule| {
            rule.user = Some("report".into());
            rule.timeout = Some(Duration::from_secs(60));
        }),
        rule("by id", |rule| {
            rule.digest = Some("WHERE `id` = \\?$".into());
            rule.rate = Some(Rate {
                per_second: 9,
                burst: 9,
            });
        }),
        rule("rest", |_| {}),
    ]);
    let mut admin = admin(&pooled);
    let sql = "EXPLAIN RULE 'select * from t where id=7'";
    assert_eq!(column(&mut admin, sql, "Applies"), ["no", "yes", "no"]);
    assert_eq!(
        column(&mut admin, sql, "Why_not"),
        ["user differs", "NULL", "an earlier rule applies"]
    );
    assert_eq!(
        column(&mut admin, sql, "Digest")[0],
        "SELECT * FROM `t` WHERE `id` = ?"
    );
    assert_eq!(
        column(&mut admin, &format!("{sql} USER report"), "Applies"),
        ["yes", "no", "no"]
    );
    assert_eq!(code(admin.query("EXPLAIN RULE").map(drop)), 1064);
}
