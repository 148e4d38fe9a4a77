//! A value that is read from one table and inserted into another one is the same to the server, byte for byte.

use onecopy_mysql::{Config, OwnedRow, Param, ProtocolError, Statement, Value};

use super::Connection;
use crate::common::{offered, urls};

/// Column types, and SQL that makes values of them.
const TYPES: &[(&str, &[&str])] = &[
    ("VARCHAR(20) CHARACTER SET latin1", &["'café'", "'€'", "''"]),
    ("CHAR(20) CHARACTER SET latin1", &["'Ünï'"]),
    ("TEXT CHARACTER SET latin1", &["'café'"]),
    ("VARCHAR(20) CHARACTER SET ascii", &["'cafe'"]),
    ("VARCHAR(20) CHARACTER SET cp1251", &["'кафе'"]),
    ("VARCHAR(20) CHARACTER SET sjis", &["'カフェ'"]),
    ("VARCHAR(20) CHARACTER SET gbk", &["'咖啡'"]),
    ("VARCHAR(20) CHARACTER SET gb18030", &["'咖啡😀'"]),
    ("VARCHAR(20) CHARACTER SET ucs2", &["'café'", "'€'"]),
    ("VARCHAR(20) CHARACTER SET utf16", &["'café'", "'😀'"]),
    ("VARCHAR(20) CHARACTER SET utf16le", &["'café'", "'😀'"]),
    ("VARCHAR(20) CHARACTER SET utf32", &["'café'", "'😀'"]),
    ("VARCHAR(20) CHARACTER SET utf8mb3", &["'café'", "'€'"]),
    ("VARCHAR(20) CHARACTER SET utf8mb4", &["'café'", "'😀'"]),
    ("TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", &["'😀'"]),
    ("ENUM('a', 'ß', 'é') CHARACTER SET latin1", &["'é'", "'ß'"]),
    ("ENUM('a', 'é') CHARACTER SET ucs2", &["'é'"]),
    ("SET('x', 'é', 'ß') CHARACTER SET latin1", &["'x,ß'", "''"]),
    ("SET('x', 'é') CHARACTER SET utf16", &["'x,é'"]),
    ("JSON", &["'{\"a\": \"café\"}'", "'[\"😀\", 1.5, null]'"]),
    ("UUID", &["'123e4567-e89b-12d3-a456-426655440000'"]),
    ("INET6", &["'::'", "'2001:db8::1'", "'fe80::1:2:3:4:56'"]),
    ("INET4", &["'192.0.2.1'", "'1.1.1.1'"]),
    ("VARBINARY(20)", &["x'00FF80C3A9'", "''", "'café'"]),
    ("BINARY(4)", &["x'FF00'", "'ab'"]),
    ("BLOB", &["x'00FF80C3A9'"]),
    ("ENUM('a', 'é') CHARACTER SET binary", &["'é'"]),
    ("GEOMETRY", &["ST_GeomFromText('POINT(1 -2)', 4326)"]),
    ("POINT", &["ST_GeomFromText('POINT(1 -2)')"]),
    ("BIT(64)", &["b'1'", "x'FF00000000000001'"]),
    ("BIT(9)", &["b'100000001'"]),
    ("BIGINT", &["-9223372036854775808"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    (
        "DECIMAL(65,30)",
        &["-12345678901234567890.000000000000000000000000000001"],
    ),
    ("DOUBLE", &["0.1", "1e308"]),
    ("YEAR", &["0", "1999"]),
    ("DATE", &["'2024-02-29'", "'9999-12-31'"]),
    ("DATETIME(6)", &["'2024-02-29 01:02:03.000004'"]),
    ("TIMESTAMP(6) NULL", &["'2024-02-29 01:02:03.000004'"]),
    ("TIME(6)", &["'-837:59:58.999999'"]),
];

/// Two servers' own ways to make the same vector.
const VECTORS: [&str; 2] = [
    "STRING_TO_VECTOR('[1,2.5,-3]')",
    "VEC_FromText('[1,2.5,-3]')",
];

#[tokio::test]
async fn a_value_of_any_type_can_be_copied_to_another_table() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for (ty, values) in TYPES {
            if make_tables(&mut conn, ty).await {
                copy(&mut conn, ty, values).await;
            }
        }
        if make_tables(&mut conn, "VECTOR(3)").await {
            let mysqls = wait!(conn.run(format!("DO {}", VECTORS[0]))).is_ok();
            let vector = VECTORS[usize::from(!mysqls)];
            copy(&mut conn, "VECTOR(3)", &[vector]).await;
        }
    }
}

#[tokio::test]
async fn text_in_another_character_set_is_copied_too_or_refused() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    make_tables(&mut conn, "VARCHAR(20) CHARACTER SET utf16").await;
    wait!(conn.run("INSERT INTO source (v) VALUES ('café'), ('plain')")).unwrap();
    let expected = bytes_on_the_server(&mut conn, "source").await;
    let sql = "SELECT v FROM source ORDER BY id";
    let utf8mb4 = "SET NAMES utf8mb4";
    let latin1 = "SET NAMES latin1";
    let latin1_client = "SET character_set_client = latin1";
    let unconverted = "SET character_set_results = NULL";
    for (before_reading, before_writing, accented, plain) in [
        (utf8mb4, utf8mb4, true, true),
        (latin1, latin1, true, true),
        (latin1, utf8mb4, false, true),
        (utf8mb4, latin1, false, true),
        (utf8mb4, latin1_client, false, true),
        // What comes is utf16 then: two bytes per ASCII character.
        (unconverted, utf8mb4, false, false),
    ] {
        let case = format!("{before_reading}, {before_writing}");
        wait!(conn.run("DELETE FROM copied")).unwrap();
        wait!(conn.run(before_reading)).unwrap();
        let rows = read(&mut conn, sql, None).await;
        wait!(conn.run(before_writing)).unwrap();
        let insert = wait!(conn.prepare("INSERT INTO copied (v) VALUES (?)")).unwrap();
        for (row, is_sent) in rows.iter().zip([accented, plain]) {
            let sent = conn.meter().bytes_written;
            let params = [Param::from(row.value(0).unwrap())];
            match wait!(conn.execute(&insert, &params)) {
                Ok(rows) => drop(wait!(rows.finish()).unwrap()),
                Err(error) => {
                    let Some(ProtocolError::CharacterSet { parameter: 0, .. }) = error.protocol()
                    else {
                        panic!("{case}: {error}");
                    };
                    assert!(!error.is_closed(), "{case}");
                    assert_eq!(conn.meter().bytes_written, sent, "{case}");
                }
            }
            assert_eq!(conn.meter().bytes_written != sent, is_sent, "{case}");
        }
        wait!(conn.run(utf8mb4)).unwrap();
        let copied = bytes_on_the_server(&mut conn, "copied").await;
        let rows = expected.iter().zip([accented, plain]);
        let expected: Vec<_> = rows
            .filter(|(_, is_sent)| *is_sent)
            .map(|(v, _)| v.clone())
            .collect();
        assert_eq!(copied, expected, "{case}");
    }
}

#[tokio::test]
async fn a_reset_and_a_change_of_user_bring_the_character_set_back() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let config = Config::from_url(&urls()[0]).unwrap();
    for changes_user in [false, true] {
        wait!(conn.run("SET NAMES latin1")).unwrap();
        if changes_user {
            let database = config.database.as_deref();
            wait!(conn.change_user(&config.user, config.password.clone(), database)).unwrap();
        } else {
            wait!(conn.reset()).unwrap();
        }
        let select = wait!(conn.prepare("SELECT HEX(CONVERT(? USING utf8mb4))")).unwrap();
        let params = [Param::from(Value::from("é"))];
        let mut rows = wait!(conn.execute(&select, &params)).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<&str>(0).unwrap(), "C3A9", "{changes_user}");
        wait!(rows.finish()).unwrap();
    }
}

/// MariaDB sends the definitions of a prepared statement's results once, and not again where only
/// `character_set_results` has changed since.
#[tokio::test]
async fn text_is_never_copied_as_what_it_is_not() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    make_tables(&mut conn, "VARCHAR(20) CHARACTER SET utf8mb4").await;
    wait!(conn.run("INSERT INTO source (v) VALUES ('café')")).unwrap();
    let select = wait!(conn.prepare("SELECT v FROM source")).unwrap();
    let insert = wait!(conn.prepare("INSERT INTO copied (v) VALUES (?)")).unwrap();
    read(&mut conn, "", Some(&select)).await;
    wait!(conn.run("SET character_set_results = latin1")).unwrap();
    let rows = read(&mut conn, "", Some(&select)).await;
    let params = [Param::from(rows[0].value(0).unwrap())];
    let error = wait!(conn.execute(&insert, &params)).unwrap_err();
    assert!(
        matches!(error.protocol(), Some(ProtocolError::CharacterSet { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn text_from_a_reader_is_converted_and_bytes_are_not() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    make_tables(&mut conn, "TEXT CHARACTER SET utf16").await;
    let insert = wait!(conn.prepare("INSERT INTO copied (v) VALUES (?)")).unwrap();
    for (param, bytes) in [
        (Param::LongText, Some("00E900DF".into())),
        (Param::LongData, Some("C3A9C39F".into())),
    ] {
        wait!(conn.run("DELETE FROM copied")).unwrap();
        wait!(conn.send_long_data(&insert, 0, "éß".as_bytes())).unwrap();
        let rows = wait!(conn.execute(&insert, &[param])).unwrap();
        wait!(rows.finish()).unwrap();
        assert_eq!(bytes_on_the_server(&mut conn, "copied").await, [bytes]);
    }
}

/// The tables `source` and `copied` with a column of this type; false where the server lacks it, which is said.
async fn make_tables(conn: &mut Connection, ty: &str) -> bool {
    wait!(conn.run("DROP TEMPORARY TABLE IF EXISTS source, copied")).unwrap();
    let columns = format!("(id INT AUTO_INCREMENT PRIMARY KEY, v {ty})");
    let made = wait!(conn.run(format!("CREATE TEMPORARY TABLE source {columns}")));
    if !offered(ty, made) {
        return false;
    }
    wait!(conn.run(format!("CREATE TEMPORARY TABLE copied {columns}"))).unwrap();
    true
}

async fn copy(conn: &mut Connection, ty: &str, values: &[&str]) {
    for value in values.iter().chain(&["NULL"]) {
        let insert = format!("INSERT INTO source (v) VALUES ({value})");
        let done = wait!(conn.run(&insert)).unwrap();
        assert_eq!(done.warnings, 0, "{ty} {value}");
    }
    let expected = bytes_on_the_server(conn, "source").await;
    assert_eq!(expected.len(), values.len() + 1);
    let sql = "SELECT v FROM source ORDER BY id";
    let select = wait!(conn.prepare(sql)).unwrap();
    let insert = wait!(conn.prepare("INSERT INTO copied (v) VALUES (?)")).unwrap();
    for binary in [false, true] {
        wait!(conn.run("DELETE FROM copied")).unwrap();
        let rows = read(conn, sql, binary.then_some(&select)).await;
        for row in &rows {
            let param = Param::from(row.value(0).unwrap());
            let rows = wait!(conn.execute(&insert, &[param])).unwrap();
            let done = wait!(rows.finish()).unwrap();
            assert_eq!(done.warnings, 0, "{ty}, binary {binary}");
        }
        let found = bytes_on_the_server(conn, "copied").await;
        assert_eq!(found, expected, "{ty}, binary {binary}");
    }
}

/// What a column's bytes are on the server, in no character set of ours.
async fn bytes_on_the_server(conn: &mut Connection, table: &str) -> Vec<Option<String>> {
    let sql = format!("SELECT HEX(v) FROM {table} ORDER BY id");
    let rows = read(conn, &sql, None).await;
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

/// The rows of a query, or of a statement where there is one.
async fn read(conn: &mut Connection, sql: &str, statement: Option<&Statement>) -> Vec<OwnedRow> {
    let mut rows = match statement {
        Some(statement) => wait!(conn.execute(statement, &[])).unwrap(),
        None => wait!(conn.query(sql)).unwrap(),
    };
    let all = wait!(rows.collect_owned()).unwrap();
    wait!(rows.finish()).unwrap();
    all
}
