//! Another user on the same connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use onecopy_mysql::aio::Connection;
use onecopy_mysql::{Config, PluginSet};
use onecopy_testkit::script::{Delivery, Player, Script, Trial};

use crate::login::{Style, login, mysql_response};
use crate::talk::config;

/// The scrambles were computed apart, by Python's hashlib: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))), the first
/// of the greeting's nonce, the second of the switch's.
const COMMAND: &str = "
    C 37 00 00 00
      11 62 6f 62 00                                   | COM_CHANGE_USER, bob
      14 70 e1 5f b8 87 3a 4d e5 ee 4a 69 b8 f6 02 15  | the scramble of babbage
      50 bc 17 13 ab
      73 68 6f 70 00 2d 00                             | shop, utf8mb4_general_ci
      6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73 | mysql_native_pas
      73 77 6f 72 64 00                                | sword";
const SWITCH: &str = "
    S 2c 00 00 01
      fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 | mysql_native_pa
      73 73 77 6f 72 64 00                            | ssword
      41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50 | nonce of 20 bytes and its NUL
      51 52 53 54 00
    C 14 00 00 02
      82 ca 5e 27 6e a9 40 6b ec e7 5b 11 7a c4 d5 bd
      3c f6 d0 e3";
const PING: &str = "
    C 01 00 00 00 0e
    S 07 00 00 01 00 00 00 02 00 00 00";
const REFUSED: &[u8] = b"\xff\x15\x04#28000Access denied for user 'bob'";

fn talk() -> onecopy_testkit::script::Talk {
    talk!(|conn, log, wait, face| {
        wait!(conn.change_user("bob", "babbage", Some("shop")))?;
        log.line("changed");
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    })
}

pub(crate) fn begun() -> Script {
    login(Style::DeprecateEof).then(&Script::parse(COMMAND))
}

#[test]
fn a_switch_with_a_fresh_nonce_and_ok() {
    let script = begun()
        .then(&Script::parse(SWITCH))
        .server(b"\x07\0\0\x03\0\0\0\x02\0\0\0")
        .then(&Script::parse(PING));
    Trial::new(&script, talk(), &["changed", "pong"]).run();
}

#[test]
fn ok_at_once() {
    let script = begun()
        .server(b"\x07\0\0\x01\0\0\0\x02\0\0\0")
        .then(&Script::parse(PING));
    Trial::new(&script, talk(), &["changed", "pong"]).run();
}

#[test]
fn statements_are_forgotten_and_a_second_change_begins_with_the_last_nonce() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("DO 1"))?;
        wait!(conn.change_user("bob", "babbage", Some("shop")))?;
        log.line("changed");
        log.refused(wait!(conn.execute(&statement, &[])))?;
        wait!(conn.change_user("ada", "lovelace", None))?;
        log.line("changed");
        Ok(())
    });
    let script = login(Style::DeprecateEof)
        .command(b"\x16DO 1")
        .server_packets(1, &[&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
        .then(&Script::parse(COMMAND))
        .then(&Script::parse(SWITCH))
        .server(b"\x07\0\0\x03\0\0\0\x02\0\0\0")
        .then(&Script::parse(
            "C 33 00 00 00
               11 61 64 61 00                                   | COM_CHANGE_USER, ada
               14 2d b0 35 b1 5b ed 1d bf b2 64 96 e1 f3 5e 04  | the scramble of lovelace, of the switch's nonce
               7b 1e c8 74 8d
               00 2d 00                                         | no database
               6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
               73 77 6f 72 64 00
             S 07 00 00 01 00 00 00 02 00 00 00",
        ));
    let seen = ["changed", "refused: StatementClosed", "changed"];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn a_refusal_closes_the_connection() {
    let seen = "server error 1045 (28000): Access denied for user 'bob'";
    let at_once = begun().server_packets(1, &[REFUSED]);
    let after_switch = begun()
        .then(&Script::parse(SWITCH))
        .server_packets(3, &[REFUSED]);
    for script in [at_once, after_switch] {
        // Whether the server closes, as MySQL does, or would continue, as MariaDB does.
        Trial::new(&script, talk(), &[seen]).run();
        Trial::new(&script.closes(), talk(), &[seen]).run();
    }
}

#[test]
fn what_a_hostile_server_asks_for_in_a_change_of_user() {
    for (payload, seen) in [
        (
            &b"\xfemysql_clear_password\0"[..],
            "Auth(PluginNotAllowed { plugin: ClearPassword })",
        ),
        (b"\xfe", "Auth(OldPasswordRefused)"),
        (
            b"\xfesha256_password\0abcdefghijklmnopqrst\0",
            "Auth(InsecureChannel { plugin: Sha256Password, channel: Plain })",
        ),
        (
            b"\x01\x04",
            "Auth(UnexpectedMoreData { plugin: NativePassword })",
        ),
        (b"\xfb/etc/passwd", "Auth(UnexpectedPacket { header: 251 })"),
        (b"", "Frame(Empty)"),
    ] {
        let script = begun().server_packets(1, &[payload]);
        let over_tls = script.over_tls().unwrap();
        assert_eq!(Trial::see(&script.in_clear_text(), talk()), [seen]);
        let seen = seen.replace("channel: Plain", "channel: TlsUnverified");
        assert_eq!(Trial::see(&over_tls, talk()), [seen]);
    }
    let twice = begun()
        .then(&Script::parse(SWITCH))
        .server_packets(3, &[b"\xfemysql_native_password\0abcdefghijklmnopqrst\0"]);
    assert_eq!(Trial::see(&twice, talk()), ["Auth(SwitchedTwice)"]);
}

#[test]
fn a_clear_password_of_300_bytes_over_a_unix_socket() {
    fn clear() -> Config {
        let mut config = config();
        config.auth_plugins = PluginSet::SAFE | PluginSet::CLEAR_PASSWORD;
        config
    }
    let talk = talk!(clear(), |conn, log, wait, face| {
        let password = "x".repeat(300);
        wait!(conn.change_user("bob", password, None))?;
        log.line("changed");
        Ok(())
    });
    let response = [&[0x2D, 0x01, 0, 2][..], &[b'x'; 300], &[0]].concat();
    let script = mysql_response()
        .then(&Script::parse(
            "S 02 00 00 02 01 03
             S 07 00 00 03 00 00 00 02 00 00 00
             C 3f 00 00 00
               11 62 6f 62 00                                   | COM_CHANGE_USER, bob
               20 21 9f f0 4c 00 f1 e6 a3 ed c8 ec ff e9 52 c2  | the scramble of 300 x, by caching_sha2_password
               74 12 6d 5e 07 33 69 5f 5c b8 22 8d e7 4f 99 94
               ad
               00 2d 00
               63 61 63 68 69 6e 67 5f 73 68 61 32 5f 70 61 73 | caching_sha2_pas
               73 77 6f 72 64 00                                | sword",
        ))
        .server_packets(1, &[b"\xfemysql_clear_password\0"])
        .client(&response)
        .server(b"\x07\0\0\x03\0\0\0\x02\0\0\0")
        .over_unix_socket();
    Trial::new(&script, talk, &["changed"]).run();
}

/// A change that is dropped at each of its awaits: the connection is closed and sends no command more.
#[tokio::test]
async fn dropped_half_way_the_connection_is_closed() {
    let script = Arc::new(
        begun()
            .then(&Script::parse(SWITCH))
            .server(b"\x07\0\0\x03\0\0\0\x02\0\0\0"),
    );
    for polls in 1.. {
        let player = Player::new(Arc::clone(&script), Delivery::AtMost(7), None).hesitating();
        let stream = player.tokio_stream();
        let mut conn = Connection::from_stream(&config(), stream).await.unwrap();
        let mut polled = 0;
        let done = {
            let mut change = pin!(conn.change_user("bob", "babbage", Some("shop")));
            let mut context = Context::from_waker(Waker::noop());
            loop {
                let poll = change.as_mut().poll(&mut context);
                polled += 1;
                if poll.is_ready() {
                    break true;
                }
                if polled == polls {
                    break false;
                }
            }
        };
        if done {
            assert!(polls > 10, "{polls} polls are all there were");
            assert!(!conn.is_closed());
            player.finished().unwrap();
            return;
        }
        assert!(conn.is_closed(), "after {polls} polls");
        let error = conn.ping().await.unwrap_err();
        assert!(error.is_closed(), "{error}");
        assert!(error.to_string().contains("change of user"), "{error}");
        assert!(player.is_shut(), "the server hears of it at the next call");
        assert!(conn.change_user("ada", "x", None).await.is_err());
    }
}
