//! Slow statements are reported with their digests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_mysql::{Config, SlowQueries, params};

use super::Connection;
use crate::common::urls;

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    digest: String,
    code: Option<u16>,
    is_abandoned: bool,
    has_reply: bool,
}

impl Seen {
    fn good(digest: &str) -> Self {
        Self {
            digest: digest.into(),
            code: None,
            is_abandoned: false,
            has_reply: true,
        }
    }
}

/// A connection that reports every statement of at least this duration, and what it reported.
async fn observed(threshold: Duration) -> (Connection, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut config = Config::from_url(&urls()[0]).unwrap();
    let to = Arc::clone(&seen);
    config.slow_queries = Some(SlowQueries::new(threshold, move |slow| {
        assert!(
            slow.connection_id > 0 && slow.first_reply.is_none_or(|reply| reply <= slow.duration)
        );
        to.lock().unwrap().push(Seen {
            digest: slow.digest.into(),
            code: slow
                .error
                .and_then(|error| error.server())
                .map(|error| error.code),
            is_abandoned: slow.is_abandoned,
            has_reply: slow.first_reply.is_some(),
        });
    }));
    let conn = wait!(Connection::connect_with(&config)).unwrap();
    (conn, seen)
}

fn taken(seen: &Mutex<Vec<Seen>>) -> Vec<Seen> {
    std::mem::take(&mut seen.lock().unwrap())
}

#[tokio::test]
async fn every_way_to_run_a_statement_is_reported_once() {
    let (mut conn, seen) = observed(Duration::ZERO).await;
    wait!(conn.run("SELECT 'secret', 7")).unwrap();
    let expected = Seen::good("SELECT ?, ...");
    assert_eq!(taken(&seen), std::slice::from_ref(&expected));

    for _ in 0..2 {
        let mut rows = wait!(conn.exec("SELECT ? + 1", &params![7])).unwrap();
        assert_eq!(taken(&seen), []);
        while wait!(rows.next()).unwrap().is_some() {}
        assert_eq!(taken(&seen), [Seen::good("SELECT ? + ?")]);
    }

    let statement = wait!(conn.prepare("SELECT 'secret', ?")).unwrap();
    assert_eq!(taken(&seen), []);
    let rows = wait!(conn.execute(&statement, &params![7])).unwrap();
    wait!(rows.finish()).unwrap();
    assert_eq!(taken(&seen), [expected]);

    let mut tx = wait!(conn.transaction()).unwrap();
    wait!(tx.run("SELECT 1")).unwrap();
    wait!(tx.commit()).unwrap();
    let all = taken(&seen);
    let texts: Vec<_> = all.iter().map(|seen| seen.digest.as_str()).collect();
    assert_eq!(
        texts,
        [
            "START TRANSACTION",
            "SELECT ?",
            "COMMIT AND NO CHAIN NO RELEASE"
        ]
    );
}

#[tokio::test]
async fn errors_and_abandoned_statements_are_reported_as_such() {
    let (mut conn, seen) = observed(Duration::ZERO).await;
    wait!(conn.run("SELECT nothing")).unwrap_err();
    let all = taken(&seen);
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].digest.as_str(), all[0].code),
        ("SELECT `nothing`", Some(1054))
    );

    let mut rows = wait!(conn.query("SELECT seq FROM seq_1_to_100")).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    drop(rows);
    assert_eq!(taken(&seen), []);
    wait!(conn.run("SELECT 1")).unwrap();
    let abandoned = Seen {
        is_abandoned: true,
        ..Seen::good("SELECT `seq` FROM `seq_1_to_100`")
    };
    assert_eq!(taken(&seen), [abandoned, Seen::good("SELECT ?")]);
}

#[tokio::test]
async fn only_statements_over_the_threshold_are_reported() {
    let (mut conn, seen) = observed(Duration::from_secs(1)).await;
    wait!(conn.run("DO SLEEP(1.1)")).unwrap();
    assert_eq!(taken(&seen), [Seen::good("DO `SLEEP` (?)")]);
    let (mut conn, seen) = observed(Duration::from_secs(3600)).await;
    wait!(conn.run("SELECT 1")).unwrap();
    assert_eq!(taken(&seen), []);
}
