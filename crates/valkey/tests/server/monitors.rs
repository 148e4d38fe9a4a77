//! MONITOR, on a connection of its own.

use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::string;
use onecopy_valkey::{Monitored, raw};

use super::Connection;
use crate::common::{sample, url, urls};

type Monitor = face!(Monitor);

/// Longer than any line takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The next line whose command names this key: other tests use the server too.
macro_rules! next_of {
    ($monitor:expr, $key:expr) => {
        loop {
            let monitored: Monitored<'_> = wait!($monitor.next_timeout(LONG))
                .unwrap()
                .expect("nothing comes");
            let text = monitored.command().escape_ascii().to_string();
            if text.contains($key) {
                break (
                    text,
                    monitored.time(),
                    monitored.database(),
                    monitored.client().map(str::to_owned),
                );
            }
        }
    };
}

#[tokio::test]
async fn commands_of_others_are_reported() {
    for url in urls() {
        let mut monitor = wait!(Monitor::connect(&url)).unwrap();
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = face_name!("monitors:key");
        wait!(conn.run(&string::set(key, &b"a b\n\xff"[..]))).unwrap();
        let (command, time, database, client) = next_of!(monitor, key);
        let expected = format!("\"SET\" \"{key}\" \"a b\\n\\xff\"");
        assert_eq!(command, expected.as_bytes().escape_ascii().to_string());
        assert!(time.unwrap() > Duration::from_secs(1_600_000_000));
        assert_eq!(database, Some(0));
        assert!(client.is_some_and(|client| client.contains(':')), "{url}");
        assert!(monitor.meter().bytes_read > 0);
        monitor.close();
    }
}

#[tokio::test]
async fn a_line_is_as_long_as_its_command() {
    let mut monitor = wait!(Monitor::connect(&url())).unwrap();
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = face_name!("monitors:large");
    // Each byte becomes up to four: \xHH.
    let value = sample(1 << 20);
    wait!(conn.run(&string::set(key, &value))).unwrap();
    let (command, ..) = next_of!(monitor, key);
    assert!(command.len() > 2 << 20, "{}", command.len());
    wait!(conn.run(&raw("STRLEN").arg(key))).unwrap();
    let (command, ..) = next_of!(monitor, key);
    assert!(command.contains("STRLEN"), "{command}");
}

#[tokio::test]
async fn nothing_comes_from_an_idle_server_and_a_lost_one_is_an_error() {
    let mut server = Server::start().unwrap();
    let mut monitor = wait!(Monitor::connect(&server.url())).unwrap();
    for _ in 0..2 {
        let waited = wait!(monitor.next_timeout(Duration::from_millis(20))).unwrap();
        assert!(waited.is_none(), "{waited:?}");
    }
    server.ask("ECHO monitors:idle").unwrap();
    let (command, ..) = next_of!(monitor, "monitors:idle");
    assert!(
        command.contains("echo") || command.contains("ECHO"),
        "{command}"
    );
    server.kill();
    for _ in 0..2 {
        assert!(wait!(monitor.next()).unwrap_err().is_closed());
    }
}

#[tokio::test]
async fn a_user_that_may_not_monitor_is_told_so() {
    let server = Server::start().unwrap();
    server
        .ask("ACL SETUSER monitors on nopass +@all -monitor")
        .unwrap();
    let url = server.url().replace("redis://", "redis://monitors:x@");
    let error = wait!(Monitor::connect(&url)).unwrap_err();
    let server_error = error.server().expect("an error of the server");
    assert_eq!(server_error.code(), "NOPERM", "{error}");
}
