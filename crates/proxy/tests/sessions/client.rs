//! Our own client's ways of sending many commands and rows, through the proxy: the same is stored and read as without it.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{BulkMethod, BulkOptions, Config, Error, Param, params};
use onecopy_testkit::server::lacks;

use crate::basics::text;
use crate::common::{connect, start, url};

fn table(conn: &mut Connection, name: &str) -> String {
    let table = format!("through_the_proxy_{name}");
    conn.run(format!("DROP TABLE IF EXISTS {table}")).unwrap();
    let columns = "(id INT PRIMARY KEY, name VARCHAR(40) DEFAULT 'none', data LONGBLOB)";
    conn.run(format!("CREATE TABLE {table} {columns} ENGINE=InnoDB"))
        .unwrap();
    table
}

#[test]
fn bulks_by_every_method() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let large = vec![b'x'; 20_000_000];
    for method in [BulkMethod::Execute, BulkMethod::Insert] {
        let table = table(&mut conn, "bulk");
        let mut options = BulkOptions::default();
        options.method = method;
        let sql = format!("INSERT INTO {table} VALUES (?, ?, ?)");
        let mut bulk = conn.bulk_with(&sql, &options).unwrap();
        let mut pushed = Ok(());
        for id in 1..=20_000 {
            let data = match id {
                5_000 => &large[..],
                _ => b"small",
            };
            let name = match id % 1_000 {
                999 => Param::Default,
                998 => Param::Null,
                _ => Param::Str("it's"),
            };
            pushed = bulk.push(&[id.into(), name, data.into()]);
            if pushed.is_err() {
                break;
            }
        }
        let done = match pushed.and_then(|()| bulk.finish()) {
            Ok(done) => done,
            Err(error) if method == BulkMethod::Execute && error.server().is_none() => {
                assert!(!error.is_closed(), "{error}");
                lacks("COM_STMT_BULK_EXECUTE", &error.to_string());
                continue;
            }
            Err(error) => panic!("{method:?}: {error}"),
        };
        assert_eq!(done.affected_rows, 20_000, "{method:?}");
        let sums = format!(
            "SELECT CONCAT_WS(' ', SUM(id), SUM(name = 'it''s'), SUM(name = 'none'), SUM(name IS NULL), SUM(LENGTH(data))) FROM {table}"
        );
        assert_eq!(
            text(&mut conn, &sums),
            "200010000 19960 20 20 20099995",
            "{method:?}"
        );
    }
}

#[test]
fn a_bulk_that_fails_in_the_middle_names_its_rows() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let table = table(&mut conn, "bulk_error");
    let mut options = BulkOptions::default();
    options.method = BulkMethod::Insert;
    options.max_rows = 100;
    let sql = format!("INSERT INTO {table} (id) VALUES (?)");
    let mut bulk = conn.bulk_with(&sql, &options).unwrap();
    let failed: Option<Error> = (0..1_000)
        .map(|id| if id == 730 { 3 } else { id })
        .find_map(|id| bulk.push(&params![id]).err());
    let error = failed.unwrap();
    assert_eq!(error.server().unwrap().code, 1062, "{error}");
    assert_eq!(error.bulk_rows(), Some(700..800), "{error}");
    drop(bulk);
    let count = format!("SELECT COUNT(*) FROM {table}");
    assert_eq!(text(&mut conn, &count), "700");
}

#[test]
fn pipelines_with_large_parameters_errors_and_many_results() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let statement = conn.prepare("SELECT ?, LENGTH(?)").unwrap();
    let large = vec![b'y'; 300_000];
    let mut pipeline = conn.pipeline();
    for number in 0..5_000 {
        let bytes = &large[..if number % 500 == 7 { large.len() } else { 3 }];
        match number % 4 {
            0 => pipeline.query(format!("SELECT {number}")).unwrap(),
            1 => pipeline
                .exec("SELECT ? + 0, 'x'", &params![number])
                .unwrap(),
            2 => pipeline.query("SELECT nothing").unwrap(),
            _ => pipeline
                .execute(&statement, &params![number, bytes])
                .unwrap(),
        };
    }
    let mut results = pipeline.send().unwrap();
    for number in 0..5_000 {
        match results.next() {
            Ok(rows) => {
                let mut rows = rows.unwrap();
                let row = rows.next().unwrap().unwrap();
                assert_eq!(row.get::<i64>(0).unwrap(), number);
                if number % 4 == 3 {
                    let len = if number % 500 == 7 { 300_000 } else { 3 };
                    assert_eq!(row.get::<usize>(1).unwrap(), len);
                }
            }
            Err(error) => {
                assert_eq!(number % 4, 2, "{error}");
                assert_eq!(error.server().unwrap().code, 1054, "{error}");
            }
        }
    }
    assert!(results.next().unwrap().is_none());
    drop(results);
    // Dropped with most results outstanding.
    let mut pipeline = conn.pipeline();
    for _ in 0..1_000 {
        pipeline
            .query("SELECT REPEAT('z', 10000)")
            .map(drop)
            .unwrap();
    }
    let mut results = pipeline.send().unwrap();
    assert!(results.next().unwrap().is_some());
    drop(results);
    assert_eq!(text(&mut conn, "SELECT 7"), "7");
}

#[test]
fn cursors_are_fetched_to_their_end_left_and_closed() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    let table = table(&mut conn, "cursor");
    let mut bulk = conn
        .bulk(format!("INSERT INTO {table} (id) VALUES (?)"))
        .unwrap();
    for id in 1..=1_000 {
        bulk.push(&params![id]).unwrap();
    }
    bulk.finish().unwrap();
    let select = format!("SELECT id, REPEAT('x', id) FROM {table} WHERE id > ? ORDER BY id");
    let select = conn.prepare(select).unwrap();
    let mut cursor = conn.cursor(&select, &params![100], 64).unwrap();
    let (mut expected, mut batches) = (100, 0);
    while let Some(mut rows) = cursor.next_batch().unwrap() {
        batches += 1;
        while let Some(row) = rows.next().unwrap() {
            expected += 1;
            assert_eq!(row.get::<usize>(0).unwrap(), expected);
            assert_eq!(row.get::<&str>(1).unwrap().len(), expected);
        }
    }
    assert_eq!((expected, batches), (1_000, 15));
    drop(cursor);
    for _ in 0..20 {
        let mut cursor = conn.cursor(&select, &params![0], 10).unwrap();
        let mut rows = cursor.next_batch().unwrap().unwrap();
        rows.next().unwrap().unwrap();
        drop(cursor);
        assert_eq!(text(&mut conn, "SELECT 'between'"), "between");
    }
}

#[test]
fn a_local_file_of_many_megabytes() {
    let proxy = start(|_| {});
    let mut config = Config::from_url(&url(&proxy)).unwrap();
    config.local_infile = true;
    let mut conn = Connection::connect_with(&config).unwrap();
    if text(&mut conn, "SELECT @@local_infile") == "0" {
        return lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
    }
    let table = table(&mut conn, "infile");
    let lines: String = (1..=300_000)
        .map(|id| format!("{id}\tname of {id}\tdata\n"))
        .collect();
    let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}");
    let done = conn.load_infile(&sql, lines.as_bytes()).unwrap();
    assert_eq!(done.affected_rows, 300_000);
    let refused = conn.load_infile_with(&sql, |_| -> std::io::Result<&[u8]> {
        Err(std::io::Error::other("not here"))
    });
    assert!(!refused.unwrap_err().is_closed());
    let count = format!("SELECT COUNT(*) FROM {table}");
    assert_eq!(text(&mut conn, &count), "300000");
}
