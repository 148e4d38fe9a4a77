//! Commands without rows, long data, and what a connection reports once it is unusable.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use onecopy_mysql::{Param, aio, blocking, params};
use onecopy_testkit::script::{
    Delivery, Fault, FaultKind, Place, Player, Script, Trial, packets, text_row,
};

use crate::large::{COLUMN, OK, ROWS_END};
use crate::login::{Style, login};
use crate::talk::{config, within};
use crate::text::both_styles;

#[test]
fn ping_use_database_and_reset() {
    let talk = talk!(|conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line("pong");
        wait!(conn.use_database("shop"))?;
        for change in conn.session_changes() {
            log.line(format!("{:?}", change.unwrap()));
        }
        log.server(wait!(conn.use_database("nowhere")))?;
        wait!(conn.reset())?;
        log.line("reset");
        Ok(())
    });
    let seen = [
        "pong",
        "Schema([115, 104, 111, 112])",
        "server error 1049 (42000): Unknown database 'nowhere'",
        "reset",
    ];
    for script in both_styles!(login, "session") {
        Trial::new(&script, talk, &seen).run();
    }
}

#[test]
fn long_data_then_the_statement_is_closed_and_refused() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("select length(?) as n, ? as x"))?;
        for piece in [&b"long"[..], b"er"] {
            let sent = wait!(conn.send_long_data(&statement, 0, piece))?;
            log.line(format!("sent {sent}"));
        }
        let mut rows = wait!(conn.execute(&statement, &[Param::LongData, Param::from(7)]))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        assert!(wait!(rows.next())?.is_none());
        log.refused(wait!(conn.execute(&statement, &params![1])))?;
        wait!(conn.close_statement(statement.clone()))?;
        log.refused(wait!(conn.execute(&statement, &params![1, 2])))?;
        log.refused(wait!(conn.close_statement(statement.clone())))?;
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let seen = [
        "sent 4",
        "sent 2",
        "6 | 7",
        "refused: ParameterCount { expected: 2, given: 1 }",
        "refused: StatementClosed",
        "refused: StatementClosed",
        "pong",
    ];
    for script in both_styles!(login, "long_data") {
        Trial::new(&script, talk, &seen).run();
    }
}

#[test]
fn a_statement_is_stale_after_a_reset() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("do 1"))?;
        wait!(conn.reset())?;
        log.refused(wait!(conn.execute(&statement, &[])))?;
        let again = wait!(conn.prepare("do 1"))?;
        log.refused(wait!(conn.execute(&statement, &[])))?;
        log.done(wait!(wait!(conn.execute(&again, &[]))?.finish())?);
        Ok(())
    });
    let prepared: &[u8] = &[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let script = login(Style::DeprecateEof)
        .command(b"\x16do 1")
        .server_packets(1, &[prepared])
        .command(b"\x1f")
        .server_packets(1, &[OK])
        .command(b"\x16do 1")
        .server_packets(1, &[prepared])
        .command(b"\x17\x07\0\0\0\0\x01\0\0\0")
        .server_packets(1, &[OK]);
    let stale = "refused: StatementClosed";
    let seen = [stale, stale, "done: 0 rows, id 0, 0 warnings"];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn sequence_ids_wrap_past_255() {
    let talk = talk!(|conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT 300 rows"))?;
        let (mut count, mut sum) = (0, 0);
        while let Some(row) = wait!(rows.next())? {
            count += 1;
            sum += row.get::<&[u8]>(0)?.len();
        }
        log.line(format!("{count} rows of {sum} bytes"));
        wait!(conn.ping())?;
        Ok(())
    });
    let rows: Vec<_> = (0..300)
        .map(|n| text_row(&[Some(&[b'x'; 9][..n % 10])]))
        .collect();
    let mut answer: Vec<&[u8]> = vec![&[1], COLUMN];
    answer.extend(rows.iter().map(|row| &row[..]));
    answer.push(ROWS_END);
    let script = login(Style::DeprecateEof)
        .command(b"\x03SELECT 300 rows")
        .server_packets(1, &answer)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &["300 rows of 1350 bytes"]).run();
}

const FAREWELL: &[u8] =
    b"\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity.";

/// It comes as if it were the reply, with the sequence id 0 of a packet that nobody asked for.
#[test]
fn a_farewell_that_is_read_as_a_reply_closes_the_connection() {
    let talk = talk!(|conn, _log, wait, face| { wait!(conn.ping()) });
    let script = login(Style::DeprecateEof)
        .command(b"\x0e")
        .server_packets(0, &[FAREWELL])
        .closes();
    let seen = "server error 4031 (HY000): The client was disconnected by the server because of inactivity.";
    Trial::new(&script, talk, &[seen]).run();
}

/// What servers and proxies say unasked when they close, as a proxy its 2013 where it has lost the server.
#[test]
fn what_says_that_the_connection_is_over_closes_it() {
    for code in [1053_u16, 1159, 1161, 1927, 2013, 2027, 3169, 4031] {
        let payload = [&[0xFF][..], &code.to_le_bytes(), b"#HY000over"].concat();
        let (script, split) = unasked(&packets(&mut 0, &payload));
        let said = second_ping(&script, Some(split), None);
        assert_eq!(said, format!("server error {code} (HY000): over"));
    }
}

/// An answer of the server's leaves no doubt. What a proxy says of its side of the connection is none.
#[test]
fn an_error_from_between_says_that_the_statement_may_have_been_executed() {
    for (code, maybe_executed) in [
        (1064_u16, false),
        (1053, false),
        (1927, false),
        (4031, false),
        (1159, true),
        (1161, true),
        (2013, true),
    ] {
        let payload = [&[0xFF][..], &code.to_le_bytes(), b"#HY000over"].concat();
        let script = login(Style::DeprecateEof)
            .command(b"\x03do 1")
            .server_packets(1, &[&payload]);
        let player = Player::new(Arc::new(script), Delivery::Whole, None);
        let config = within(config(), None);
        let mut conn =
            blocking::Connection::from_stream(&config, player.blocking_stream()).unwrap();
        let error = conn.run("do 1").unwrap_err();
        assert_eq!(error.server().map(|server| server.code), Some(code));
        assert_eq!(error.maybe_executed(), maybe_executed, "{error}");
    }
}

/// A login, a ping, and behind its reply what nobody asked for; then another ping.
fn unasked(bytes: &[u8]) -> (Script, usize) {
    let script = login(Style::DeprecateEof)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let split = script.server_bytes().len();
    let script = script.server(bytes).command(b"\x0e").closes();
    (script, split)
}

/// What the second ping says, in clear text and over TLS. With a `split` there what nobody
/// asked for does not come with the first reply.
fn second_ping(script: &Script, split: Option<usize>, fault: Option<Fault>) -> String {
    let play = |script: &Arc<Script>, split: Option<usize>, fault| {
        let delivery = split.map_or(Delivery::Whole, Delivery::SplitAt);
        second_ping_of(|| Player::new(Arc::clone(script), delivery, fault))
    };
    let clear = play(&Arc::new(script.clone()), split, fault);
    let (script, fault) = script.over_tls_with(fault).unwrap();
    let script = Arc::new(script);
    let split = split.map(|_| last_record(&script));
    assert_eq!(play(&script, split, fault), clear, "over tls");
    clear
}

/// Where on the network the last record of a conversation over TLS begins: each step has one.
fn last_record(script: &Arc<Script>) -> usize {
    let player = Player::new(Arc::clone(script), Delivery::Whole, None);
    let config = within(config(), None);
    let mut conn = blocking::Connection::from_stream(&config, player.blocking_stream()).unwrap();
    conn.ping().unwrap();
    *player.wire_marks().server.last().unwrap()
}

/// The same over both drivers.
fn second_ping_of(player: impl Fn() -> Player) -> String {
    let blocking = {
        let mut conn =
            blocking::Connection::from_stream(&within(config(), None), player().blocking_stream())
                .unwrap();
        conn.ping().unwrap();
        let error = conn.ping().unwrap_err();
        assert!(error.is_closed() && conn.is_closed(), "{error:?}");
        error.to_string()
    };
    let runtime = ::tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let tokio = runtime.block_on(async {
        let stream = player().hesitating().tokio_stream();
        let config = within(config(), None);
        let mut conn = aio::Connection::from_stream(&config, stream).await.unwrap();
        conn.ping().await.unwrap();
        let error = conn.ping().await.unwrap_err();
        assert!(error.is_closed() && conn.is_closed(), "{error:?}");
        error.to_string()
    });
    assert_eq!(blocking, tokio);
    blocking
}

#[test]
fn a_farewell_is_heard_although_the_command_can_not_be_written() {
    let (script, split) = unasked(&packets(&mut 0, FAREWELL));
    let fault = Fault {
        place: Place::Client(script.client_bytes().len() - 5),
        kind: FaultKind::Pipe,
    };
    let said = second_ping(&script, Some(split), Some(fault));
    assert!(said.starts_with("server error 4031"), "{said}");
}

#[test]
fn unsolicited_bytes_behind_a_reply_close_the_connection() {
    for (bytes, expected) in [
        (
            &packets(&mut 0, FAREWELL)[..],
            "the server ended it: error 4031: ",
        ),
        (&packets(&mut 0, OK), "without being asked"),
        (&[0], "without being asked"),
    ] {
        let (script, _) = unasked(bytes);
        let said = second_ping(&script, None, None);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn unsolicited_bytes_behind_the_login_refuse_it() {
    let talk = talk!(|conn, _log, wait, face| { wait!(conn.ping()) });
    let script = login(Style::DeprecateEof).server(&[0]);
    let runtime = ::tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for script in [script.over_tls().unwrap(), script] {
        let script = Arc::new(script);
        let player = || Player::new(Arc::clone(&script), Delivery::Whole, None);
        let blocking = (talk.blocking)(player().blocking_stream(), None);
        let tokio = runtime.block_on((talk.tokio)(player().tokio_stream(), None));
        for seen in [blocking, tokio] {
            assert_eq!(seen, ["Unsolicited"]);
        }
    }
}

#[test]
fn quit_is_sent_and_the_stream_is_shut() {
    let script = login(Style::DeprecateEof).command(b"\x01");
    let config = within(config(), None);
    for script in [script.over_tls().unwrap(), script] {
        let script = Arc::new(script);
        let player = || Player::new(Arc::clone(&script), Delivery::AtMost(3), None);

        let blocking = player();
        let conn = blocking::Connection::from_stream(&config, blocking.blocking_stream()).unwrap();
        conn.close().unwrap();

        let tokio = player().hesitating();
        let runtime = ::tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let conn = aio::Connection::from_stream(&config, tokio.tokio_stream())
                .await
                .unwrap();
            conn.close().await.unwrap();
        });
        for player in [blocking, tokio] {
            assert_eq!(player.finished(), Ok(()));
            assert!(player.is_shut());
        }
    }
}

/// A row comes too late, the connection continues: the next command reads and drops what was outstanding.
#[test]
fn after_a_deadline_the_connection_goes_on() {
    let row = text_row(&[Some(b"late")]);
    let script = login(Style::DeprecateEof).command(b"\x03SELECT SLEEP(9)");
    let begin = script.server_bytes().len();
    let script = script
        .server_packets(1, &[&[1], COLUMN, &row, &row, ROWS_END])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let end = script.server_bytes().len() - 11;
    for script in [script.over_tls().unwrap(), script] {
        goes_on_after_a_deadline(&Arc::new(script), begin + 1..end);
    }
}

fn goes_on_after_a_deadline(script: &Arc<Script>, places: Range<usize>) {
    let config = within(config(), Some(Duration::from_secs(60)));
    let runtime = ::tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    for at in places {
        let fault = Fault {
            place: Place::Server(at),
            kind: FaultKind::Silence,
        };
        let player = || Player::new(Arc::clone(script), Delivery::Whole, Some(fault));

        let silent = player();
        let mut conn =
            blocking::Connection::from_stream(&config, silent.blocking_stream()).unwrap();
        let error = conn.run("SELECT SLEEP(9)").unwrap_err();
        assert!(
            error.is_timeout() && !conn.is_closed(),
            "at {at}: {error:?}"
        );
        silent.repair();
        conn.ping().unwrap();
        assert_eq!(silent.finished(), Ok(()));

        let silent = player();
        runtime.block_on(async {
            let stream = silent.tokio_stream();
            let mut conn = aio::Connection::from_stream(&config, stream).await.unwrap();
            let error = conn.run("SELECT SLEEP(9)").await.unwrap_err();
            assert!(
                error.is_timeout() && !conn.is_closed(),
                "at {at}: {error:?}"
            );
            silent.repair();
            conn.ping().await.unwrap();
        });
        assert_eq!(silent.finished(), Ok(()));
    }
}
