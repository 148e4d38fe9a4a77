//! Pipelines: several commands in one write, their replies in order, and servers that answer too much or in disorder.

use onecopy_mysql::{Config, params};
use onecopy_testkit::script::{Script, Talk, Trial, text_row};

use crate::large::{COLUMN, OK, ROWS_END};
use crate::login::{Style, login};
use crate::talk::config;

/// Statement 7, with one parameter and no columns.
const PREPARED: [&[u8]; 2] = [&[0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], COLUMN];
const PREPARE: &[u8] = b"\x16DO ?";
const EXECUTE: &[u8] = b"\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0";
const SYNTAX: &[u8] = b"\xff\x28\x04#42000You have an error";
const DONE: &str = "done: 0 rows, id 0, 0 warnings";
const ERROR: &str = "server error 1064 (42000): You have an error";

fn one_by_one() -> Config {
    let mut config = config();
    config.pipelining = false;
    config
}

/// All results of a pipeline, then a ping.
macro_rules! pipeline {
    ($config:expr) => {
        talk!($config, |conn, log, wait, face| {
            let mut pipeline = conn.pipeline();
            pipeline.query("A")?.query("B")?;
            pipeline.exec("DO ?", &params![5])?;
            pipeline.exec("DO ?", &params![5])?.query("C")?;
            let mut results = wait!(pipeline.send())?;
            loop {
                match wait!(results.next()) {
                    Ok(Some(mut rows)) => {
                        while let Some(row) = wait!(rows.next())? {
                            log.row(&row)?;
                        }
                        log.done(rows.done());
                    }
                    Ok(None) => break,
                    Err(error) if error.server().is_some() => log.line(error.to_string()),
                    Err(error) => return Err(error),
                }
            }
            drop(results);
            wait!(conn.ping())?;
            log.line("pong");
            Ok(())
        })
    };
}

fn rows() -> Vec<Vec<u8>> {
    vec![
        vec![1],
        COLUMN.to_vec(),
        text_row(&[Some(b"one")]),
        text_row(&[Some(b"two")]),
        ROWS_END.to_vec(),
    ]
}

fn replies() -> [Vec<Vec<u8>>; 5] {
    let ok = vec![OK.to_vec()];
    [rows(), vec![SYNTAX.to_vec()], ok.clone(), ok, rows()]
}

const SEEN: [&str; 10] = [
    "one", "two", DONE, ERROR, DONE, DONE, "one", "two", DONE, "pong",
];

const COMMANDS: [&[u8]; 5] = [b"\x03A", b"\x03B", EXECUTE, EXECUTE, b"\x03C"];

fn answered(script: Script, reply: &[Vec<u8>]) -> Script {
    let reply: Vec<&[u8]> = reply.iter().map(Vec::as_slice).collect();
    script.server_packets(1, &reply)
}

#[test]
fn the_replies_of_one_write_come_in_order() {
    let mut script = login(Style::DeprecateEof)
        .command(PREPARE)
        .server_packets(1, &PREPARED);
    for command in COMMANDS {
        script = script.command(command);
    }
    for reply in replies() {
        script = answered(script, &reply);
    }
    let script = script.command(b"\x0e").server_packets(1, &[OK]);
    Trial::new(&script, pipeline!(config()), &SEEN).run();
}

#[test]
fn with_pipelining_off_each_command_waits_for_the_reply_before_it() {
    let mut script = login(Style::DeprecateEof)
        .command(PREPARE)
        .server_packets(1, &PREPARED);
    for (command, reply) in COMMANDS.into_iter().zip(replies()) {
        script = answered(script.command(command), &reply);
    }
    let script = script.command(b"\x0e").server_packets(1, &[OK]);
    Trial::new(&script, pipeline!(one_by_one()), &SEEN).run();
}

#[test]
fn a_text_that_can_not_be_prepared_fails_each_time_and_nothing_else_does() {
    let mut script = login(Style::DeprecateEof)
        .command(PREPARE)
        .server_packets(1, &[SYNTAX]);
    for command in [&b"\x03A"[..], b"\x03B", b"\x03C"] {
        script = script.command(command);
    }
    let script = script
        .server_packets(1, &[OK])
        .server_packets(1, &[OK])
        .server_packets(1, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let seen = [DONE, DONE, ERROR, ERROR, DONE, "pong"];
    Trial::new(&script, pipeline!(config()), &seen).run();
}

/// Two statements, of whose results not all are read.
fn left_early() -> Talk {
    talk!(|conn, log, wait, face| {
        let mut pipeline = conn.pipeline();
        pipeline.query("A")?.query("B")?.query("C")?;
        let mut results = wait!(pipeline.send())?;
        let mut rows = wait!(results.next())?.unwrap();
        log.row(&wait!(rows.next())?.unwrap())?;
        let mut rows = wait!(results.next())?.unwrap();
        log.row(&wait!(rows.next())?.unwrap())?;
        drop(results);
        log.done(wait!(conn.run("D"))?);
        Ok(())
    })
}

#[test]
fn results_that_nobody_reads_are_skipped() {
    let mut script = login(Style::DeprecateEof)
        .command(b"\x03A")
        .command(b"\x03B")
        .command(b"\x03C");
    for _ in 0..3 {
        script = answered(script, &rows());
    }
    let script = script.command(b"\x03D").server_packets(1, &[OK]);
    Trial::new(&script, left_early(), &["one", "one", DONE]).run();
}

#[test]
fn a_reply_out_of_order_closes_the_connection() {
    let reply = rows();
    let reply: Vec<&[u8]> = reply.iter().map(Vec::as_slice).collect();
    let script = login(Style::DeprecateEof)
        .command(b"\x03A")
        .command(b"\x03B")
        .command(b"\x03C")
        .server_packets(1, &reply)
        .server_packets(6, &reply)
        .server_packets(1, &reply);
    let seen = Trial::see(&script, left_early());
    let expected = "Frame(Sequence { expected: 1, found: 6 })";
    assert_eq!(seen, ["one", expected]);
}
