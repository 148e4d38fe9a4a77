//! Cursors: rows fetched in batches, in both styles of EOF, and servers that have none or lie about them.

use onecopy_testkit::script::{Script, Talk, Trial};

use crate::large::{COLUMN, OK};
use crate::login::{Style, login, mysql_response};

const EXECUTE: &[u8] = b"\x17\x07\0\0\0\x01\x01\0\0\0";
const FETCH: &[u8] = b"\x1c\x07\0\0\0\x02\0\0\0";
const RESET: &[u8] = b"\x1a\x07\0\0\0";

/// Autocommit, and whether there is a cursor, and whether its last row was sent.
const PLAIN: u8 = 0x02;
const CURSOR: u8 = 0x42;
const LAST: u8 = 0xC2;

/// What ends definitions or rows.
fn end(style: Style, status: u8) -> Vec<u8> {
    match style {
        Style::Eof => vec![0xFE, 0, 0, status, 0],
        _ => vec![0xFE, 0, 0, status, 0, 0, 0],
    }
}

fn row(letter: u8) -> Vec<u8> {
    vec![0, 0, 1, letter]
}

fn sent(script: Script, packets: &[Vec<u8>]) -> Script {
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    script.server_packets(1, &packets)
}

fn prepared(style: Style) -> Script {
    let mut reply = vec![vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], COLUMN.to_vec()];
    if matches!(style, Style::Eof) {
        reply.push(end(style, PLAIN));
    }
    sent(login(style).command(b"\x16SELECT"), &reply)
}

/// The execution that opens a cursor.
fn opened(style: Style) -> Script {
    let reply = [vec![1], COLUMN.to_vec(), end(style, CURSOR)];
    sent(prepared(style).command(EXECUTE), &reply)
}

fn fetch_all() -> Talk {
    talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut cursor = wait!(conn.cursor(&statement, &[], 2))?;
        while let Some(mut rows) = wait!(cursor.next_batch())? {
            log.line("batch");
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
        }
        drop(cursor);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    })
}

#[test]
fn rows_come_in_batches_up_to_the_last() {
    for style in [Style::Eof, Style::DeprecateEof] {
        let script = opened(style).command(FETCH);
        let script = sent(script, &[row(b'a'), row(b'b'), end(style, CURSOR)]).command(FETCH);
        let script = sent(script, &[row(b'c'), end(style, LAST)])
            .command(b"\x0e")
            .server_packets(1, &[OK]);
        let seen = ["batch", "a", "b", "batch", "c", "pong"];
        Trial::new(&script, fetch_all(), &seen).run();
    }
}

#[test]
fn a_server_without_a_cursor_sends_all_rows() {
    for style in [Style::Eof, Style::DeprecateEof] {
        let mut reply = vec![vec![1], COLUMN.to_vec()];
        if matches!(style, Style::Eof) {
            reply.push(end(style, PLAIN));
        }
        let without_rows = reply.clone();
        reply.extend([row(b'a'), row(b'b'), row(b'c')]);
        for (mut reply, letters) in [(reply, &["a", "b", "c"][..]), (without_rows, &[])] {
            reply.push(end(style, PLAIN));
            let script = sent(prepared(style).command(EXECUTE), &reply)
                .command(b"\x0e")
                .server_packets(1, &[OK]);
            let seen = [&["batch"], letters, &["pong"]].concat();
            Trial::new(&script, fetch_all(), &seen).run();
        }
    }
}

#[test]
fn a_cursor_that_is_dropped_is_closed_before_the_next_command() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut cursor = wait!(conn.cursor(&statement, &[], 2))?;
        let mut rows = wait!(cursor.next_batch())?.unwrap();
        log.row(&wait!(rows.next())?.unwrap())?;
        drop(cursor);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    for style in [Style::Eof, Style::DeprecateEof] {
        let script = opened(style).command(FETCH);
        let script = sent(script, &[row(b'a'), row(b'b'), end(style, CURSOR)])
            .command(RESET)
            .server_packets(1, &[OK])
            .command(b"\x0e")
            .server_packets(1, &[OK]);
        Trial::new(&script, talk, &["a", "pong"]).run();
    }
}

#[test]
fn a_fetch_that_fails_is_the_rows_error_and_the_cursor_is_closed() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut cursor = wait!(conn.cursor(&statement, &[], 2))?;
        let mut rows = wait!(cursor.next_batch())?.unwrap();
        log.server(wait!(rows.next()))?;
        drop(cursor);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = opened(Style::DeprecateEof)
        .command(FETCH)
        .server_packets(1, &[b"\xff\xdb\x04#HY000Unknown statement"])
        .command(RESET)
        .server_packets(1, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let error = "server error 1243 (HY000): Unknown statement";
    Trial::new(&script, talk, &[error, "pong"]).run();
}

#[test]
fn what_is_no_row_is_refused_in_a_batch() {
    for reply in [
        &b"\0"[..],
        b"\0\0\x05a",
        b"\x03def",
        b"\xfb/etc/passwd",
        b"\x01",
    ] {
        let script = opened(Style::DeprecateEof)
            .command(FETCH)
            .server_packets(1, &[reply]);
        let seen = Trial::see(&script, fetch_all());
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(
            seen[1].contains("Decode") || seen[1].contains("Unexpected"),
            "{seen:?}"
        );
    }
}

#[test]
fn a_cursor_on_a_result_with_more_to_come_is_none() {
    // As of a procedure that has opened one of its own.
    const OF_PROCEDURE: u8 = CURSOR | 0x08;
    let reply = [
        vec![1],
        COLUMN.to_vec(),
        end(Style::DeprecateEof, OF_PROCEDURE),
        OK.to_vec(),
    ];
    let script = sent(prepared(Style::DeprecateEof).command(EXECUTE), &reply)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    Trial::new(&script, fetch_all(), &["batch", "pong"]).run();
}

#[test]
fn after_a_cursor_mysql_executes_with_a_cursor_only() {
    const FETCH_ALL: &[u8] = b"\x1c\x07\0\0\0\xff\xff\xff\xff";
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut cursor = wait!(conn.cursor(&statement, &[], 2))?;
        while let Some(mut rows) = wait!(cursor.next_batch())? {
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
        }
        drop(cursor);
        let mut rows = wait!(conn.execute(&statement, &[]))?;
        while let Some(row) = wait!(rows.next())? {
            log.row(&row)?;
        }
        let mut pipeline = conn.pipeline();
        pipeline.execute(&statement, &[])?;
        let mut results = wait!(pipeline.send())?;
        log.line(wait!(results.next()).unwrap_err().to_string());
        drop(results);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let style = Style::DeprecateEof;
    let login = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 03
         S 07 00 00 03 00 00 00 02 00 00 00",
    ));
    let prepared = [vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], COLUMN.to_vec()];
    let opened = [vec![1], COLUMN.to_vec(), end(style, CURSOR)];
    let script = sent(login.preamble().command(b"\x16SELECT"), &prepared);
    let script = sent(script.command(EXECUTE), &opened).command(FETCH);
    let script = sent(script, &[row(b'a'), end(style, LAST)]).command(EXECUTE);
    let script = sent(script, &opened).command(FETCH_ALL);
    let script = sent(script, &[row(b'b'), row(b'c'), end(style, LAST)])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let refused = "the statement was executed with a cursor, and MySQL can't execute it without one any more; prepare another one";
    let seen = ["a", "b", "c", refused, "pong"];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn for_a_statement_without_columns_no_cursor_is_asked_for() {
    const PLAIN_EXECUTE: &[u8] = b"\x17\x07\0\0\0\0\x01\0\0\0";
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("DO 1"))?;
        let mut cursor = wait!(conn.cursor(&statement, &[], 2))?;
        log.line(format!("{}", wait!(cursor.next_batch())?.is_none()));
        Ok(())
    });
    let prepared = [vec![0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]];
    let script = sent(login(Style::DeprecateEof).command(b"\x16DO 1"), &prepared)
        .command(PLAIN_EXECUTE)
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &["true"]).run();
}
