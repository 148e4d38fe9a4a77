//! What a client sees of its backend's close: between commands the close alone, as from a server, and in a command an error
//! whose SQLSTATE says that the connection is lost. Either way the client's connection is closed in both directions.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::server::Server;

use crate::basics::text;
use crate::common::{listener, loopback, start, until};
use crate::raw::{OK, PATIENCE, Raw, USUAL, backend, greeting, packet, response};
use crate::sides::{Way, sides, unique};

/// What a backend still says of a reply before it closes.
const PARTS: [(&[u8], &str); 2] = [
    (b"", "before replying"),
    (b"\x01\0\0\x01\x01", "in the middle of its reply"),
];

/// A backend that closes when it is told to, having said so much of its reply where it was asked.
fn closing(is_asked: bool, part: &'static [u8]) -> (BackendConfig, mpsc::Sender<()>) {
    let (close, closes) = mpsc::channel();
    let (config, _) = backend(move |mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        server.say(OK).unwrap();
        if is_asked {
            server.sequence = 0;
            server.hear().unwrap();
            server.stream.write_all(part).unwrap();
        }
        let _ = closes.recv();
    });
    (config, close)
}

/// A client of a Unix socket, logged in.
fn log_in(path: &std::path::Path) -> UnixStream {
    let mut client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    hear(&mut client);
    let response = packet(1, &response("anybody", USUAL));
    client.write_all(&response).unwrap();
    assert_eq!(hear(&mut client), OK);
    client
}

fn hear(client: &mut UnixStream) -> Vec<u8> {
    let mut header = [0; 4];
    client.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0])];
    client.read_exact(&mut payload).unwrap();
    payload
}

fn front(config: BackendConfig, socket: &std::path::Path) -> Proxy {
    start(|it| {
        let mut listener = listener(vec![config]);
        listener.listen.push(Endpoint::Unix(socket.to_owned()));
        it.listeners = vec![listener];
    })
}

/// The error's code, SQLSTATE and text.
fn error(packet: &[u8]) -> (u16, &[u8], String) {
    assert_eq!(packet[4..5], [0xFF], "{}", packet.escape_ascii());
    let code = u16::from_le_bytes([packet[5], packet[6]]);
    let text = String::from_utf8(packet[13..].to_vec()).unwrap();
    (code, &packet[7..13], text)
}

fn is_lost_connection(said: &[u8], part: &[u8], what: &str) {
    let packet = said.strip_prefix(part).unwrap();
    assert_eq!(packet[3], if part.is_empty() { 1 } else { 2 });
    let (code, state, text) = error(packet);
    assert_eq!((code, state), (2013, &b"#08S01"[..]), "{text}");
    assert!(text.contains(what) && !text.contains("query"), "{text}");
}

#[test]
fn an_idle_client_gets_its_backends_close_and_no_error() {
    let (config, close) = closing(false, b"");
    let proxy = start(|it| it.listeners = vec![listener(vec![config])]);
    let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "anybody", USUAL);
    close.send(()).unwrap();
    assert_eq!(client.rest(), b"");
    until("the end of the session", || proxy.sessions() == 0);
    let lost = onecopy_proxy::Reason::BackendLost;
    let failed = proxy.snapshot(false).counters.entrances[0].failed;
    assert_eq!(failed[lost as usize], 1, "it is counted all the same");
}

#[test]
fn a_client_in_a_command_is_told_that_the_connection_is_lost() {
    for (part, what) in PARTS {
        let (config, close) = closing(true, part);
        let proxy = start(|it| it.listeners = vec![listener(vec![config])]);
        let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "anybody", USUAL);
        client.command(b"\x03SELECT 1");
        let mut heard = vec![0; part.len()];
        client.stream.read_exact(&mut heard).unwrap();
        close.send(()).unwrap();
        heard.extend(client.rest());
        is_lost_connection(&heard, part, what);
    }
}

/// How long a client can still write behind the end of what it has heard, as a pool does that looks whether a connection is
/// still there.
fn time_to_close(client: &mut UnixStream) -> Duration {
    let ended = Instant::now();
    loop {
        match client.write(&packet(0, b"\x0E")) {
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::BrokenPipe);
                return ended.elapsed();
            }
        }
        assert!(ended.elapsed() < PATIENCE, "it is still open");
    }
}

/// The proxy waits a second for clients that are still sending, which these are not. A loaded machine may be slow, but not
/// every time.
fn closes_at_once(mut round: impl FnMut() -> Duration) {
    let times: Vec<_> = (0..5).map(|_| round()).collect();
    let least = times.iter().min().unwrap();
    assert!(*least < Duration::from_millis(500), "{times:?}");
}

#[test]
fn a_clients_unix_socket_is_closed_in_both_directions() {
    let idle: (&[u8], &str) = (b"", "");
    for (is_asked, (part, what)) in [(false, idle), (true, PARTS[0]), (true, PARTS[1])] {
        closes_at_once(|| {
            let (config, close) = closing(is_asked, part);
            let socket = unique("sock");
            let _proxy = front(config, &socket);
            let mut client = log_in(&socket);
            if is_asked {
                client.write_all(&packet(0, b"\x03SELECT 1")).unwrap();
            }
            let mut heard = vec![0; part.len()];
            client.read_exact(&mut heard).unwrap();
            close.send(()).unwrap();
            client.read_to_end(&mut heard).unwrap();
            match is_asked {
                true => is_lost_connection(&heard, part, what),
                false => assert_eq!(heard, b""),
            }
            let _ = std::fs::remove_file(&socket);
            time_to_close(&mut client)
        });
    }
}

#[test]
fn a_farewell_of_the_backends_is_followed_by_its_close() {
    const WORDS: &[u8] = b"\xFF\xBF\x0F#HY000idle";
    closes_at_once(|| {
        let (config, _) = backend(move |mut server| {
            server.say(&greeting()).unwrap();
            server.hear().unwrap();
            server.say(OK).unwrap();
            server.sequence = 0;
            server.say(WORDS).unwrap();
        });
        let socket = unique("sock");
        let _proxy = front(config, &socket);
        let mut client = log_in(&socket);
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, packet(0, WORDS));
        let _ = std::fs::remove_file(&socket);
        time_to_close(&mut client)
    });
}

#[test]
fn a_session_that_the_proxy_ends_is_closed_in_both_directions() {
    closes_at_once(|| {
        let (config, _close) = closing(false, b"");
        let socket = unique("sock");
        let proxy = front(config, &socket);
        let mut client = log_in(&socket);
        until("the login", || {
            proxy.snapshot(true).clients[0].state == "idle"
        });
        let id = proxy.snapshot(true).clients[0].id;
        assert_eq!(proxy.kill(None, id), onecopy_proxy::Killed::Yes);
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).unwrap();
        assert_eq!((heard[3], error(&heard).0), (0, 1927));
        let _ = std::fs::remove_file(&socket);
        time_to_close(&mut client)
    });
}

#[test]
fn every_kind_of_client_finds_its_idle_connection_closed() {
    let server = Server::start().unwrap();
    let backend = BackendConfig::new(loopback(server.port()));
    let front = sides().proxy(backend, |_| {});
    let connect = |way| {
        let of_server = Config::from_url(&server.url()).unwrap();
        let mut config = front.config(way);
        (config.user, config.password) = (of_server.user, of_server.password);
        let mut conn = Connection::connect_with(&config).unwrap();
        // Its last reply has been read.
        assert_eq!(text(&mut conn, "SELECT 'last'"), "last");
        conn
    };
    let clients = [Way::Plain, Way::Tls, Way::Socket].map(|way| (way, connect(way)));
    drop(server);
    until("the end of the sessions", || front.proxy.sessions() == 0);
    for (way, mut conn) in clients {
        let error = conn.ping().unwrap_err();
        assert!(
            error.is_closed() && error.server().is_none(),
            "{way:?}: {error}"
        );
    }
}
