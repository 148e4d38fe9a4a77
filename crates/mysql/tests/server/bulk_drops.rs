//! Bulks whose calls are dropped at any of their polls: the connection is right or closed, and every batch is whole.

use onecopy_mysql::aio::Connection;
use onecopy_mysql::{BulkMethod, BulkOptions, params};

use crate::common::{Random, binary, count, number, seed, url};
use crate::polls::{answer, poll_times};

/// Rows of a batch, each long enough that one batch exceeds what sockets hold.
const BATCH: u64 = 64;
const BYTES: usize = 20_000;

#[tokio::test]
async fn a_bulk_dropped_at_any_poll_stores_whole_batches() {
    let mut admin = Connection::connect(&url()).await.unwrap();
    let table = format!("bulk_drops_{}", number());
    let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY, b LONGBLOB) ENGINE=InnoDB");
    admin.run(create).await.unwrap();
    let insert = format!("INSERT INTO {table} VALUES (?, ?)");
    let mut random = Random::new(seed());
    let (mut closed, mut kept, mut whole) = (0, 0, 0);
    let mut conn = Connection::connect(&url()).await.unwrap();
    for round in 0..count(60, 3000) {
        let mut options = BulkOptions::default();
        options.max_rows = BATCH;
        options.max_bytes = 16 << 20;
        if round % 2 == 1 {
            options.method = BulkMethod::Insert;
        }
        let value = binary().first(if round % 3 == 0 { 10 } else { BYTES });
        let polls = 1 + random.below(300);
        let work = async {
            let mut bulk = conn.bulk_with(&insert, &options).await?;
            for id in 0..4 * BATCH {
                bulk.push(&params![id, value]).await?;
            }
            bulk.finish().await
        };
        if let Some(done) = poll_times(work, polls).await {
            assert_eq!(done.unwrap().affected_rows, 4 * BATCH, "round {round}");
            whole += 1;
        }
        match answer(&mut conn, round).await {
            true => kept += 1,
            false => {
                closed += 1;
                conn = Connection::connect(&url()).await.unwrap();
            }
        }
        // What the server is still rolling back holds locks: the statement waits for it.
        let deleted = admin.run(format!("DELETE FROM {table}")).await.unwrap();
        assert_eq!(deleted.affected_rows % BATCH, 0, "round {round}");
    }
    println!("{closed} closed, {kept} kept, {whole} whole");
    assert!(kept > 0);
    admin.run(format!("DROP TABLE {table}")).await.unwrap();
}

#[tokio::test]
async fn a_bulk_says_that_an_earlier_call_was_dropped_while_it_sent() {
    let mut conn = Connection::connect(&url()).await.unwrap();
    conn.run("CREATE TEMPORARY TABLE dropped (id INT PRIMARY KEY, b LONGBLOB)")
        .await
        .unwrap();
    let mut options = BulkOptions::default();
    options.max_rows = 1;
    let mut bulk = conn
        .bulk_with("INSERT INTO dropped VALUES (?, ?)", &options)
        .await
        .unwrap();
    let value = binary().first(8_000_000);
    let pushed = poll_times(bulk.push(&params![1, value]), 1).await;
    assert!(pushed.is_none(), "eight megabytes fit no socket");
    let error = bulk.push(&params![2, value]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the bulk is over: an earlier call was dropped while it sent rows (row 1)"
    );
    drop(bulk);
    answer(&mut conn, 7).await;
}
