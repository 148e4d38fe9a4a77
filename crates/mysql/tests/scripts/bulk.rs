//! Bulk executions, laid out after the command's page, and the statements that stand in for them.

use onecopy_mysql::{BulkMethod, BulkOptions, Param, params};
use onecopy_testkit::script::{Script, Trial, text_row};

use crate::large::{COLUMN, OK, ROWS_END};
use crate::login::{Style, login};

const INSERT: &str = "INSERT INTO t VALUES (?, ?)";

/// Statement 5: no columns, two parameters; then their definitions.
const PREPARED: &[u8] = &[0, 5, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0];

/// Rows are two a batch.
fn options() -> BulkOptions {
    let mut options = BulkOptions::default();
    options.max_rows = 2;
    options.max_packet_bytes = Some(1 << 20);
    options
}

fn prepared() -> Script {
    login(Style::DeprecateEof)
        .command(format!("\x16{INSERT}").as_bytes())
        .server_packets(1, &[PREPARED, COLUMN, COLUMN])
        .preamble()
}

/// The command for statement 5 with these two types.
fn bulk(types: [u8; 4], rows: &[u8]) -> Vec<u8> {
    [&[0xFA, 5, 0, 0, 0, 0x80, 0], &types[..], rows].concat()
}

const NUMBER_AND_TEXT: [u8; 4] = [0x08, 0, 0xFD, 0];

/// OK of so many rows.
fn ok(rows: u8) -> [u8; 7] {
    [0, rows, 0, 2, 0, 0, 0]
}

/// The statement was dropped with the bulk: that goes with a ping.
fn closed_and_pinged(script: Script) -> Script {
    script
        .client(b"\x05\0\0\0\x19\x05\0\0\0\x01\0\0\0\x0e")
        .server_packets(1, &[OK])
}

#[test]
fn rows_are_executed_in_batches_and_the_types_sent_with_each() {
    let talk = talk!(|conn, log, wait, face| {
        let mut bulk = wait!(conn.bulk_with(INSERT, &options()))?;
        wait!(bulk.push(&params![7, "hi"]))?;
        wait!(bulk.push(&params![None::<i64>, Param::Default]))?;
        wait!(bulk.push(&params![8, Param::Ignore]))?;
        log.line(format!(
            "{} rows, {} stored",
            bulk.rows(),
            bulk.rows_stored()
        ));
        log.done(wait!(bulk.finish())?);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let first = bulk(NUMBER_AND_TEXT, b"\0\x07\0\0\0\0\0\0\0\0\x02hi\x01\x02");
    // Of the second column nothing is known in this batch: it goes as text.
    let second = bulk(NUMBER_AND_TEXT, b"\0\x08\0\0\0\0\0\0\0\x03");
    let script = prepared()
        .command(&first)
        .server_packets(1, &[&ok(2)])
        .command(&second)
        .server_packets(1, &[&ok(1)]);
    let seen = ["3 rows, 0 stored", "done: 3 rows, id 0, 0 warnings", "pong"];
    Trial::new(&closed_and_pinged(script), talk, &seen).run();
}

#[test]
fn a_value_of_another_kind_begins_a_batch() {
    let talk = talk!(|conn, log, wait, face| {
        let mut bulk = wait!(conn.bulk_with(INSERT, &options()))?;
        wait!(bulk.push(&params![1, "a"]))?;
        wait!(bulk.push(&params![2, 3]))?;
        log.done(wait!(bulk.finish())?);
        Ok(())
    });
    let script = prepared()
        .command(&bulk(NUMBER_AND_TEXT, b"\0\x01\0\0\0\0\0\0\0\0\x01a"))
        .server_packets(1, &[&ok(1)])
        .command(&bulk(
            [0x08, 0, 0x08, 0],
            b"\0\x02\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0",
        ))
        .server_packets(1, &[&ok(1)]);
    Trial::new(&script, talk, &["done: 2 rows, id 0, 0 warnings"]).run();
}

#[test]
fn rows_of_returning_are_passed_over() {
    let talk = talk!(|conn, log, wait, face| {
        let mut bulk = wait!(conn.bulk_with(INSERT, &options()))?;
        wait!(bulk.push(&params![1, "a"]))?;
        log.done(wait!(bulk.finish())?);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let row: &[u8] = &[0, 0, 3, b'a', b'b', b'c'];
    let script = prepared()
        .command(&bulk(NUMBER_AND_TEXT, b"\0\x01\0\0\0\0\0\0\0\0\x01a"))
        .server_packets(1, &[&[1], COLUMN, row, row, ROWS_END]);
    let seen = ["done: 0 rows, id 0, 0 warnings", "pong"];
    Trial::new(&closed_and_pinged(script), talk, &seen).run();
}

#[test]
fn an_error_names_the_rows_of_its_batch_and_ends_the_bulk() {
    let talk = talk!(|conn, log, wait, face| {
        let mut bulk = wait!(conn.bulk_with(INSERT, &options()))?;
        for id in 1..4 {
            wait!(bulk.push(&params![id, "a"]))?;
        }
        let error = wait!(bulk.push(&params![4, "a"])).unwrap_err();
        if error.server().is_none() {
            return Err(error);
        }
        assert_eq!(error.bulk_rows(), Some(0..2));
        log.line(error.to_string());
        let error = wait!(bulk.push(&params![5, "a"])).unwrap_err();
        log.line(error.to_string());
        drop(bulk);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let row = |id: u8| [&[0, id][..], &[0; 8], &[1, b'a']].concat();
    let script = prepared()
        .command(&bulk(NUMBER_AND_TEXT, &[row(1), row(2)].concat()))
        .server_packets(1, &[b"\xff\x26\x04#23000Duplicate entry"]);
    let seen = [
        "server error 1062 (23000): Duplicate entry (rows 1 to 2)",
        "the bulk is over: an earlier call failed",
        "pong",
    ];
    Trial::new(&closed_and_pinged(script), talk, &seen).run();
}

#[test]
fn a_bulk_that_is_dropped_leaves_its_result_to_the_next_command() {
    let talk = talk!(|conn, log, wait, face| {
        let mut bulk = wait!(conn.bulk_with(INSERT, &options()))?;
        for id in 1..4 {
            wait!(bulk.push(&params![id, "a"]))?;
        }
        drop(bulk);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let row = |id: u8| [&[0, id][..], &[0; 8], &[1, b'a']].concat();
    let script = prepared()
        .command(&bulk(NUMBER_AND_TEXT, &[row(1), row(2)].concat()))
        .server_packets(1, &[&ok(2)]);
    Trial::new(&closed_and_pinged(script), talk, &["pong"]).run();
}

#[test]
fn rows_as_one_statement_and_the_servers_largest_packet_asked_for_once() {
    let talk = talk!(|conn, log, wait, face| {
        for _ in 0..2 {
            let mut options = BulkOptions::default();
            options.method = BulkMethod::Insert;
            let mut bulk = wait!(conn.bulk_with(INSERT, &options))?;
            wait!(bulk.push(&params![1, "it's"]))?;
            wait!(bulk.push(&params![Param::Default, "b"]))?;
            // Three rows would have more bytes than a packet. One with DEFAULT is sent as text behind the first batch, too.
            wait!(bulk.push(&params![Param::Default, "c"]))?;
            log.done(wait!(bulk.finish())?);
        }
        Ok(())
    });
    let mut column = COLUMN.to_vec();
    column[17] = 8; // BIGINT
    let asked = login(Style::DeprecateEof)
        .command(b"\x03SELECT @@max_allowed_packet")
        .server_packets(1, &[&[1], &column, &text_row(&[Some(b"56")]), ROWS_END]);
    let bulk = |script: Script| {
        script
            .command(b"\x03INSERT INTO t VALUES (1, 'it''s'),(DEFAULT, 'b')")
            .server_packets(1, &[&ok(2)])
            .command(b"\x03INSERT INTO t VALUES (DEFAULT, 'c')")
            .server_packets(1, &[&ok(1)])
    };
    let done = "done: 3 rows, id 0, 0 warnings";
    Trial::new(&bulk(bulk(asked)), talk, &[done, done]).run();
}

#[test]
fn default_and_ignore_are_refused_by_an_ordinary_execution() {
    let talk = talk!(|conn, log, wait, face| {
        let mut options = options();
        options.method = BulkMethod::Execute;
        let statement = wait!(conn.prepare(INSERT))?;
        log.refused(wait!(conn.execute(&statement, &params![1, Param::Default])))?;
        log.refused(wait!(conn.execute(&statement, &params![Param::Ignore, 1])))?;
        let error = wait!(conn.bulk_with("INSERT INTO t VALUES (1)", &options))
            .map(drop)
            .unwrap_err();
        if error.is_closed() || error.is_timeout() {
            return Err(error);
        }
        log.line(error.to_string());
        Ok(())
    });
    let none: &[u8] = &[0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let script = prepared()
        .command(b"\x16INSERT INTO t VALUES (1)")
        .server_packets(1, &[none]);
    let seen = [
        "refused: BulkOnly { parameter: 1 }",
        "refused: BulkOnly { parameter: 0 }",
        "the statement of a bulk needs a ? for each value of a row, as in INSERT INTO t VALUES (?, ?)",
    ];
    Trial::new(&script, talk, &seen).run();
}
