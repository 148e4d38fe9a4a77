//! What was dumped and loaded is what it was.

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::lacks;

use crate::{Folder, checksum, connect, create, rows, run, run_input, stderr};

/// A column of each type with values at its ends, and of text that is hard to write.
const TYPES: [(&str, &str, &[&str]); 27] = [
    ("t1", "TINYINT", &["-128", "127"]),
    ("t2", "TINYINT UNSIGNED", &["0", "255"]),
    ("i1", "INT(10) ZEROFILL", &["7", "4294967295"]),
    (
        "b1",
        "BIGINT",
        &["-9223372036854775808", "9223372036854775807"],
    ),
    ("b2", "BIGINT UNSIGNED", &["0", "18446744073709551615"]),
    (
        "f1",
        "FLOAT",
        &["0.1", "-3.4028234663852886e38", "1.17549435e-38"],
    ),
    (
        "d1",
        "DOUBLE",
        &["0.1", "1.7976931348623157e308", "-2.2250738585072014e-308"],
    ),
    (
        "m1",
        "DECIMAL(65,30)",
        &[
            "-99999999999999999999999999999999999.999999999999999999999999999999",
            "0",
        ],
    ),
    (
        "a1",
        "DATE",
        &["'9999-12-31'", "'0000-00-00'", "'2024-00-31'"],
    ),
    (
        "a2",
        "DATETIME(6)",
        &["'9999-12-31 23:59:59.999999'", "'0000-00-00 00:00:00'"],
    ),
    // In local time this hour comes twice.
    (
        "a3",
        "TIMESTAMP(6) NULL",
        &[
            "'2023-10-29 00:30:00'",
            "'2023-10-29 01:30:00'",
            "'2038-01-19 03:14:07.999999'",
        ],
    ),
    (
        "a4",
        "TIME(6)",
        &["'-838:59:59'", "'838:59:59'", "'00:00:00.000001'"],
    ),
    ("y1", "YEAR", &["'0000'", "'1901'", "'2155'"]),
    ("k1", "BIT(1)", &["0", "1"]),
    ("k2", "BIT(64)", &["18446744073709551615", "48"]),
    (
        "s1",
        "VARCHAR(200) CHARACTER SET utf8mb4",
        &[
            "''",
            "'\\\\N'",
            "'\\\\\\\\N'",
            "'NULL'",
            "'a,b'",
            "'a\"b'",
            "'it''s \\\\ '",
            "'\\t\\n\\r\\0'",
            "'😀 é'",
            "' '",
            "'\\n'",
            "'{}'",
        ],
    ),
    ("s2", "VARCHAR(20) CHARACTER SET latin1", &["'é'", "'\\\\'"]),
    ("s3", "CHAR(5)", &["'x'"]),
    ("e1", "ENUM('a','b,c','d\"')", &["'b,c'", "'d\"'"]),
    ("e2", "SET('a','b')", &["''", "'a,b'"]),
    ("x1", "BINARY(3)", &["x'00ff0a'", "x'2c2209'"]),
    (
        "x2",
        "VARBINARY(20)",
        &["x''", "x'5c4e'", "x'5c5c4e'", "x'0d0a'", "x'ff'"],
    ),
    (
        "x3",
        "LONGBLOB",
        &["REPEAT(x'000102095c0a0d22272c', 300)", "x'c3'"],
    ),
    ("x4", "LONGTEXT", &["REPEAT('0123456789\\t\"', 9000)"]),
    (
        "j1",
        "JSON",
        &["'{\"a\": [1, null, \"x\\\\\\\\y\"]}'", "'[]'"],
    ),
    (
        "g1",
        "GEOMETRY",
        &[
            "ST_GeomFromText('POINT(1 -2)')",
            "ST_GeomFromText('LINESTRING(0 0,1 1)', 4326)",
        ],
    ),
    ("c1", "INT DEFAULT 5", &["NULL", "6"]),
];

/// A table with all of these; values that a server refuses are left out.
fn fill(conn: &mut Connection) -> String {
    let columns: Vec<String> = TYPES
        .iter()
        .map(|(name, ty, _)| format!("{name} {ty}"))
        .collect();
    let table = create(
        conn,
        &format!(
            "(id INT AUTO_INCREMENT PRIMARY KEY, {}, g BIGINT AS (b1 + 0) STORED)",
            columns.join(", ")
        ),
    );
    conn.run("SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'")
        .unwrap();
    conn.run(format!("INSERT INTO {table} (id) VALUES (0)"))
        .unwrap();
    for (name, _, values) in TYPES {
        for value in values {
            let inserted = conn.run(format!("INSERT INTO {table} ({name}) VALUES ({value})"));
            if let Err(error) = inserted {
                lacks(&format!("{name} = {value}"), &error.to_string());
            }
        }
    }
    table
}

#[test]
fn every_value_survives_every_format_and_method() {
    let mut conn = connect();
    let table = fill(&mut conn);
    let expected = checksum(&mut conn, &table);
    let copy = format!("{table}_copy");
    conn.run(format!("CREATE TABLE {copy} LIKE {table}"))
        .unwrap();
    let folder = Folder::new("round-trip");
    let is_on = rows(&mut conn, "SELECT @@local_infile") == ["1"];
    for (format, methods) in [
        ("csv", &["auto", "insert"][..]),
        ("tsv", &["auto", "insert", "infile"]),
        ("ndjson", &["auto", "insert"]),
    ] {
        let file = folder.path(&format!("all.{format}"));
        run("dump", &[&table, "-o", &file]);
        for method in methods {
            if *method == "infile" && !is_on {
                lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
                continue;
            }
            for batch in ["1000", "7"] {
                conn.run(format!("TRUNCATE {copy}")).unwrap();
                run(
                    "load",
                    &[&copy, &file, "--method", method, "--batch", batch],
                );
                same(&mut conn, &table, &copy, &format!("{format} by {method}"));
                assert_eq!(checksum(&mut conn, &copy), expected, "{format} by {method}");
            }
        }
    }
    let file = folder.path("all.sql");
    run("dump", &[&table, "--into", &copy, "-o", &file]);
    conn.run(format!("TRUNCATE {copy}")).unwrap();
    let script = std::fs::read(&file).unwrap();
    let output = run_input("sql", &[], &script);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    same(&mut conn, &table, &copy, "sql");
    conn.run(format!("DROP TABLE {table}, {copy}")).unwrap();
}

/// Says which column differs, which a checksum does not.
fn same(conn: &mut Connection, table: &str, copy: &str, what: &str) {
    let count = rows(conn, &format!("SELECT COUNT(*) FROM {copy}"));
    assert_eq!(
        count,
        rows(conn, &format!("SELECT COUNT(*) FROM {table}")),
        "{what}"
    );
    for (name, ..) in TYPES {
        let value = |alias| match name {
            "f1" => format!("({alias}.f1 + 0e0)"),
            _ => format!("CAST({alias}.{name} AS BINARY)"),
        };
        let sql = format!(
            "SELECT a.id, HEX(a.{name}), HEX(b.{name}) FROM {table} a JOIN {copy} b USING (id) WHERE NOT {} <=> {} LIMIT 3",
            value("a"),
            value("b")
        );
        assert_eq!(rows(conn, &sql), [""; 0], "{name} by {what}");
    }
}

#[test]
fn many_rows_go_through_a_pipe() {
    let rows_count = if std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1") {
        1_000_000
    } else {
        20_000
    };
    let mut conn = connect();
    let table = create(
        &mut conn,
        "(id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2))",
    );
    conn.run(format!(
        "INSERT INTO {table} SELECT seq, CONCAT('name of ', seq), seq / 7 FROM seq_1_to_{rows_count}"
    ))
    .or_else(|_| conn.run(format!("INSERT INTO {table} WITH RECURSIVE s(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM s WHERE seq < 1000) SELECT seq, CONCAT('name of ', seq), seq / 7 FROM s")))
    .unwrap();
    let copy = create(
        &mut conn,
        "(id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2))",
    );
    let dumped = run("dump", &[&table]);
    let output = run_input("load", &[&copy, "-"], &dumped);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(checksum(&mut conn, &copy), checksum(&mut conn, &table));
    conn.run(format!("DROP TABLE {table}, {copy}")).unwrap();
}

#[test]
fn a_query_is_dumped_in_every_format() {
    let sql = "SELECT 1 AS a, 'x\"y' AS b, NULL AS c, CAST('z' AS BINARY) AS d";
    for (format, expected) in [
        ("csv", "a,b,c,d\r\n1,\"x\"\"y\",\\N,z\r\n"),
        ("tsv", "a\tb\tc\td\n1\tx\"y\t\\N\tz\n"),
        (
            "json",
            "[\n{\"a\":1,\"b\":\"x\\\"y\",\"c\":null,\"d\":{\"base64\":\"eg==\"}}\n]\n",
        ),
        (
            "ndjson",
            "{\"a\":1,\"b\":\"x\\\"y\",\"c\":null,\"d\":{\"base64\":\"eg==\"}}\n",
        ),
    ] {
        let dumped = run("dump", &[sql, "-f", format]);
        assert_eq!(String::from_utf8(dumped).unwrap(), expected, "{format}");
    }
    let dumped = String::from_utf8(run("dump", &[sql, "-f", "sql", "--into", "t"])).unwrap();
    assert!(
        dumped.contains("\nINSERT INTO `t` (`a`, `b`, `c`, `d`) VALUES\n(1,'x\"y',NULL,0x7A);\n"),
        "{dumped}"
    );
}
