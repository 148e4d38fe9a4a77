//! Bulks as INSERTs of many rows: which batches are prepared, and that their rows are the same.

use onecopy_mysql::{BulkMethod, BulkOptions, Error, Param, params};
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{Random, number, seed, url, with_option};

fn options(change: impl FnOnce(&mut BulkOptions)) -> BulkOptions {
    let mut options = BulkOptions::default();
    options.method = BulkMethod::Insert;
    change(&mut options);
    options
}

async fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let text = match wait!(rows.next()).unwrap() {
        Some(row) => row.get::<Option<String>>(0).unwrap(),
        None => None,
    };
    wait!(rows.finish()).unwrap();
    text.unwrap_or_default()
}

/// A counter of the session, or one that the server has.
async fn counter(conn: &mut Connection, name: &str) -> u64 {
    let mut rows = wait!(conn.query(format!("SHOW STATUS LIKE '{name}'"))).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let value = row.get::<&str>(1).unwrap().parse().unwrap();
    wait!(rows.finish()).unwrap();
    value
}

/// What the session has prepared, executed and closed of statements, and run of INSERT as text.
async fn counters(conn: &mut Connection) -> [u64; 4] {
    let mut counters = [0; 4];
    let names = [
        "Com_stmt_prepare",
        "Com_stmt_execute",
        "Com_stmt_close",
        "Com_insert",
    ];
    for (name, value) in names.iter().zip(&mut counters) {
        *value = counter(conn, name).await;
    }
    // Executions of it are counted there too.
    counters[3] = counters[3].saturating_sub(counters[1]);
    counters
}

async fn create(conn: &mut Connection, columns: &str) -> String {
    let table = format!("{}_{}", face_name!("bulk_prepared"), number());
    wait!(conn.run(format!("CREATE TABLE {table} {columns} ENGINE=InnoDB"))).unwrap();
    table
}

async fn drop_table(conn: &mut Connection, table: &str) {
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn full_batches_are_executions_of_one_statement() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY, a INT, b VARCHAR(20))").await;
    let before = counters(&mut conn).await;
    let insert = format!("INSERT INTO {table} VALUES (?, ?, ?)");
    let options = options(|options| options.max_rows = 1000);
    let mut bulk = wait!(conn.bulk_with(&insert, &options)).unwrap();
    for id in 0..12_345 {
        let b = (id % 7 > 0).then_some("text");
        wait!(bulk.push(&params![id, id * 2, b])).unwrap();
    }
    assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 12_345);
    let sums = format!(
        "SELECT CONCAT_WS(' ', COUNT(*), SUM(a), SUM(b <=> IF(id % 7, 'text', NULL))) FROM {table}"
    );
    assert_eq!(text(&mut conn, &sums).await, "12345 152386680 12345");
    let after = counters(&mut conn).await;
    let difference: Vec<u64> = after
        .iter()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect();
    // One statement for the batches of 1,000, of which the first was text, and one for the rest.
    assert_eq!(difference, [2, 12, 2, 1]);
    drop_table(&mut conn, &table).await;
}

#[tokio::test]
async fn a_caller_that_flushes_has_a_statement_for_its_batches_too() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY)").await;
    let before = counters(&mut conn).await;
    let options = options(|_| {});
    let mut bulk =
        wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?)"), &options)).unwrap();
    for id in 0..1_000 {
        wait!(bulk.push(&params![id])).unwrap();
        if id % 50 == 49 {
            wait!(bulk.run("COMMIT")).unwrap();
        }
    }
    assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 1_000);
    let after = counters(&mut conn).await;
    assert_eq!(after[0] - before[0], 1);
    assert_eq!(after[1] - before[1], 18, "all but the first two");
    // A single batch that is not full prepares nothing.
    let mut bulk =
        wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?)"), &options)).unwrap();
    wait!(bulk.push(&params![1_000])).unwrap();
    wait!(bulk.finish()).unwrap();
    let last = counters(&mut conn).await;
    assert_eq!(last[..2], after[..2]);
    drop_table(&mut conn, &table).await;
}

#[tokio::test]
async fn rows_of_any_size_type_and_default_are_those_that_were_pushed() {
    let mut random = Random::new(seed());
    let columns = "(id INT PRIMARY KEY, v LONGTEXT CHARACTER SET utf8mb4, d INT DEFAULT 77)";
    let server = Server::start().unwrap();
    let mut conn = wait!(Connection::connect(&server.socket_url())).unwrap();
    for round in 0..6 {
        let table = create(&mut conn, columns).await;
        let options = options(|options| {
            options.max_bytes = 4_000;
            options.max_rows = [1, 2, 9, 10_000][round % 4];
        });
        let mut bulk =
            wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?, ?, ?)"), &options))
                .unwrap();
        let long = "ä'\\".repeat(2_000);
        let mut expected = Vec::new();
        for id in 0..600_u64 {
            let number = random.next();
            let longest = if random.below(50) == 0 { 6_000 } else { 30 };
            let len = random.below(longest);
            let len = usize::try_from(len).unwrap();
            let cut = long.char_indices().nth(len).unwrap().0;
            let (value, shown) = match random.below(6) {
                0 => (Param::Null, "NULL".to_owned()),
                1 => (Param::Int(-7), "-7".to_owned()),
                2 => (Param::UInt(number), number.to_string()),
                3 => (Param::Double(-0.5), "-0.5".to_owned()),
                _ => (Param::Str(&long[..cut]), long[..cut].to_owned()),
            };
            let default = match random.below(40) {
                0 => Param::Default,
                1 => Param::Null,
                _ => Param::UInt(id),
            };
            wait!(bulk.push(&[id.into(), value, default])).unwrap();
            let default = match default {
                Param::Default => "77".to_owned(),
                Param::Null => "NULL".to_owned(),
                _ => id.to_string(),
            };
            expected.push((shown, default));
            if random.below(100) == 0 {
                // The server has other definitions then, and prepares again.
                let alter = format!("ALTER TABLE {table} ALTER d SET DEFAULT 77, COMMENT '{id}'");
                wait!(bulk.run(alter)).unwrap();
            }
        }
        assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 600);
        let sql = format!(
            "SELECT IFNULL(v, 'NULL'), IFNULL(CAST(d AS CHAR), 'NULL') FROM {table} ORDER BY id"
        );
        let mut rows = wait!(conn.query(sql)).unwrap();
        for (id, expected) in expected.iter().enumerate() {
            let row = wait!(rows.next()).unwrap().unwrap();
            let found = (row.get::<String>(0).unwrap(), row.get::<String>(1).unwrap());
            assert_eq!(&found, expected, "row {id} of round {round}");
        }
        wait!(rows.finish()).unwrap();
        drop_table(&mut conn, &table).await;
    }
    wait!(conn.ping()).unwrap();
    assert_eq!(counter(&mut conn, "Prepared_stmt_count").await, 0);
}

#[tokio::test]
async fn a_statement_of_another_form_is_prepared_once() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY, a VARCHAR(20))").await;
    wait!(conn.run(format!(
        "INSERT INTO {table} VALUES (1, ''), (2, ''), (3, '')"
    )))
    .unwrap();
    let before = counters(&mut conn).await;
    let update = format!("UPDATE {table} SET a = ? WHERE id = ?");
    let mut bulk = wait!(conn.bulk_with(&update, &options(|_| {}))).unwrap();
    for id in 1..=3 {
        wait!(bulk.push(&params!["it's", id])).unwrap();
    }
    assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 3);
    let after = counters(&mut conn).await;
    assert_eq!((after[0] - before[0], after[1] - before[1]), (1, 2));
    let all = format!("SELECT GROUP_CONCAT(a) FROM {table}");
    assert_eq!(text(&mut conn, &all).await, "it's,it's,it's");
    drop_table(&mut conn, &table).await;
}

#[tokio::test]
async fn a_server_that_prepares_nothing_gets_text() {
    let server = Server::start().unwrap();
    let mut conn = wait!(Connection::connect(&server.socket_url())).unwrap();
    wait!(conn.run("SET GLOBAL max_prepared_stmt_count = 0")).unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY)").await;
    let options = options(|options| options.max_rows = 100);
    let mut bulk =
        wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?)"), &options)).unwrap();
    for id in 0..950 {
        wait!(bulk.push(&params![id])).unwrap();
    }
    assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 950);
    assert_eq!(counter(&mut conn, "Com_stmt_execute").await, 0);
}

#[tokio::test]
async fn an_error_of_a_prepared_batch_names_its_rows() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY)").await;
    let options = options(|options| options.max_rows = 100);
    let mut bulk =
        wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?)"), &options)).unwrap();
    let mut failed: Option<Error> = None;
    for id in 0..1_000 {
        let id = if id == 730 { 3 } else { id };
        failed = wait!(bulk.push(&params![id])).err();
        if failed.is_some() {
            break;
        }
    }
    let error = failed.unwrap();
    assert_eq!(error.server().unwrap().code, 1062, "{error}");
    assert_eq!(error.bulk_rows(), Some(700..800), "{error}");
    drop(bulk);
    let count = text(&mut conn, &format!("SELECT COUNT(*) FROM {table}")).await;
    assert_eq!(count, "700");
    drop_table(&mut conn, &table).await;
}

#[tokio::test]
async fn query_attributes_go_with_prepared_batches() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "query-attributes=true"
    )))
    .unwrap();
    let table = create(&mut conn, "(id INT PRIMARY KEY, a VARCHAR(20))").await;
    for (round, attributes) in [&[][..], &[("traceparent", "x"), ("b", "y")]]
        .iter()
        .enumerate()
    {
        // Servers without attributes run the same.
        conn.set_query_attributes(attributes).unwrap();
        let options = options(|options| options.max_rows = 100);
        let sql = format!("INSERT INTO {table} VALUES (?, ?)");
        let mut bulk = wait!(conn.bulk_with(sql, &options)).unwrap();
        let first = i32::try_from(round).unwrap() * 1_000;
        for id in first..first + 950 {
            wait!(bulk.push(&params![id, (id % 3 > 0).then_some("text")])).unwrap();
        }
        assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 950);
    }
    let sql = format!("SELECT COUNT(*) FROM {table} WHERE a <=> IF(id % 3, 'text', NULL)");
    assert_eq!(text(&mut conn, &sql).await, "1900");
    drop_table(&mut conn, &table).await;
}
