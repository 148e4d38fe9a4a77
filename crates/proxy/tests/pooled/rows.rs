//! Many rows and many statements of clients that share connections: each statement may be on another one.

use onecopy_mysql::{BulkMethod, BulkOptions, params};
use onecopy_proxy::config::Mode;

use crate::common::{Pooled, text};

/// Clients, more than there are connections.
const CLIENTS: usize = 4;

fn on_shared_connections(run: impl Fn(&Pooled, usize) + Sync) {
    let pooled = Pooled::start(Mode::Transaction, 2);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (pooled, run) = (&pooled, &run);
            scope.spawn(move || run(pooled, client));
        }
    });
}

#[test]
fn bulks_are_prepared_on_every_connection_that_runs_a_batch() {
    on_shared_connections(|pooled, client| {
        let mut conn = pooled.connect();
        let table = format!("pooled_bulk_{client}");
        conn.run(format!("DROP TABLE IF EXISTS {table}")).unwrap();
        let columns = "(id INT PRIMARY KEY, name VARCHAR(40), data LONGBLOB) ENGINE=InnoDB";
        conn.run(format!("CREATE TABLE {table} {columns}")).unwrap();
        let mut options = BulkOptions::default();
        options.method = BulkMethod::Insert;
        options.max_rows = 200;
        let sql = format!("INSERT INTO {table} VALUES (?, ?, ?)");
        let mut bulk = conn.bulk_with(&sql, &options).unwrap();
        let large = vec![b'x'; 300_000];
        for id in 1..=5_000 {
            let data = &large[..if id % 1_250 == 0 { large.len() } else { 5 }];
            let name = (id % 7 > 0).then_some("name");
            bulk.push(&params![id, name, data]).unwrap();
        }
        assert_eq!(bulk.finish().unwrap().affected_rows, 5_000);
        let sums = format!(
            "SELECT CONCAT_WS(' ', SUM(id), SUM(name <=> IF(id % 7, 'name', NULL)), SUM(LENGTH(data))) FROM {table}"
        );
        assert_eq!(text(&mut conn, &sums), "12502500 5000 1224980");
    });
}

#[test]
fn pipelines_and_cursors_have_their_own_results() {
    on_shared_connections(|pooled, client| {
        let mut conn = pooled.connect();
        let client = i64::try_from(client).unwrap();
        let statement = conn.prepare("SELECT CAST(? AS SIGNED) + ?").unwrap();
        let select = "SELECT CAST(? AS SIGNED) AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5";
        let select = conn.prepare(select).unwrap();
        for round in 0..20 {
            let mut pipeline = conn.pipeline();
            for number in 0..200_i64 {
                match number % 3 {
                    0 => pipeline.query(format!("SELECT {number} + {client}")),
                    1 => pipeline.execute(&statement, &params![number, client]),
                    _ => {
                        pipeline.exec("SELECT CAST(? AS SIGNED) + ? + 0", &params![number, client])
                    }
                }
                .map(drop)
                .unwrap();
            }
            let mut results = pipeline.send().unwrap();
            for number in 0..200 {
                let mut rows = results.next().unwrap().unwrap();
                let sum: i64 = rows.next().unwrap().unwrap().get(0).unwrap();
                assert_eq!(sum, number + client, "round {round}");
            }
            drop(results);
            let mut cursor = conn.cursor(&select, &params![100 + client], 2).unwrap();
            let mut found = Vec::new();
            while let Some(mut rows) = cursor.next_batch().unwrap() {
                while let Some(row) = rows.next().unwrap() {
                    found.push(row.get::<i64>(0).unwrap());
                }
            }
            assert_eq!(found, [100 + client, 2, 3, 4, 5]);
        }
    });
}

/// MySQL 9.7 does not end the results of a statement that had a cursor before: the client would wait for ever.
#[test]
fn a_statement_that_had_another_clients_cursor_is_executed_without_one() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let sql = "SELECT 1 AS n UNION SELECT 2 UNION SELECT 3";
    let (with, without) = (one.prepare(sql).unwrap(), other.prepare(sql).unwrap());
    for _ in 0..3 {
        let mut cursor = one.cursor(&with, &[], 2).unwrap();
        while let Some(rows) = cursor.next_batch().unwrap() {
            rows.finish().unwrap();
        }
        drop(cursor);
        one.ping().unwrap();
        let mut rows = other.execute(&without, &[]).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            found.push(row.get::<i64>(0).unwrap());
        }
        assert_eq!(found, [1, 2, 3]);
    }
}

/// MySQL tells in each of these replies how the transaction's state has changed, and the proxy takes that out.
#[test]
fn a_small_reply_is_one_read_of_the_client_also_where_it_is_rewritten() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = Pooled::start(mode, 1);
        let mut conn = pooled.connect();
        conn.run("CREATE TEMPORARY TABLE one_read (a INT) ENGINE = InnoDB")
            .unwrap();
        conn.run("INSERT INTO one_read VALUES (7)").unwrap();
        for round in 0..5 {
            for sql in [
                "SELECT a FROM one_read",
                "SELECT a + 0 FROM one_read FOR UPDATE",
            ] {
                let before = conn.meter();
                assert_eq!(text(&mut conn, sql), "7");
                let cost = conn.meter().since(&before);
                assert_eq!((cost.writes, cost.reads), (1, 1), "{sql} {round}: {cost:?}");
            }
            conn.run(if round % 2 == 0 { "BEGIN" } else { "COMMIT" })
                .unwrap();
        }
    }
}
