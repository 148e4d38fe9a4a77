//! SQL with parameters: the prepare and the execution in one write, and what a server may answer to them.

use onecopy_mysql::{Config, params};
use onecopy_testkit::script::{Script, Talk, Trial};

use crate::large::{COLUMN, OK};
use crate::login::{Style, login};
use crate::talk::config;

/// Statement 7, with one parameter and no columns.
const PREPARED: [&[u8]; 2] = [&[0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], COLUMN];

/// The same without a parameter, and with another number.
const NO_PARAMETER: &[u8] = &[0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

const SYNTAX: &[u8] = b"\xff\x28\x04#42000You have an error";
const UNKNOWN: &[u8] = b"\xff\xdb\x04#HY000Unknown prepared statement";

const PREPARE: &[u8] = b"\x16DO ?";

/// With the number 5, of the statement that was prepared last and of statement 7.
const EXECUTE_LAST: &[u8] = b"\x17\xff\xff\xff\xff\0\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0";
const EXECUTE_7: &[u8] = b"\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0";

macro_rules! exec_twice {
    ($config:expr) => {
        talk!($config, |conn, log, wait, face| {
            for _ in 0..2 {
                log.done(wait!(wait!(conn.exec("DO ?", &params![5]))?.finish())?);
            }
            wait!(conn.ping())?;
            log.line("pong");
            Ok(())
        })
    };
}

fn exec_twice() -> Talk {
    exec_twice!(config())
}

fn one_by_one() -> Config {
    let mut config = config();
    config.pipelining = false;
    config
}

const DONE: &str = "done: 0 rows, id 0, 0 warnings";

#[test]
fn the_first_time_is_two_commands_in_one_write() {
    let script = login(Style::CachedMetadata)
        .command(PREPARE)
        .command(EXECUTE_LAST)
        .server_packets(1, &PREPARED)
        .server_packets(1, &[OK])
        .command(EXECUTE_7)
        .server_packets(1, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    Trial::new(&script, exec_twice(), &[DONE, DONE, "pong"]).run();
}

#[test]
fn with_pipelining_off_the_server_is_asked_first() {
    let script = login(Style::DeprecateEof)
        .command(PREPARE)
        .server_packets(1, &PREPARED)
        .command(EXECUTE_7)
        .server_packets(1, &[OK])
        .command(EXECUTE_7)
        .server_packets(1, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    Trial::new(&script, exec_twice!(one_by_one()), &[DONE, DONE, "pong"]).run();
}

#[test]
fn a_prepare_that_fails_has_two_replies() {
    let talk = talk!(|conn, log, wait, face| {
        log.server(wait!(conn.exec("DO ?", &params![5])))?;
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = login(Style::CachedMetadata)
        .command(PREPARE)
        .command(EXECUTE_LAST)
        .server_packets(1, &[SYNTAX])
        .server_packets(1, &[UNKNOWN])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let error = "server error 1064 (42000): You have an error";
    Trial::new(&script, talk, &[error, "pong"]).run();
}

#[test]
fn a_statement_that_the_server_has_forgotten_is_prepared_again_and_only_once() {
    let talk = talk!(|conn, log, wait, face| {
        log.done(wait!(wait!(conn.exec("DO ?", &params![5]))?.finish())?);
        log.done(wait!(wait!(conn.exec("DO ?", &params![5]))?.finish())?);
        log.server(wait!(conn.exec("DO ?", &params![5])))?;
        Ok(())
    });
    let again = |script: Script, last: &[u8]| {
        script
            .command(EXECUTE_7)
            .server_packets(1, &[UNKNOWN])
            // The old one is closed with the next command, as any that is dropped.
            .command(b"\x19\x07\0\0\0")
            .command(PREPARE)
            .command(EXECUTE_LAST)
            .server_packets(1, &PREPARED)
            .server_packets(1, &[last])
    };
    let script = login(Style::CachedMetadata)
        .command(PREPARE)
        .command(EXECUTE_LAST)
        .server_packets(1, &PREPARED)
        .server_packets(1, &[OK]);
    let script = again(again(script, OK), UNKNOWN);
    let error = "server error 1243 (HY000): Unknown prepared statement";
    Trial::new(&script, talk, &[DONE, DONE, error]).run();
}

#[test]
fn a_server_that_executes_what_it_has_not_prepared_is_left() {
    let script = login(Style::CachedMetadata)
        .command(PREPARE)
        .command(EXECUTE_LAST)
        .server_packets(1, &[SYNTAX])
        .server_packets(1, &[OK]);
    let error =
        "Unexpected { during: \"the reply to a statement that was not prepared\", byte: 0 }";
    assert_eq!(Trial::see(&script, exec_twice()), [error]);
}

#[test]
fn a_server_that_counts_other_parameters_has_misread_the_values() {
    let script = login(Style::CachedMetadata)
        .command(PREPARE)
        .command(EXECUTE_LAST)
        .server_packets(1, &[NO_PARAMETER])
        .server_packets(1, &[OK]);
    let error = "Unexpected { during: \"the reply to prepare\", byte: 0 }";
    assert_eq!(Trial::see(&script, exec_twice()), [error]);
}

#[test]
fn a_text_that_does_not_tell_its_parameters_is_prepared_first() {
    let talk = talk!(|conn, log, wait, face| {
        log.refused(wait!(conn.exec("DO /*", &params![5])))?;
        log.done(wait!(wait!(conn.exec("DO /*", &[]))?.finish())?);
        Ok(())
    });
    let script = login(Style::CachedMetadata)
        .command(b"\x16DO /*")
        .server_packets(1, &[NO_PARAMETER])
        .command(b"\x17\x08\0\0\0\0\x01\0\0\0")
        .server_packets(1, &[OK]);
    let refused = "refused: ParameterCount { expected: 0, given: 1 }";
    Trial::new(&script, talk, &[refused, DONE]).run();
}
