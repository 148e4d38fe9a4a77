//! Transactions: what is committed, what is rolled back and when, and who is told.

use onecopy_mysql::{Error, Isolation, StatusFlags, TransactionOptions};
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{number, url, urls, with_option};

/// A table of this test's own.
async fn table(conn: &mut Connection) -> String {
    let name = format!("transactions_{}", number());
    wait!(conn.run(format!("DROP TABLE IF EXISTS {name}"))).unwrap();
    let sql = format!("CREATE TABLE {name} (id INT PRIMARY KEY, n INT) ENGINE=InnoDB");
    wait!(conn.run(sql)).unwrap();
    name
}

/// What another connection sees.
async fn ids(table: &str) -> Vec<i64> {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let mut rows = wait!(conn.query(format!("SELECT id FROM {table} ORDER BY id"))).unwrap();
    let mut ids = Vec::new();
    while let Some(row) = wait!(rows.next()).unwrap() {
        ids.push(row.get(0).unwrap());
    }
    ids
}

async fn insert(conn: &mut Connection, table: &str, id: i64) -> Result<(), Error> {
    let sql = format!("INSERT INTO {table} (id, n) VALUES ({id}, 0)");
    wait!(conn.run(sql)).map(drop)
}

#[tokio::test]
async fn a_commit_keeps_a_rollback_and_a_drop_do_not() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let table = table(&mut conn).await;
        let mut tx = wait!(conn.transaction()).unwrap();
        assert!(tx.status().contains(StatusFlags::IN_TRANS));
        insert(&mut tx, &table, 1).await.unwrap();
        assert!(ids(&table).await.is_empty());
        wait!(tx.commit()).unwrap();
        assert_eq!(ids(&table).await, [1]);
        assert!(!conn.status().contains(StatusFlags::IN_TRANS));

        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, 2).await.unwrap();
        wait!(tx.rollback()).unwrap();
        assert_eq!(ids(&table).await, [1]);

        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, 3).await.unwrap();
        drop(tx);
        insert(&mut conn, &table, 4).await.unwrap();
        assert_eq!(ids(&table).await, [1, 4]);
    }
}

#[tokio::test]
async fn a_dropped_transaction_is_rolled_back_in_the_write_of_the_next_command() {
    for option in ["pipelining=true", "pipelining=false"] {
        let mut conn = wait!(Connection::connect(&with_option(&url(), option))).unwrap();
        let table = table(&mut conn).await;
        let statement = wait!(conn.prepare(format!("SELECT COUNT(*) FROM {table}"))).unwrap();
        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, 1).await.unwrap();
        drop(tx);
        let before = conn.meter();
        let mut rows = wait!(conn.execute(&statement, &[])).unwrap();
        let count: i64 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
        wait!(rows.finish()).unwrap();
        let writes = if option.ends_with("true") { 1 } else { 2 };
        assert_eq!((count, conn.meter().since(&before).writes), (0, writes));
        // And it is over: nothing more is sent before the one after.
        let before = conn.meter();
        wait!(conn.ping()).unwrap();
        assert_eq!(conn.meter().since(&before).writes, 1);
    }
}

#[tokio::test]
async fn any_command_may_follow_a_dropped_transaction() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    let statement = wait!(conn.prepare("SELECT LENGTH(?)")).unwrap();
    for command in 0..8 {
        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, command).await.unwrap();
        // Its rows are dropped too.
        drop(wait!(tx.query("SELECT 1 UNION SELECT 2")).unwrap());
        drop(tx);
        match command {
            0 => wait!(conn.ping()).unwrap(),
            1 => drop(wait!(conn.prepare("SELECT 1")).unwrap()),
            2 => drop(wait!(conn.send_long_data(&statement, 0, &b"abc"[..])).unwrap()),
            3 => wait!(conn.use_database(&crate::common::database())).unwrap(),
            4 => drop(wait!(conn.transaction()).unwrap()),
            5 => drop(wait!(conn.query("SELECT 1")).unwrap()),
            6 => wait!(conn.reset()).unwrap(),
            _ => drop(wait!(conn.run("SELEKT")).unwrap_err()),
        }
        wait!(conn.ping()).unwrap();
        assert!(ids(&table).await.is_empty(), "{command}");
        assert!(!conn.status().contains(StatusFlags::IN_TRANS), "{command}");
    }
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 1).await.unwrap();
    drop(tx);
    wait!(conn.close()).unwrap();
    assert!(ids(&table).await.is_empty());
}

#[tokio::test]
async fn the_options_reach_the_server_in_one_write() {
    for option in ["pipelining=true", "pipelining=false"] {
        let mut conn = wait!(Connection::connect(&with_option(&url(), option))).unwrap();
        let table = table(&mut conn).await;
        let mut other = wait!(Connection::connect(&url())).unwrap();
        let mut tx = wait!(other.transaction()).unwrap();
        insert(&mut tx, &table, 7).await.unwrap();
        for (isolation, seen) in [
            (Isolation::ReadUncommitted, 1),
            (Isolation::ReadCommitted, 0),
            (Isolation::RepeatableRead, 0),
        ] {
            let options = TransactionOptions {
                isolation: Some(isolation),
                read_only: true,
                consistent_snapshot: isolation == Isolation::RepeatableRead,
            };
            let before = conn.meter();
            let mut tx = wait!(conn.transaction_with(&options)).unwrap();
            let writes = if option.ends_with("true") { 1 } else { 2 };
            assert_eq!(tx.meter().since(&before).writes, writes);
            let mut rows = wait!(tx.query(format!("SELECT COUNT(*) FROM {table}"))).unwrap();
            let count: i64 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
            drop(rows);
            assert_eq!(count, seen, "{isolation:?}");
            let error = insert(&mut tx, &table, 8).await.unwrap_err();
            assert_eq!(error.server().map(|error| error.code), Some(1792));
            wait!(tx.commit()).unwrap();
        }
        wait!(tx.rollback()).unwrap();
        // The isolation was that of one transaction.
        let options = TransactionOptions {
            isolation: Some(Isolation::Serializable),
            ..TransactionOptions::default()
        };
        let tx = wait!(conn.transaction_with(&options)).unwrap();
        wait!(tx.commit()).unwrap();
        let tx = wait!(conn.transaction()).unwrap();
        wait!(tx.rollback()).unwrap();
    }
}

#[tokio::test]
async fn savepoints_nest_and_are_rolled_back_alone() {
    for option in ["pipelining=true", "pipelining=false"] {
        let mut conn = wait!(Connection::connect(&with_option(&url(), option))).unwrap();
        let table = table(&mut conn).await;
        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, 1).await.unwrap();

        let mut kept = wait!(tx.savepoint()).unwrap();
        insert(&mut kept, &table, 2).await.unwrap();
        let mut inner = wait!(kept.savepoint()).unwrap();
        insert(&mut inner, &table, 3).await.unwrap();
        wait!(inner.rollback()).unwrap();
        insert(&mut kept, &table, 4).await.unwrap();
        let mut inner = wait!(kept.savepoint()).unwrap();
        insert(&mut inner, &table, 5).await.unwrap();
        drop(inner);
        insert(&mut kept, &table, 6).await.unwrap();
        wait!(kept.commit()).unwrap();

        let mut dropped = wait!(tx.savepoint()).unwrap();
        insert(&mut dropped, &table, 7).await.unwrap();
        let mut inner = wait!(dropped.savepoint()).unwrap();
        insert(&mut inner, &table, 8).await.unwrap();
        wait!(inner.commit()).unwrap();
        drop(dropped);
        // The next command is the commit itself.
        wait!(tx.commit()).unwrap();
        assert_eq!(ids(&table).await, [1, 2, 4, 6]);

        let mut tx = wait!(conn.transaction()).unwrap();
        let mut dropped = wait!(tx.savepoint()).unwrap();
        insert(&mut dropped, &table, 9).await.unwrap();
        drop(dropped);
        let mut again = wait!(tx.savepoint()).unwrap();
        insert(&mut again, &table, 10).await.unwrap();
        wait!(again.commit()).unwrap();
        wait!(tx.commit()).unwrap();
        assert_eq!(ids(&table).await, [1, 2, 4, 6, 10]);
    }
}

#[tokio::test]
async fn a_transaction_in_a_transaction_is_refused_and_commits_nothing() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 1).await.unwrap();
    let error = wait!(tx.transaction()).unwrap_err();
    assert!(!error.is_closed() && !error.maybe_executed(), "{error}");
    assert!(error.to_string().contains("savepoint"), "{error}");
    assert!(ids(&table).await.is_empty());
    wait!(tx.rollback()).unwrap();
    // So is one that a statement began.
    wait!(conn.run("START TRANSACTION")).unwrap();
    insert(&mut conn, &table, 2).await.unwrap();
    wait!(conn.transaction()).unwrap_err();
    wait!(conn.run("ROLLBACK")).unwrap();
    assert!(ids(&table).await.is_empty());
}

#[tokio::test]
async fn an_error_of_a_statement_leaves_its_transaction_open_and_asks_nothing() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 1).await.unwrap();
    insert(&mut tx, &table, 1).await.unwrap_err();
    wait!(tx.run("SELEKT")).unwrap_err();
    let before = tx.meter();
    insert(&mut tx, &table, 2).await.unwrap();
    assert_eq!(tx.meter().since(&before).writes, 1);
    wait!(tx.commit()).unwrap();
    assert_eq!(ids(&table).await, [1, 2]);
}

/// The server rolls back all of it, and says no more than "deadlock".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_deadlock_nothing_is_executed_outside_of_the_transaction() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    let sql = format!("INSERT INTO {table} VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
    wait!(conn.run(sql)).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    wait!(tx.run(format!("UPDATE {table} SET n = 1 WHERE id = 1"))).unwrap();
    // The other one has changed more, so that the server chooses this one.
    let theirs = table.clone();
    let other = spawn!({
        let mut conn = wait!(Connection::connect(&url())).unwrap();
        let mut tx = wait!(conn.transaction()).unwrap();
        wait!(tx.run(format!("UPDATE {theirs} SET n = 2 WHERE id > 1"))).unwrap();
        wait!(tx.run(format!(
            "UPDATE {theirs} SET n = 2 WHERE id = 1 /* deadlock */"
        )))
        .unwrap();
        wait!(tx.rollback()).unwrap();
    });
    crate::common::assert_runs(&format!(
        "UPDATE {table} SET n = 2 WHERE id = 1 /* deadlock"
    ));
    let error = wait!(tx.run(format!("UPDATE {table} SET n = 1 WHERE id = 2"))).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    for error in [
        insert(&mut tx, &table, 5).await.unwrap_err(),
        wait!(tx.ping()).unwrap_err(),
        wait!(tx.savepoint()).unwrap_err(),
    ] {
        assert!(error.is_transaction_over() && !error.is_closed(), "{error}");
        assert!(!error.maybe_executed(), "{error}");
    }
    let error = wait!(tx.commit()).unwrap_err();
    assert!(error.is_transaction_over(), "{error}");
    join!(other);
    insert(&mut conn, &table, 6).await.unwrap();
    assert_eq!(ids(&table).await, [1, 2, 3, 4, 6]);
}

#[tokio::test]
async fn a_statement_that_ends_the_transaction_is_told_at_the_commit() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    for (id, ends) in [
        (1, format!("ALTER TABLE {table} ADD COLUMN m INT")),
        (2, "COMMIT".into()),
    ] {
        let mut tx = wait!(conn.transaction()).unwrap();
        insert(&mut tx, &table, id).await.unwrap();
        wait!(tx.run(ends)).unwrap();
        let error = wait!(tx.commit()).unwrap_err();
        assert!(
            error.is_transaction_over() && !error.maybe_executed(),
            "{error}"
        );
    }
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 3).await.unwrap();
    wait!(tx.run("ROLLBACK")).unwrap();
    wait!(tx.rollback()).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 4).await.unwrap();
    wait!(tx.reset()).unwrap();
    assert!(
        insert(&mut tx, &table, 5)
            .await
            .unwrap_err()
            .is_transaction_over()
    );
    drop(tx);
    insert(&mut conn, &table, 6).await.unwrap();
    assert_eq!(ids(&table).await, [1, 2, 6]);
}

/// On a server of its own, which it locks.
#[tokio::test]
async fn a_commit_whose_reply_is_lost_says_that_its_outcome_is_unknown() {
    let server = Server::start().unwrap();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    wait!(conn.run("CREATE TABLE t (id INT) ENGINE=InnoDB")).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    insert_one(&mut tx).await;
    let mut other = wait!(Connection::connect(&server.url())).unwrap();
    // The commit waits for this lock.
    wait!(other.run("FLUSH TABLES WITH READ LOCK")).unwrap();
    tx.set_call_timeout(Some(std::time::Duration::from_millis(200)));
    let error = wait!(tx.commit()).unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
    wait!(other.run("UNLOCK TABLES")).unwrap();
    conn.set_call_timeout(None);
    wait!(conn.ping()).unwrap();
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
    // Of one that is lost with its connection too.
    let mut tx = wait!(conn.transaction()).unwrap();
    insert_one(&mut tx).await;
    wait!(other.run(format!("KILL {}", tx.connection_id()))).unwrap();
    let error = wait!(tx.commit()).unwrap_err();
    assert!(error.is_closed(), "{error}");
}

async fn insert_one(conn: &mut Connection) {
    wait!(conn.run("INSERT INTO t VALUES (1)")).unwrap();
}

#[tokio::test]
async fn a_chain_of_transactions_is_not_begun_by_a_commit() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run("SET SESSION completion_type = 'CHAIN'")).unwrap();
    let tx = wait!(conn.transaction()).unwrap();
    wait!(tx.commit()).unwrap();
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
    drop(wait!(conn.transaction()).unwrap());
    wait!(conn.ping()).unwrap();
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
}

#[tokio::test]
async fn another_user_has_no_part_in_a_dropped_transaction() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = table(&mut conn).await;
    let config = onecopy_mysql::Config::from_url(&url()).unwrap();
    let mut tx = wait!(conn.transaction()).unwrap();
    insert(&mut tx, &table, 1).await.unwrap();
    drop(tx);
    let database = config.database.as_deref();
    wait!(conn.change_user(&config.user, config.password.clone(), database)).unwrap();
    assert!(ids(&table).await.is_empty());
    wait!(conn.ping()).unwrap();
}
