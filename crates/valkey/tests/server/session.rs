//! Connecting: what is agreed on, what is refused, and what a new connection keeps.

use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::{connection, string};
use onecopy_valkey::{Config, Protocol, Refusal, raw};
use std::io::{Read, Write};

use super::Connection;
use crate::common::{url, urls, with_option};

#[tokio::test]
async fn every_transport_and_protocol_gives_a_connection() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let is_resp2 = url.contains("protocol=2");
        let expected = if is_resp2 {
            Protocol::Resp2
        } else {
            Protocol::Resp3
        };
        assert_eq!(conn.protocol(), expected, "{url}");
        assert_eq!(conn.server_version().is_some(), !is_resp2, "{url}");
        assert_eq!(conn.tls().is_some(), url.starts_with("rediss"), "{url}");
        let pong = wait!(conn.run(&raw("PING").arg("here"))).unwrap();
        assert_eq!(pong.bytes(), b"here", "{url}");
    }
}

#[tokio::test]
async fn a_connection_has_its_name_and_its_database() {
    for option in ["protocol=3", "protocol=2"] {
        let url = with_option(&url(), &format!("client-name=session-{option}&db=7"));
        let url = url.replace("name=session-protocol=", "name=session-");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let info = wait!(conn.run(&raw("CLIENT").arg("LIST"))).unwrap();
        let info = info.as_str().unwrap().to_owned();
        let name = format!("name=session-{}", &option[9..]);
        let mine = info.lines().find(|line| line.contains(&name)).unwrap();
        assert!(mine.contains(" db=7 "), "{mine}");
    }
}

#[tokio::test]
async fn a_refused_login_is_told_and_leaves_no_connection() {
    let server = Server::builder().password("s3cret").start().unwrap();
    for protocol in ["protocol=3", "protocol=2"] {
        let none = format!("redis://127.0.0.1:{}?{protocol}", server.port());
        let error = wait!(Connection::connect(&with_option(&none, "db=1"))).unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::NoAuth), "{error}");
        let wrong = none.replace("//", "//:wrong@");
        let error = wait!(Connection::connect(&wrong)).unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::WrongPass), "{error}");
        assert!(error.is_closed() && !error.maybe_executed());
        assert!(!format!("{error} {error:?}").contains("wrong@"));
        let right = with_option(&server.url(), protocol);
        let mut conn = wait!(Connection::connect(&right)).unwrap();
        wait!(conn.run(&string::set("session:login", "in"))).unwrap();
        let user = with_option(&server.user_url(), protocol);
        let mut conn = wait!(Connection::connect(&user)).unwrap();
        let whoami = wait!(conn.run(&raw("ACL").arg("WHOAMI"))).unwrap();
        assert_eq!(whoami.bytes(), server.user().as_bytes());
    }
}

#[tokio::test]
async fn nobody_there_is_an_error_that_can_be_tried_again() {
    let error = wait!(Connection::connect("redis://127.0.0.1:1")).unwrap_err();
    assert!(error.is_closed() && error.is_retryable(), "{error}");
}

#[tokio::test]
async fn a_reconnect_keeps_database_user_and_name() {
    let mut server = Server::start().unwrap();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    wait!(conn.select(3)).unwrap();
    wait!(conn.auth(Some(server.user()), server.user_password())).unwrap();
    wait!(conn.set_client_name("again")).unwrap();
    server.restart().unwrap();
    let error = wait!(conn.run(&string::get("session:gone"))).unwrap_err();
    assert!(error.is_closed(), "{error}");
    assert!(conn.is_closed());
    let again = wait!(conn.run(&string::get("session:gone"))).unwrap_err();
    assert!(again.is_closed() && !again.maybe_executed(), "{again}");
    wait!(conn.reconnect()).unwrap();
    assert!(!conn.is_closed());
    let list = wait!(conn.run(&raw("CLIENT").arg("LIST"))).unwrap();
    let list = list.as_str().unwrap();
    let user = format!(" user={} ", server.user());
    for part in ["name=again ", " db=3 ", &user] {
        assert!(list.contains(part), "{part} in {list}");
    }
}

#[tokio::test]
async fn a_reconnect_refuses_what_it_can_not_bring_back() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(&connection::select(2))).unwrap();
    let error = wait!(conn.reconnect()).unwrap_err();
    assert!(
        error.is_misuse() && error.to_string().contains("select"),
        "{error}"
    );
    assert!(!conn.is_closed());
    wait!(conn.run(&string::get("session:still"))).unwrap();
}

#[tokio::test]
async fn a_stream_of_the_callers_own_will_do() {
    let config = Config::from_url(&url()).unwrap();
    let onecopy_valkey::Endpoint::Tcp { host, port } = &config.endpoint else {
        return onecopy_testkit::server::lacks("TCP", "the given URL is of a Unix socket");
    };
    let socket = std::net::TcpStream::connect((host.as_str(), *port)).unwrap();
    let mut conn = wait!(Connection::from_stream(&config, stream_of!(socket))).unwrap();
    wait!(conn.run(&string::set("session:stream", "own"))).unwrap();
    assert!(wait!(conn.reconnect()).unwrap_err().is_misuse());
}

#[tokio::test]
async fn what_the_server_refused_to_change_is_in_no_reconnects_way() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.select(1 << 40)).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    let error = wait!(conn.set_client_name("two words")).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    let error = wait!(conn.auth(Some("nobody"), "wrong")).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    wait!(conn.reconnect()).unwrap();
}

/// Its greeting comes in the place of a reply.
#[tokio::test]
async fn a_mysql_server_is_named_as_one() {
    let mysql = onecopy_testkit::server::Server::start().unwrap();
    for (scheme, named) in [
        ("redis", "mysql or mariadb server"),
        ("rediss", "what the server sent is not tls"),
    ] {
        let url = format!("{scheme}://127.0.0.1:{}/", mysql.port());
        let error = wait!(Connection::connect(&url)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(named), "{url}: {text}");
        assert!(!error.is_retryable(), "{url}: {text}");
    }
}

/// A try again would meet the same server.
#[tokio::test]
async fn a_peer_that_speaks_another_protocol_is_not_to_be_tried_again() {
    let answers: [&[u8]; 3] = [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        // A fatal alert: unexpected message.
        b"\x15\x03\x01\x00\x02\x02\x0a",
        b"\x01\x02\x03\x04",
    ];
    for answer in answers {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(answer).unwrap();
        });
        let error = wait!(Connection::connect(&format!("redis://127.0.0.1:{port}"))).unwrap_err();
        server.join().unwrap();
        let is_protocol = error.protocol().is_some();
        assert!(
            is_protocol && error.is_closed() && !error.is_retryable(),
            "{error}"
        );
    }
}
