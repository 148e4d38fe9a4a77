//! What is said first.

use onecopy_testkit::script::{Script, Talk, Trial};
use onecopy_valkey::{Config, Protocol};

fn config() -> Config {
    Config::from_url("redis://ada:lovelace@localhost/3?client-name=engine&client-info=false")
        .unwrap()
}

fn whole() -> Talk {
    talk!(crate::handshake::config(), |conn, log, wait| {
        log.line(format!("{:?} {:?}", conn.protocol(), conn.server_version()));
        log.reply(wait!(conn.run(&raw("PING")))?);
        Ok(())
    })
}

const HELLO: &[u8] = b"*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$3\r\nada\r\n$8\r\nlovelace\r\n$7\r\nSETNAME\r\n$6\r\nengine\r\n";
const SELECT: &[u8] = b"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

#[test]
fn all_of_it_is_one_write() {
    let script = Script::new()
        .client(&[HELLO, SELECT].concat())
        .server(b"%3\r\n+server\r\n+valkey\r\n+version\r\n+8.1.4\r\n+proto\r\n:3\r\n+OK\r\n")
        .client(PING)
        .server(b"+PONG\r\n")
        .in_clear_text();
    let expected = ["Resp3 Some(\"8.1.4\")", "SimpleString(PONG)"];
    Trial::new(&script, whole(), &expected).run();
}

#[test]
fn a_server_without_hello_is_spoken_to_in_resp2() {
    let auth = b"*3\r\n$4\r\nAUTH\r\n$3\r\nada\r\n$8\r\nlovelace\r\n";
    let set_name = b"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\nengine\r\n";
    let script = Script::new()
        .client(&[HELLO, SELECT].concat())
        .server(b"-ERR unknown command 'HELLO'\r\n")
        .client(&[&auth[..], set_name, SELECT].concat())
        .server(b"-NOAUTH Authentication required.\r\n+OK\r\n+OK\r\n+OK\r\n")
        .client(PING)
        .server(b"+PONG\r\n")
        .in_clear_text();
    Trial::new(&script, whole(), &["Resp2 None", "SimpleString(PONG)"]).run();
}

#[test]
fn a_refusal_is_the_connections_error() {
    let script = Script::new()
        .client(&[HELLO, SELECT].concat())
        .server(b"-WRONGPASS invalid username-password pair\r\n")
        .in_clear_text();
    let seen = Trial::see(&script, whole());
    assert!(
        seen[0].contains("WRONGPASS") && !seen[0].contains("lovelace"),
        "{seen:?}"
    );
}

#[test]
fn what_is_no_answer_to_hello_is_refused() {
    for bytes in [
        &b"+OK\r\n"[..],
        b":3\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"$70000\r\n",
        // No protocol, and one that nobody speaks.
        b"%0\r\n",
        b"*0\r\n",
        b"%1\r\n+server\r\n+valkey\r\n",
        b"%1\r\n+proto\r\n:99\r\n",
        b"%1\r\n+proto\r\n:-3\r\n",
        b"%1\r\n+proto\r\n+three\r\n",
    ] {
        let script = Script::new()
            .client(&[HELLO, SELECT].concat())
            .server(bytes)
            .in_clear_text();
        let seen = Trial::see(&script, whole());
        assert!(seen.len() == 1 && seen[0].contains(" at "), "{seen:?}");
    }
}

#[test]
fn nothing_is_said_where_nothing_is_to_be_set() {
    let script = Script::new()
        .client(PING)
        .server(b"+PONG\r\n")
        .in_clear_text();
    assert_eq!(crate::talk::config().protocol, Some(Protocol::Resp2));
    let talk = talk!(|conn, log, wait| {
        log.reply(wait!(conn.run(&raw("PING")))?);
        Ok(())
    });
    Trial::new(&script, talk, &["SimpleString(PONG)"]).run();
}

#[test]
fn a_server_that_says_the_password_again_is_not_quoted() {
    // Not even where it is asked once only.
    fn config() -> Config {
        let mut config = super::handshake::config();
        config.protocol = Some(Protocol::Resp3);
        config
    }
    let talk = talk!(config(), |_conn, _log, wait| { Ok(()) });
    let script = Script::new()
        .client(&[HELLO, SELECT].concat())
        // As Redis 5.0.
        .server(
            b"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `ada`, `lovelace`, \r\n",
        )
        .in_clear_text();
    let seen = Trial::see(&script, talk);
    assert!(
        seen[0].contains("unknown command `HELLO`") && !seen[0].contains("lovelace"),
        "{seen:?}"
    );
}
