//! Rules for statements that were captured from a server: each statement is run, or refused, by the first rule that applies, and counted there.
//! The statements are `common/oltp.sql`, what the general log of a MariaDB 10.11 had of sysbench's `oltp_read_write`, `oltp_insert`,
//! `oltp_delete` and `oltp_update_non_index` on four tables of 100 rows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::RuleConfig;

use crate::common::Pooled;
use crate::rules::{admin, column, rule, start};

const CAPTURED: &str = include_str!("../common/oltp.sql");

const CLIENTS: u64 = 4;

/// How many statements a run has.
fn statements() -> u64 {
    match std::env::var_os("ONECOPY_SOAK") {
        Some(_) => 1_000_000,
        None => 20_000,
    }
}

/// A rule, and whether it applies to one of the captured statements, by a look at its text.
type Case = (RuleConfig, fn(&str) -> bool);

fn digest(name: &str, expression: &str) -> RuleConfig {
    rule(name, |rule| rule.digest = Some(expression.into()))
}

fn starts_with(name: &str, words: &str) -> RuleConfig {
    rule(name, |rule| rule.starts_with = Some(words.into()))
}

fn cases() -> Vec<Case> {
    vec![
        (
            rule("another user", |rule| rule.user = Some("nobody".into())),
            |_| false,
        ),
        (
            digest(
                "point selects of one table",
                "^SELECT `c` FROM `sbtest1` WHERE `id` = \\?$",
            ),
            |sql| sql.starts_with("SELECT c FROM sbtest1 WHERE id="),
        ),
        (starts_with("distinct", "select DISTINCT"), |sql| {
            sql.starts_with("SELECT DISTINCT")
        }),
        (
            rule("ranges in order", |rule| {
                rule.starts_with = Some("select".into());
                rule.digest = Some("BETWEEN \\? AND \\? ORDER BY `c`$".into());
            }),
            |sql| sql.starts_with("SELECT") && sql.contains("ORDER BY"),
        ),
        (digest("sums", "^SELECT SUM"), |sql| {
            sql.starts_with("SELECT SUM")
        }),
        (digest(CHANGING, "^UPDATE `sbtest[12]` SET `k` ="), |sql| {
            sql.starts_with("UPDATE sbtest1 SET k=") || sql.starts_with("UPDATE sbtest2 SET k=")
        }),
        (digest("updates", "(?i)^update"), |sql| {
            sql.starts_with("UPDATE")
        }),
        (starts_with("deletes", "DELETE from"), |sql| {
            sql.starts_with("DELETE")
        }),
        (digest("inserts", "^INSERT INTO `sbtest3` "), |sql| {
            sql.starts_with("INSERT INTO sbtest3 ")
        }),
        (rule("rest", |_| {}), |_| true),
    ]
}

/// What its rule is called that is changed under load.
const CHANGING: &str = "changes";

/// Its two states.
fn set_changing(pooled: &Pooled, rejects: bool) {
    let mut config = pooled.proxy.config();
    let rules = config.listeners[0].rules.iter_mut();
    for rule in rules.filter(|rule| rule.name == CHANGING) {
        rule.reject = rejects.then(|| "not now".into());
    }
    pooled.proxy.reload(config).unwrap();
}

fn create_tables(conn: &mut Connection) {
    for table in 1..=4 {
        let name = format!("sbtest{table}");
        conn.run(format!(
            "CREATE TABLE {name} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY (k))"
        ))
        .unwrap();
        let rows: Vec<_> = (1..=100).map(|id| format!("({id}, {id})")).collect();
        conn.run(format!(
            "INSERT INTO {name} (id, k) VALUES {}",
            rows.join(", ")
        ))
        .unwrap();
    }
}

/// Runs some of them; how many each rule was for, and how many were refused.
fn run(pooled: &Pooled, cases: &[Case], count: u64) -> (Vec<u64>, u64) {
    let mut conn = pooled.connect();
    let (mut by_rule, mut refused) = (vec![0; cases.len()], 0);
    for sql in CAPTURED
        .lines()
        .cycle()
        .take(usize::try_from(count).unwrap())
    {
        let at = cases.iter().position(|(_, applies)| applies(sql)).unwrap();
        by_rule[at] += 1;
        let Err(error) = conn.run(sql) else {
            continue;
        };
        match error
            .server()
            .unwrap_or_else(|| panic!("{sql}: {error}"))
            .code
        {
            3164 => {
                assert_eq!(cases[at].0.name, CHANGING, "{sql}");
                refused += 1;
            }
            // Rows that are there, and changes of the same ones by others.
            1020 | 1062 | 1205 | 1213 => {}
            _ => panic!("{sql}: {error}"),
        }
    }
    (by_rule, refused)
}

/// Runs all of them under these rules, one of which changes all the time, and looks at the counts.
fn run_under(cases: &[Case], count: u64) {
    let pooled = start(cases.iter().map(|(rule, _)| rule.clone()).collect());
    create_tables(&mut Connection::connect(&pooled.server.url()).unwrap());
    let (is_over, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let totals = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                let n = changes.fetch_add(1, SeqCst);
                set_changing(&pooled, n % 2 == 0);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| run(&pooled, cases, count / CLIENTS)))
            .collect();
        let outcomes: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, SeqCst);
        let mut totals = (vec![0; cases.len()], 0);
        for outcome in outcomes {
            let (by_rule, refused) = outcome.unwrap();
            totals
                .0
                .iter_mut()
                .zip(by_rule)
                .for_each(|(sum, one)| *sum += one);
            totals.1 += refused;
        }
        totals
    });
    let (by_rule, refused) = totals;
    let changing = cases.iter().position(|(rule, _)| rule.name == CHANGING);
    // Some of its statements were run, and some refused.
    assert!(0 < refused && refused < by_rule[changing.unwrap()]);
    let mut admin = admin(&pooled);
    let counted = column(&mut admin, "SHOW RULES", "Statements");
    assert_eq!(counted.len(), cases.len());
    for (((rule, _), expected), counted) in cases.iter().zip(by_rule).zip(counted) {
        // A rule that is changed counts from the start.
        if rule.name != CHANGING {
            assert_eq!(counted, expected.to_string(), "{}", rule.name);
        }
    }
    println!(
        "{count} statements under {} rules, {} changes, {refused} refused",
        cases.len(),
        changes.load(SeqCst)
    );
    let mut conn = pooled.connect();
    conn.run("DROP TABLE sbtest1, sbtest2, sbtest3, sbtest4")
        .unwrap();
}

#[test]
fn captured_statements_find_their_rule_among_few_and_among_many() {
    let cases = cases();
    run_under(&cases, statements() / 2);
    // Ninety more with an expression, in front of the last one.
    let others = (0..90).map(|at| -> Case {
        let expression = format!("^SELECT .* FROM `table_{at}` WHERE `id` = \\?$");
        (digest(&format!("other {at}"), &expression), |_| false)
    });
    let mut many = cases;
    let rest = many.split_off(many.len() - 1);
    many.extend(others);
    many.extend(rest);
    run_under(&many, statements() / 2);
}
