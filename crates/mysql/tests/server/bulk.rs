//! Bulks on a real server: every type, errors in the middle, large rows, and both ways of sending.

use onecopy_mysql::{
    BulkMethod, BulkOptions, Date, DateTime, Decimal, OwnedRow, Param, Time, params,
};

use super::Connection;
use crate::common::{binary, count, lacks, number, takes, url, urls};

/// The ways that the server has; the first is that of `Auto`.
async fn methods(conn: &mut Connection) -> Vec<BulkMethod> {
    let table = create(conn, "(a INT)").await;
    let insert = format!("INSERT INTO {table} VALUES (?)");
    let mut bulk = wait!(conn.bulk_with(&insert, &options(BulkMethod::Execute))).unwrap();
    let pushed = wait!(bulk.push(&params![1]));
    pushed.unwrap();
    let finished = wait!(bulk.finish());
    drop_table(conn, &table).await;
    match finished {
        Ok(_) => vec![BulkMethod::Execute, BulkMethod::Insert],
        Err(error) => {
            assert!(!error.is_closed(), "{error}");
            lacks("COM_STMT_BULK_EXECUTE", &error.to_string());
            vec![BulkMethod::Insert]
        }
    }
}

fn options(method: BulkMethod) -> BulkOptions {
    let mut options = BulkOptions::default();
    options.method = method;
    options
}

async fn create(conn: &mut Connection, columns: &str) -> String {
    let table = format!("{}_{}", face_name!("bulk"), number());
    wait!(conn.run(format!("CREATE TABLE {table} {columns} ENGINE=InnoDB"))).unwrap();
    table
}

async fn drop_table(conn: &mut Connection, table: &str) {
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

async fn select(conn: &mut Connection, sql: &str) -> Vec<OwnedRow> {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let all = wait!(rows.collect_owned()).unwrap();
    wait!(rows.finish()).unwrap();
    all
}

async fn one<T: for<'v> onecopy_mysql::FromValue<'v>>(conn: &mut Connection, sql: &str) -> T {
    select(conn, sql).await[0].get(0).unwrap()
}

#[tokio::test]
async fn rows_arrive_over_every_transport_and_in_both_ways() {
    let rows = count(12_345, 1_000_000) as u64;
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for method in methods(&mut conn).await {
            let table = create(
                &mut conn,
                "(id INT PRIMARY KEY, name VARCHAR(40), n DOUBLE)",
            )
            .await;
            wait!(conn.run("BEGIN")).unwrap();
            let mut options = options(method);
            options.max_rows = 1000;
            let insert = format!("INSERT INTO {table} (id, n, name) VALUES (?, ?, ?)");
            let mut bulk = wait!(conn.bulk_with(&insert, &options)).unwrap();
            for id in 1..=rows {
                let name = format!("name of {id}");
                let number = (id % 3 > 0).then_some(0.1);
                wait!(bulk.push(&params![id, number, &name])).unwrap();
            }
            assert_eq!(bulk.rows(), rows);
            assert!(bulk.rows_stored() < rows);
            let done = wait!(bulk.finish()).unwrap();
            assert_eq!((done.affected_rows, done.warnings), (rows, 0), "{method:?}");
            wait!(conn.run("COMMIT")).unwrap();
            let sum: u64 = one(
                &mut conn,
                &format!("SELECT CAST(SUM(id) AS UNSIGNED) FROM {table}"),
            )
            .await;
            assert_eq!(sum, rows * (rows + 1) / 2);
            let wrong: u64 = one(
                &mut conn,
                &format!("SELECT COUNT(*) FROM {table} WHERE name <> CONCAT('name of ', id) OR n <=> IF(id % 3 > 0, 0.1, NULL) = 0"),
            )
            .await;
            assert_eq!(wrong, 0);
            drop_table(&mut conn, &table).await;
        }
    }
}

#[tokio::test]
async fn every_kind_of_value_is_stored_as_an_execution_stores_it() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let columns = "(id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, f FLOAT, d DOUBLE, m DECIMAL(65,30), \
                   a DATE, t DATETIME(6), c TIME(6), s VARCHAR(200) CHARACTER SET utf8mb4, l VARCHAR(200) CHARACTER SET latin1, \
                   b LONGBLOB, k BIT(64))";
    let decimal =
        Decimal::parse_text(b"-12345678901234567890123456789012345.123456789012345678901234567890")
            .unwrap();
    let date = Date::parse_text(b"9999-12-31").unwrap();
    let moment = DateTime::parse_text(b"2024-02-29 12:34:56.789012").unwrap();
    let time = Time::parse_text(b"-838:59:59").unwrap();
    let hostile = "it's \\ \" ` \0 \n \x1a ? ) , ('";
    let row = |id: i64| -> Vec<Param<'_>> {
        vec![
            id.into(),
            i64::MIN.into(),
            u64::MAX.into(),
            f32::MAX.into(),
            f64::MIN_POSITIVE.into(),
            decimal.into(),
            date.into(),
            moment.into(),
            time.into(),
            "é🦀\u{10ffff}".into(),
            "é".into(),
            (&b"\0\xff\xfe'\\\""[..]).into(),
            u64::MAX.into(),
        ]
    };
    let other = |id: i64| -> Vec<Param<'_>> {
        vec![
            id.into(),
            i64::MAX.into(),
            0_u64.into(),
            0.1_f32.into(),
            (-0.1_f64).into(),
            decimal.into(),
            date.into(),
            moment.into(),
            time.into(),
            hostile.into(),
            "".into(),
            (&b""[..]).into(),
            1_u64.into(),
        ]
    };
    let nulls = |id: i64| -> Vec<Param<'_>> {
        let mut row = vec![Param::Null; 13];
        row[0] = id.into();
        row
    };
    for modes in ["", "NO_BACKSLASH_ESCAPES"] {
        wait!(conn.run(format!("SET sql_mode = '{modes},STRICT_ALL_TABLES'"))).unwrap();
        for method in methods(&mut conn).await {
            let table = create(&mut conn, columns).await;
            let insert =
                format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
            let statement = wait!(conn.prepare(&insert)).unwrap();
            for params in [row(1), other(2), nulls(3)] {
                wait!(wait!(conn.execute(&statement, &params)).unwrap().finish()).unwrap();
            }
            let mut bulk = wait!(conn.bulk_with(&insert, &options(method))).unwrap();
            // Nulls first: the types are those of the first values.
            for params in [nulls(13), row(11), other(12)] {
                wait!(bulk.push(&params)).unwrap();
            }
            let done = wait!(bulk.finish()).unwrap();
            assert_eq!((done.affected_rows, done.warnings), (3, 0));
            let rows = select(&mut conn, &format!("SELECT * FROM {table} ORDER BY id")).await;
            for (executed, sent) in rows[..3].iter().zip(&rows[3..]) {
                for column in 1..executed.len() {
                    let (executed, sent) =
                        (executed.value(column).unwrap(), sent.value(column).unwrap());
                    assert_eq!(
                        executed, sent,
                        "column {column} by {method:?} with '{modes}'"
                    );
                }
            }
            drop_table(&mut conn, &table).await;
        }
    }
}

#[tokio::test]
async fn defaults_nulls_and_columns_left_alone() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for method in methods(&mut conn).await {
        let table = create(
            &mut conn,
            "(id INT AUTO_INCREMENT PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(9) DEFAULT 'x')",
        )
        .await;
        let mut bulk = wait!(conn.bulk_with(
            format!("INSERT INTO {table} VALUES (?, ?, ?)"),
            &options(method)
        ))
        .unwrap();
        wait!(bulk.push(&params![Param::Default, Param::Default, "one"])).unwrap();
        wait!(bulk.push(&params![None::<i32>, 2, Param::Default])).unwrap();
        wait!(bulk.push(&params![30, None::<i32>, Param::Ignore])).unwrap();
        let done = wait!(bulk.finish()).unwrap();
        assert_eq!(
            (done.affected_rows, done.last_insert_id),
            (3, 1),
            "{method:?}"
        );
        let rows = select(
            &mut conn,
            &format!("SELECT CONCAT_WS(' ', id, IFNULL(a, 'null'), b) FROM {table} ORDER BY id"),
        )
        .await;
        let rows: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
        assert_eq!(rows, ["1 7 one", "2 2 x", "30 null x"], "{method:?}");

        let mut bulk = wait!(conn.bulk_with(
            format!("UPDATE {table} SET a = ?, b = ? WHERE id = ?"),
            &options(method)
        ))
        .unwrap();
        let left_alone = if method == BulkMethod::Execute {
            Param::Ignore
        } else {
            Param::Int(7)
        };
        wait!(bulk.push(&params![left_alone, "uno", 1])).unwrap();
        wait!(bulk.push(&params![Param::Default, "due", 2])).unwrap();
        assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 2);
        let rows = select(
            &mut conn,
            &format!("SELECT CONCAT_WS(' ', id, a, b) FROM {table} WHERE id < 3 ORDER BY id"),
        )
        .await;
        let rows: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
        assert_eq!(rows, ["1 7 uno", "2 7 due"], "{method:?}");
        drop_table(&mut conn, &table).await;
    }
}

#[tokio::test]
async fn an_error_in_the_middle_leaves_the_batches_before_and_a_transaction_undoes_them() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for method in methods(&mut conn).await {
        let table = create(&mut conn, "(id INT PRIMARY KEY)").await;
        for in_transaction in [false, true] {
            if in_transaction {
                wait!(conn.run("BEGIN")).unwrap();
            }
            let mut options = options(method);
            options.max_rows = 100;
            let mut bulk =
                wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?)"), &options)).unwrap();
            let mut failed = None;
            for id in 0..1000 {
                // The row 250, in the third batch, is there already.
                let id = if id == 250 { 3 } else { id };
                if let Err(error) = wait!(bulk.push(&params![id])) {
                    failed = Some(error);
                    break;
                }
            }
            let error = failed.unwrap();
            assert_eq!(error.server().unwrap().code, 1062, "{error}");
            assert_eq!(error.bulk_rows(), Some(200..300), "{error}");
            assert_eq!(bulk.rows_stored(), 200);
            assert!(wait!(bulk.finish()).is_err(), "it is over");
            let stored: u64 = one(&mut conn, &format!("SELECT COUNT(*) FROM {table}")).await;
            assert_eq!(
                stored, 200,
                "{method:?}: a batch is stored as a whole or not at all"
            );
            wait!(conn.run(if in_transaction { "ROLLBACK" } else { "DO 0" })).unwrap();
            let stored: u64 = one(&mut conn, &format!("SELECT COUNT(*) FROM {table}")).await;
            assert_eq!(stored, if in_transaction { 0 } else { 200 });
            wait!(conn.run(format!("DELETE FROM {table}"))).unwrap();
        }
        drop_table(&mut conn, &table).await;
    }
}

#[tokio::test]
async fn rows_larger_than_a_batch_and_than_a_packet_of_the_protocol() {
    const LARGE: usize = 20_000_000;
    if !takes(2 * LARGE + 1000) {
        return;
    }
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for method in methods(&mut conn).await {
        let table = create(&mut conn, "(id INT PRIMARY KEY, b LONGBLOB)").await;
        let mut bulk = wait!(conn.bulk_with(
            format!("INSERT INTO {table} VALUES (?, ?)"),
            &options(method)
        ))
        .unwrap();
        for (id, len) in [(1, 10), (2, 3_000_000), (3, 10), (4, LARGE), (5, 10)] {
            wait!(bulk.push(&params![id, binary().first(len)])).unwrap();
        }
        wait!(bulk.finish()).unwrap();
        for (id, len) in [(1, 10), (2, 3_000_000), (3, 10), (4, LARGE), (5, 10)] {
            let sum: u32 = one(
                &mut conn,
                &format!("SELECT CRC32(b) FROM {table} WHERE id = {id}"),
            )
            .await;
            assert_eq!(sum, binary().crc32(len), "{method:?}, {len} bytes");
        }
        drop_table(&mut conn, &table).await;
    }
}

#[tokio::test]
async fn a_row_over_the_servers_packet_is_refused_and_the_bulk_goes_on() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for method in methods(&mut conn).await {
        let table = create(&mut conn, "(id INT PRIMARY KEY, b LONGBLOB)").await;
        let mut options = options(method);
        options.max_packet_bytes = Some(10_000);
        let mut bulk =
            wait!(conn.bulk_with(format!("INSERT INTO {table} VALUES (?, ?)"), &options)).unwrap();
        wait!(bulk.push(&params![1, binary().first(4000)])).unwrap();
        let error = wait!(bulk.push(&params![2, binary().first(10_000)])).unwrap_err();
        assert!(error.to_string().ends_with("there (row 2)"), "{error}");
        let error = wait!(bulk.push(&params![2])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statement takes 2 parameters and 1 were given (row 2)"
        );
        wait!(bulk.push(&params![2, binary().first(4000)])).unwrap();
        wait!(bulk.push(&params![3, binary().first(4000)])).unwrap();
        let done = wait!(bulk.run(format!("DELETE FROM {table} WHERE id = 1"))).unwrap();
        assert_eq!(done.affected_rows, 1, "after all rows before it");
        wait!(bulk.push(&params![4, binary().first(40)])).unwrap();
        assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 4, "{method:?}");
        let stored: u64 = one(&mut conn, &format!("SELECT COUNT(*) FROM {table}")).await;
        assert_eq!(stored, 3);
        drop_table(&mut conn, &table).await;
    }
}

#[tokio::test]
async fn statements_that_can_not_be_run_for_rows() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.bulk("INSERT INTO nowhere VALUES (?)")).map(drop);
    if let Err(error) = error {
        assert_eq!(error.server().unwrap().code, 1146, "{error}");
    }
    let error = wait!(conn.bulk("DO 0")).unwrap_err();
    assert!(error.to_string().contains("needs a ?"), "{error}");
    // As text in a character set in which a quote could be a part of a character.
    if wait!(conn.run("SET NAMES gbk")).is_ok() {
        let error = wait!(conn.bulk_with("DO ?", &options(BulkMethod::Insert))).unwrap_err();
        assert!(error.to_string().contains("SET NAMES utf8mb4"), "{error}");
    }
    wait!(conn.ping()).unwrap();
}
