//! OK and ERR packets with long texts.

use onecopy_testkit::script::{lenenc, noise};

use crate::conversation::{Conversation, Fate};
use crate::packets::{config, exchange};

const RUN: &[u8] = b"\x03UPDATE";

/// An OK with this text, whose session changes name a database of `schema` bytes.
fn ok(info: &[u8], schema: usize) -> Vec<u8> {
    const SCHEMA: u8 = 1;
    let name = [lenenc(schema), noise(schema).to_vec()].concat();
    let change = [&[SCHEMA][..], &lenenc(name.len()), &name].concat();
    // AUTOCOMMIT and SESSION_STATE_CHANGED, without warnings.
    let mut ok = b"\0\x05\0\x02\x40\0\0".to_vec();
    ok.extend(lenenc(info.len()));
    ok.extend_from_slice(info);
    ok.extend(lenenc(change.len()));
    ok.extend(change);
    ok
}

#[test]
fn ok_with_a_long_text_and_long_session_changes() {
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let rows = wait!(conn.query("UPDATE"))?;
            assert!(rows.info().len() >= 20_000);
            assert_eq!(wait!(rows.finish())?.affected_rows, 5);
            assert_eq!(conn.session_changes().iter().count(), 1);
            Ok(())
        });
        step!(|conn| {
            wait!(conn.ping())?;
            assert_eq!(conn.session_changes().iter().count(), 0, "of the ping");
            Ok(())
        });
    });
    let ascii = vec![b'i'; 20_000];
    for info in [&ascii[..], noise(20_000)] {
        let script = exchange(RUN, &[&ok(info, 30_000)]);
        talk.run(&script, &[Fate::NotSent, Fate::Closed]);
    }
}

/// The server's error, as it should be.
fn err() -> Conversation {
    conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            match wait!(conn.run("UPDATE")) {
                Err(error) if error.server().is_some() => {
                    let error = error.server().unwrap();
                    assert_eq!(error.code, 1064);
                    assert!(error.message.len() >= 50_000);
                    Ok(())
                }
                other => other.map(|_| unreachable!("the server's error is missing")),
            }
        });
        step!(|conn| { wait!(conn.ping()) });
    })
}

#[test]
fn err_with_a_long_text() {
    let ascii = vec![b'e'; 50_000];
    for text in [&ascii[..], noise(50_000)] {
        let packet = [&b"\xff\x28\x04#42000"[..], text].concat();
        let fates = [Fate::NotSent, Fate::Closed, Fate::Lost];
        err().run(&exchange(RUN, &[&packet]), &fates);
    }
}

#[test]
fn a_farewell_with_a_long_text_closes_whether_its_text_can_be_had_or_not() {
    // ER_SERVER_SHUTDOWN, then the end of the stream.
    let packet = [&b"\xff\x1d\x04#08S01"[..], noise(50_000)].concat();
    let script = crate::packets::login()
        .command(RUN)
        .server_packets(1, &[&packet])
        .closes();
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            match wait!(conn.run("UPDATE")) {
                Err(error) if error.server().is_some() => {
                    assert!(error.is_closed() && conn.is_closed());
                    Ok(())
                }
                other => other.map(|_| unreachable!("the server's error is missing")),
            }
        });
    });
    talk.run(&script, &[Fate::NotSent, Fate::Closed]);
}
