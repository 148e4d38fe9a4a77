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

#[tokio::test]
async fn each_statement_of_a_pipeline_is_reported_in_order() {
    let (mut conn, seen) = observed(Duration::ZERO).await;
    let statement = wait!(conn.prepare("SELECT ? + 2")).unwrap();
    let mut pipeline = conn.pipeline();
    pipeline.query("SELECT 'secret'").unwrap();
    pipeline.query("SELECT nothing").unwrap();
    pipeline.execute(&statement, &params![1]).unwrap();
    pipeline.execute(&statement, &params![1, 2]).unwrap(); // not sent
    pipeline.exec("SELECT ? + ? + 3", &params![1, 2]).unwrap();
    pipeline.query("SELECT seq FROM seq_1_to_100").unwrap();
    let mut results = wait!(pipeline.send()).unwrap();
    assert_eq!(taken(&seen), []);
    let rows = wait!(results.next()).unwrap();
    assert!(rows.is_some());
    assert_eq!(taken(&seen), [], "its row is not read");
    assert!(wait!(results.next()).is_err());
    let failed = Seen {
        code: Some(1054),
        has_reply: false,
        ..Seen::good("SELECT `nothing`")
    };
    assert_eq!(taken(&seen), [Seen::good("SELECT ?"), failed]);
    wait!(results.finish()).unwrap_err();
    let expected = [
        Seen::good("SELECT ? + ?"),
        Seen::good("SELECT ? + ? + ?"),
        Seen::good("SELECT `seq` FROM `seq_1_to_100`"),
    ];
    assert_eq!(taken(&seen), expected);
    wait!(conn.run("DO 0")).unwrap();
    assert_eq!(taken(&seen), [Seen::good("DO ?")]);
}

#[tokio::test]
async fn a_statement_with_a_cursor_is_reported_once_when_its_last_batch_is_read() {
    let (mut conn, seen) = observed(Duration::ZERO).await;
    let select = "SELECT seq FROM seq_1_to_100 WHERE seq <= ?";
    let statement = wait!(conn.prepare(select)).unwrap();
    let expected = Seen::good("SELECT `seq` FROM `seq_1_to_100` WHERE `seq` <= ?");
    let abandoned = Seen {
        is_abandoned: true,
        ..expected.clone()
    };
    for reads_all in [true, false] {
        let mut cursor = wait!(conn.cursor(&statement, &params![10], 3)).unwrap();
        let mut batches = 0;
        while let Some(mut rows) = wait!(cursor.next_batch()).unwrap() {
            // Unread rows of a batch do not end the statement.
            while reads_all && wait!(rows.next()).unwrap().is_some() {}
            batches += 1;
            let read_last = reads_all && batches == 4;
            assert_eq!(
                taken(&seen).len(),
                usize::from(read_last),
                "batch {batches}"
            );
            if read_last {
                break;
            }
        }
        drop(cursor);
        assert_eq!(taken(&seen).len(), usize::from(!reads_all));
    }
    // Dropped between two batches, and in the middle of one.
    let mut cursor = wait!(conn.cursor(&statement, &params![10], 3)).unwrap();
    wait!(wait!(cursor.next_batch()).unwrap().unwrap().finish()).unwrap();
    drop(cursor);
    assert_eq!(taken(&seen), std::slice::from_ref(&abandoned));
    let mut cursor = wait!(conn.cursor(&statement, &params![10], 3)).unwrap();
    let mut rows = wait!(cursor.next_batch()).unwrap().unwrap();
    wait!(rows.next()).unwrap().unwrap();
    drop(cursor);
    assert_eq!(taken(&seen), []);
    wait!(conn.run("DO 0")).unwrap();
    assert_eq!(taken(&seen), [abandoned, Seen::good("DO ?")]);
    // Without rows there is no cursor.
    let update = wait!(conn.prepare("DO ?")).unwrap();
    drop(wait!(conn.cursor(&update, &params![1], 3)).unwrap());
    assert_eq!(taken(&seen), [Seen::good("DO ?")]);
    // Where the server executes it with a cursor only, this is one statement too.
    let rows = wait!(conn.execute(&statement, &params![10])).unwrap();
    wait!(rows.finish()).unwrap();
    assert_eq!(taken(&seen), [expected]);
}
