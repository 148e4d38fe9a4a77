//! Statements that are not UTF-8, as in a dump of binary columns.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::params;
use onecopy_testkit::mariadb_dump;
use onecopy_testkit::server::{Server, ServerKind, lacks};

use crate::{onecopy, sql_input, stderr, url};

const TABLE: &str = "dumped";

#[test]
fn a_dump_of_binary_columns_is_loaded_byte_for_byte() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    fill(&mut conn);
    let expected = checksum(&mut conn);
    let Some(dump) = dump(&server) else {
        return;
    };
    assert!(std::str::from_utf8(&dump).is_err());
    conn.run(format!("DROP TABLE {TABLE}")).unwrap();

    let mut child = onecopy()
        .args([&server.url(), "-q"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed early where a statement fails.
    let _ = child.stdin.take().unwrap().write_all(&dump);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(checksum(&mut conn), expected);
}

fn fill(conn: &mut Connection) {
    conn.run(format!(
        "CREATE TABLE {TABLE} (id INT PRIMARY KEY, bytes LONGBLOB, old TEXT CHARACTER SET latin1, new TEXT CHARACTER SET \
         utf8mb4, bits BIT(9), place POINT)"
    ))
    .unwrap();
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let large = all.repeat(4 << 10);
    let texts = [
        "it's; \"quoted\" \\ `café`",
        "-- no comment\n/* nor this",
        "😀",
    ];
    let insert = conn
        .prepare(format!(
            "INSERT INTO {TABLE} VALUES (?, ?, 'café', ?, 257, ST_GeomFromText('POINT(1 -2)'))"
        ))
        .unwrap();
    for id in 0..30_u8 {
        let bytes = if id == 7 { &large } else { &all };
        let params = params![id, bytes, texts[usize::from(id) % texts.len()]];
        conn.execute(&insert, &params).unwrap().finish().unwrap();
    }
    conn.run(format!("INSERT INTO {TABLE} (id) VALUES (-1)"))
        .unwrap();
}

fn checksum(conn: &mut Connection) -> u64 {
    let sql = format!("CHECKSUM TABLE {TABLE} EXTENDED");
    let mut rows = conn.query(sql).unwrap();
    let row = rows.next().unwrap().unwrap();
    row.get(1).unwrap()
}

/// What `mariadb-dump` writes. It is MariaDB's, and may fail on a server that is not, which is said.
fn dump(server: &Server) -> Option<Vec<u8>> {
    let output = Command::new(mariadb_dump().unwrap())
        .args(["--no-defaults", "--user=root", "--socket"])
        .arg(server.socket())
        .args(["test", TABLE])
        .env("MYSQL_PWD", server.root_password())
        .output()
        .unwrap();
    if output.status.success() {
        return Some(output.stdout);
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(server.kind(), ServerKind::MySql, "{reason}");
    lacks("mariadb-dump", &reason);
    None
}

#[test]
fn a_statement_that_is_not_utf_8_is_sent_as_it_is() {
    let statement = b"SELECT HEX(_latin1'\xE9') AS hex";
    let output = onecopy()
        .arg(url())
        .arg(OsStr::from_bytes(statement))
        .output()
        .unwrap();
    assert_eq!(
        (output.stdout.as_slice(), stderr(&output)),
        (&b"hex\nE9\n"[..], "")
    );
    let output = sql_input(&[], statement);
    assert_eq!(output.stdout, b"hex\nE9\n");
}

#[test]
fn an_error_shows_the_start_of_a_statement_that_is_not_utf_8() {
    let output = sql_input(&[], b"SELECT 1;\nSELECT bogus, _binary'\xFF\xFE'");
    let said = stderr(&output);
    assert!(
        said.contains(
            "at: statement 2, line 2 of the input: SELECT bogus, _binary'\u{FFFD}\u{FFFD}'\n"
        ),
        "{said}"
    );
}
