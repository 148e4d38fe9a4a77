//! Compressed connections to real servers: every algorithm that they have, over every transport.

use onecopy_mysql::{BulkMethod, BulkOptions, Compression, Config, Error, params};
use onecopy_testkit::server::test_server;

use super::Connection;
use crate::common::{
    PACKET, binary, clear_tcp_url, lacks, letters, number, takes, urls, with_option, with_zlib,
};

const ALGORITHMS: [Compression; 2] = [Compression::Zlib, Compression::Zstd];

/// The server over each transport, with each algorithm that it has.
async fn compressed() -> Vec<String> {
    let mut found = Vec::new();
    for algorithm in ALGORITHMS {
        let option = format!("compression={algorithm}");
        for url in urls()
            .into_iter()
            .filter(|url| !url.contains("compression"))
        {
            let url = with_option(&url, &option);
            match wait!(Connection::connect(&url)) {
                Ok(conn) => {
                    assert_eq!(conn.compression(), algorithm);
                    found.push(url);
                }
                Err(error) => {
                    assert!(error.to_string().contains("compression"), "{error}");
                    assert!(error.protocol().is_some(), "{error:?}");
                    lacks(&format!("compression {algorithm}"), &error.to_string());
                    break;
                }
            }
        }
    }
    assert_eq!(!found.is_empty(), with_zlib(&urls()[0]).is_some());
    found
}

#[tokio::test]
async fn values_of_every_size_go_both_ways() {
    for url in compressed().await {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let select = wait!(conn.prepare("SELECT ?, LENGTH(?)")).unwrap();
        for sample in [letters(), binary()] {
            for len in [0, 1, 20, 49, 50, 51, 65_520, 65_536, 70_000, 300_000] {
                let value = sample.first(len);
                let mut rows = wait!(conn.execute(&select, &params![value, value])).unwrap();
                let row = wait!(rows.next()).unwrap().unwrap();
                assert!(row.get::<&[u8]>(0).unwrap() == value, "{len}");
                assert_eq!(row.get::<usize>(1).unwrap(), len);
                assert!(wait!(rows.next()).unwrap().is_none());
            }
        }
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn rows_of_bulks_and_of_a_file_are_compressed() {
    const ROWS: u64 = 20_000;
    for url in compressed().await {
        let url = with_option(&url, "local-infile=true");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let table = format!("{}_{}", face_name!("compressed"), number());
        let columns = "(id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB";
        wait!(conn.run(format!("CREATE TABLE {table} {columns}"))).unwrap();
        for method in [BulkMethod::Auto, BulkMethod::Insert] {
            let before = conn.meter();
            let mut options = BulkOptions::default();
            options.method = method;
            let insert = format!("INSERT INTO {table} VALUES (?, ?)");
            let mut bulk = wait!(conn.bulk_with(insert, &options)).unwrap();
            for id in 1..=ROWS {
                wait!(bulk.push(&params![id, "a name that is often the same"])).unwrap();
            }
            assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, ROWS);
            assert_all_came(&mut conn, &table, ROWS).await;
            let cost = conn.meter().since(&before);
            let (plain, compressed) = (cost.bytes_written, cost.compressed_bytes_written);
            assert!(plain > 30 * ROWS && compressed < plain / 3, "{cost:?}");
        }
        // What does not compress, and is larger than a packet.
        if takes(2 * PACKET) {
            let mut bulk =
                wait!(conn.bulk(format!("REPLACE INTO {table} VALUES (?, CRC32(?))"))).unwrap();
            for (id, len) in [(1, 0), (2, PACKET), (3, 20)] {
                wait!(bulk.push(&params![id, binary().first(len)])).unwrap();
            }
            assert_eq!(wait!(bulk.finish()).unwrap().affected_rows, 3);
            wait!(conn.run(format!("DELETE FROM {table}"))).unwrap();
        }
        let lines = |id: u64| format!("{id}\ta name that is often the same\n").into_bytes();
        let lines: Vec<u8> = (1..=ROWS).flat_map(lines).collect();
        let before = conn.meter();
        let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}");
        match wait!(conn.load_infile(&sql, &lines[..])) {
            Ok(done) => {
                assert_eq!(done.affected_rows, ROWS);
                assert_all_came(&mut conn, &table, ROWS).await;
                let cost = conn.meter().since(&before);
                assert!(cost.bytes_written >= lines.len() as u64, "{cost:?}");
                let least = lines.len() as u64 / 3;
                assert!(cost.compressed_bytes_written < least, "{cost:?}");
            }
            Err(error) => lacks("LOAD DATA LOCAL INFILE", &error.to_string()),
        }
        wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
    }
}

/// Checks the rows from 1 on, and deletes them.
async fn assert_all_came(conn: &mut Connection, table: &str, rows: u64) {
    let sql = format!("SELECT CAST(SUM(id * (name LIKE '%same')) AS UNSIGNED) FROM {table}");
    let mut result = wait!(conn.query(sql)).unwrap();
    let sum: u64 = wait!(result.next()).unwrap().unwrap().get(0).unwrap();
    wait!(result.finish()).unwrap();
    assert_eq!(sum, rows * (rows + 1) / 2);
    wait!(conn.run(format!("DELETE FROM {table}"))).unwrap();
}

#[tokio::test]
async fn payloads_of_several_packets_go_both_ways() {
    for url in compressed().await.into_iter().take(1) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let select = wait!(conn.prepare("SELECT ?")).unwrap();
        for len in [PACKET - 20, PACKET, PACKET + 1] {
            if !takes(len + 1000) {
                return;
            }
            let value = letters().first(len);
            let mut rows = wait!(conn.execute(&select, &params![value])).unwrap();
            let mut back = Vec::new();
            wait!(rows.next_into(0, &mut back)).unwrap().unwrap();
            assert!(back == value, "{len}");
            wait!(rows.finish()).unwrap();
        }
    }
}

#[tokio::test]
async fn commands_without_a_reply_and_results_one_after_the_other() {
    for url in compressed().await {
        let url = with_option(&url, "multi-statements=true");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for round in 0..10 {
            let long = wait!(conn.prepare("SELECT LENGTH(?), ?")).unwrap();
            let data = letters().first(200_000);
            wait!(conn.send_long_data(&long, 0, data)).unwrap();
            let params = [onecopy_mysql::Param::LongData, round.into()];
            let mut rows = wait!(conn.execute(&long, &params)).unwrap();
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.get::<i32>(0).unwrap(), 200_000);
            assert_eq!(row.get::<i32>(1).unwrap(), round);
            wait!(rows.finish()).unwrap();
            // Its close leaves with the next command.
            wait!(conn.close_statement(long)).unwrap();
            let mut rows =
                wait!(conn.query("SELECT 1; SELECT REPEAT('x', 200); SELECT 3")).unwrap();
            let mut results = 0;
            loop {
                assert!(wait!(rows.next()).unwrap().is_some());
                results += 1;
                if !wait!(rows.next_result()).unwrap() {
                    break;
                }
            }
            assert_eq!(results, 3);
            let error = wait!(conn.run("SELECT nonsense FROM nowhere")).unwrap_err();
            assert!(error.server().is_some() && !error.is_closed(), "{error}");
            wait!(conn.ping()).unwrap();
            // Abandoned in the middle.
            let rows = wait!(conn.query("SELECT seq FROM seq_1_to_100")).unwrap();
            drop(rows);
        }
        wait!(conn.reset()).unwrap();
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn a_change_of_user_stays_compressed() {
    for url in compressed().await {
        let config = Config::from_url(&url).unwrap();
        let mut conn = wait!(Connection::connect_with(&config)).unwrap();
        let (user, password) = (config.user.clone(), config.password.clone());
        let changed = wait!(conn.change_user(&user, password, config.database.as_deref()));
        changed.unwrap();
        let mut rows = wait!(conn.query("SELECT REPEAT('x', 100000)")).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<&str>(0).unwrap().len(), 100_000);
    }
}

#[tokio::test]
async fn what_compression_saves_and_copies_is_counted_apart() {
    for url in compressed().await {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let before = conn.meter();
        let mut rows = wait!(conn.query("SELECT REPEAT('x', 1000000)")).unwrap();
        let mut value = Vec::new();
        wait!(rows.next_into(0, &mut value)).unwrap().unwrap();
        wait!(rows.finish()).unwrap();
        let cost = conn.meter().since(&before);
        assert!(cost.bytes_read > 1_000_000, "{cost:?}");
        assert!(cost.compressed_bytes_read < 20_000, "{cost:?}");
        assert!(cost.bytes_copied_by_compression > 1_000_000, "{cost:?}");
        assert!(cost.copied() < 20_000, "{cost:?}");
        assert_eq!(value.len(), 1_000_000);

        let before = conn.meter();
        let text = format!("SELECT LENGTH('{}')", "y".repeat(1_000_000));
        wait!(conn.run(&text)).unwrap();
        let cost = conn.meter().since(&before);
        assert!(cost.bytes_written > 1_000_000, "{cost:?}");
        assert!(cost.compressed_bytes_written < 20_000, "{cost:?}");
    }
    let mut conn = wait!(Connection::connect(&test_server().url())).unwrap();
    wait!(conn.ping()).unwrap();
    let meter = conn.meter();
    assert_eq!(
        meter.compressed_bytes_read + meter.bytes_copied_by_compression,
        0
    );
}

#[tokio::test]
async fn a_small_command_is_one_write_and_one_read_and_is_not_compressed() {
    let Some(url) = clear_tcp_url().and_then(|url| with_zlib(&url)) else {
        return;
    };
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    for _ in 0..10 {
        let before = conn.meter();
        wait!(conn.ping()).unwrap();
        let cost = conn.meter().since(&before);
        assert_eq!((cost.writes, cost.reads), (1, 1), "{cost:?}");
        // The command's five bytes and the frame's header.
        assert_eq!(cost.compressed_bytes_written, 12);
    }
}

#[tokio::test]
async fn every_level_works_and_the_server_is_told_zstds() {
    let Some(url) = clear_tcp_url() else { return };
    for (algorithm, levels) in [
        (Compression::Zlib, [1, 6, 9]),
        (Compression::Zstd, [1, 7, 22]),
    ] {
        for level in levels {
            let url = with_option(&url, &format!("compression={algorithm},uncompressed"));
            let url = with_option(&url, &format!("compression-level={level}"));
            let mut conn = wait!(Connection::connect(&url)).unwrap();
            if conn.compression() == Compression::Uncompressed {
                break;
            }
            let sql = format!("SELECT '{}'", "z".repeat(200_000));
            wait!(conn.run(&sql)).unwrap();
            let mut rows = wait!(conn.query("SHOW STATUS LIKE 'Compression_level'")).unwrap();
            if let Some(row) = wait!(rows.next()).unwrap()
                && algorithm == Compression::Zstd
            {
                assert_eq!(row.get::<&str>(1).unwrap(), level.to_string());
            }
        }
    }
}

#[tokio::test]
async fn the_first_algorithm_that_the_server_has_is_used() {
    let Some(url) = clear_tcp_url().filter(|url| with_zlib(url).is_some()) else {
        return;
    };
    let zlib = with_option(&url, "compression=zlib,zstd,uncompressed");
    let conn = wait!(Connection::connect(&zlib)).unwrap();
    assert_eq!(conn.compression(), Compression::Zlib);
    let conn = wait!(Connection::connect(&url)).unwrap();
    assert_eq!(conn.compression(), Compression::Uncompressed);
    let none = with_option(&url, "compression=uncompressed,zlib");
    let conn = wait!(Connection::connect(&none)).unwrap();
    assert_eq!(conn.compression(), Compression::Uncompressed);
}

#[tokio::test]
async fn the_server_says_that_the_session_is_compressed() {
    for url in compressed().await {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        assert_eq!(status(&mut conn).await.unwrap(), "ON");
    }
}

async fn status(conn: &mut Connection) -> Result<String, Error> {
    let mut rows = wait!(conn.query("SHOW SESSION STATUS LIKE 'Compression'"))?;
    let row = wait!(rows.next())?.unwrap();
    row.get(1)
}
