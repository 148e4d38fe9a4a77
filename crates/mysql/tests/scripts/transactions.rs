//! Transactions: what is sent when, at every cut and with every fault, and servers that answer wrongly.

use onecopy_mysql::{Isolation, TransactionOptions};
use onecopy_testkit::script::{Script, Talk, Trial};

use crate::large::OK;
use crate::login::{Style, login};

/// OK, in a transaction.
const IN_TRANSACTION: &[u8] = &[0, 0, 0, 3, 0, 0, 0];

const START: &[u8] = b"\x03START TRANSACTION";
const COMMIT: &[u8] = b"\x03COMMIT AND NO CHAIN NO RELEASE";
const ROLLBACK: &[u8] = b"\x03ROLLBACK AND NO CHAIN NO RELEASE";

const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
const INTERRUPTED: &[u8] = b"\xff\x25\x05#70100Query execution was interrupted";

fn begin() -> Script {
    login(Style::DeprecateEof)
        .command(START)
        .server_packets(1, &[IN_TRANSACTION])
}

#[test]
fn two_statements_begin_a_transaction_and_one_commits_it() {
    let talk = talk!(|conn, log, wait, face| {
        let options = TransactionOptions {
            isolation: Some(Isolation::Serializable),
            read_only: true,
            consistent_snapshot: true,
        };
        let mut tx = wait!(conn.transaction_with(&options))?;
        log.done(wait!(tx.run("DO 1"))?);
        let mut inner = wait!(tx.savepoint())?;
        log.server(wait!(inner.run("DO 2")))?;
        wait!(inner.rollback())?;
        let inner = wait!(tx.savepoint())?;
        wait!(inner.commit())?;
        wait!(tx.commit())?;
        log.line("committed");
        Ok(())
    });
    let script = login(Style::DeprecateEof)
        .command(b"\x03SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .command(b"\x03START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        .server_packets(1, &[OK])
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03DO 1")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03SAVEPOINT onecopy_2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03DO 2")
        .server_packets(1, &[DUPLICATE])
        .command(b"\x03ROLLBACK TO onecopy_2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03SAVEPOINT onecopy_2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03RELEASE SAVEPOINT onecopy_2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(COMMIT)
        .server_packets(1, &[OK]);
    let seen = [
        "done: 0 rows, id 0, 0 warnings",
        "server error 1062 (23000): Duplicate entry",
        "committed",
    ];
    Trial::new(&script, talk, &seen).run();
}

/// A transaction that is dropped, then a command.
fn drop_and_run() -> Talk {
    talk!(|conn, log, wait, face| {
        drop(wait!(conn.transaction())?);
        log.done(wait!(conn.run("DO 1"))?);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    })
}

#[test]
fn a_rollback_is_sent_in_front_of_the_next_command() {
    let script = begin()
        .command(ROLLBACK)
        .command(b"\x03DO 1")
        .server_packets(1, &[OK])
        .server_packets(1, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let seen = ["done: 0 rows, id 0, 0 warnings", "pong"];
    Trial::new(&script, drop_and_run(), &seen).run();
}

#[test]
fn a_rollback_to_a_savepoint_is_sent_in_front_of_the_commit() {
    let talk = talk!(|conn, log, wait, face| {
        let mut tx = wait!(conn.transaction())?;
        let mut inner = wait!(tx.savepoint())?;
        drop(wait!(inner.savepoint())?);
        drop(inner);
        wait!(tx.commit())?;
        log.line("committed");
        Ok(())
    });
    let script = begin()
        .command(b"\x03SAVEPOINT onecopy_2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03SAVEPOINT onecopy_3")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03ROLLBACK TO onecopy_2")
        .command(COMMIT)
        .server_packets(1, &[IN_TRANSACTION])
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &["committed"]).run();
}

#[test]
fn a_rollback_that_fails_closes_the_connection_whatever_the_command_behind_it_did() {
    for (answer, error) in [
        (INTERRUPTED, "PreludeRefused { code: 1317 }"),
        (
            &[1],
            "Unexpected { during: \"the reply to a prelude\", byte: 1 }",
        ),
        // More results.
        (
            &[0, 0, 0, 10, 0, 0, 0],
            "Unexpected { during: \"the reply to a prelude\", byte: 0 }",
        ),
        (
            b"\xfbfile",
            "Unexpected { during: \"the reply to a prelude\", byte: 251 }",
        ),
    ] {
        let script = begin()
            .command(ROLLBACK)
            .command(b"\x03DO 1")
            .server_packets(1, &[answer])
            .server_packets(1, &[OK]);
        assert_eq!(Trial::see(&script, drop_and_run()), [error]);
    }
}

#[test]
fn a_deadlock_ends_the_transaction_if_the_servers_status_says_so() {
    let talk = talk!(|conn, log, wait, face| {
        let mut tx = wait!(conn.transaction())?;
        log.server(wait!(tx.run("DO 1")))?;
        let again = wait!(tx.run("DO 2"));
        if again.as_ref().is_err_and(Error::is_transaction_over) {
            log.line("over");
        } else {
            log.done(again?);
        }
        let committed = wait!(tx.commit());
        if committed.as_ref().is_err_and(Error::is_transaction_over) {
            log.line("over");
        } else {
            committed?;
        }
        log.done(wait!(conn.run("DO 3"))?);
        Ok(())
    });
    let deadlock = "server error 1213 (40001): Deadlock found";
    let done = "done: 0 rows, id 0, 0 warnings";
    let script = begin()
        .command(b"\x03DO 1")
        .server_packets(1, &[DEADLOCK])
        .command(b"\x0e")
        .server_packets(1, &[OK])
        .command(b"\x03DO 3")
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &[deadlock, "over", "over", done]).run();
    let script = begin()
        .command(b"\x03DO 1")
        .server_packets(1, &[DEADLOCK])
        .command(b"\x0e")
        .server_packets(1, &[IN_TRANSACTION])
        .command(b"\x03DO 2")
        .server_packets(1, &[IN_TRANSACTION])
        .command(COMMIT)
        .server_packets(1, &[OK])
        .command(b"\x03DO 3")
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &[deadlock, done, done]).run();
}

#[test]
fn a_transaction_that_did_not_begin_is_rolled_back_with_its_isolation() {
    let talk = talk!(|conn, log, wait, face| {
        let options = TransactionOptions {
            isolation: Some(Isolation::ReadCommitted),
            ..TransactionOptions::default()
        };
        log.server(wait!(conn.transaction_with(&options)))?;
        log.done(wait!(conn.run("DO 1"))?);
        Ok(())
    });
    let done = "done: 0 rows, id 0, 0 warnings";
    let interrupted = "server error 1317 (70100): Query execution was interrupted";
    for (set, start) in [(OK, INTERRUPTED), (INTERRUPTED, IN_TRANSACTION)] {
        let script = login(Style::DeprecateEof)
            .command(b"\x03SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            .command(START)
            .server_packets(1, &[set])
            .server_packets(1, &[start])
            .command(ROLLBACK)
            .command(b"\x03DO 1")
            .server_packets(1, &[OK])
            .server_packets(1, &[OK]);
        Trial::new(&script, talk, &[interrupted, done]).run();
    }
}
