//! Every end is told to the other side, and nothing is left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::server::Server;

use crate::basics::text;
use crate::common::{connect, listener, loopback, server_port, start, until, url};
use crate::raw::{OK, Raw, USUAL, backend, greeting, response};
use crate::sides::{Way, account, sides};

/// The code of the ERR packet that a client is greeted with.
fn refusal(mut stream: TcpStream) -> u16 {
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut packet = Vec::new();
    stream.read_to_end(&mut packet).unwrap();
    assert_eq!(packet.get(3..5), Some(&[0, 0xFF][..]), "{packet:?}");
    u16::from_le_bytes([packet[5], packet[6]])
}

#[test]
fn a_client_that_goes_takes_its_session_with_it() {
    let proxy = start(|_| {});
    let mut watcher = connect(&proxy);
    let conn = connect(&proxy);
    let id = conn.connection_id();
    drop(conn);
    until("the end of the session", || proxy.sessions() == 1);
    let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    until("the end of the server's thread", || {
        text(&mut watcher, &sql) == "0"
    });
}

#[test]
fn nobody_to_connect_to_is_said() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let proxy = start(|config| {
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(closed))])]
    });
    let stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    assert_eq!(refusal(stream), 1429);
    until("the end of the session", || proxy.sessions() == 0);
}

#[test]
fn a_connect_that_fails_is_tried_on_another_backend() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let backends = [closed, server_port()].map(|port| BackendConfig::new(loopback(port)));
    let proxy = start(|config| config.listeners = vec![listener(backends.to_vec())]);
    for _ in 0..4 {
        connect(&proxy).ping().unwrap();
    }
}

#[test]
fn too_many_clients_are_told_so() {
    let proxy = start(|config| config.max_connections = 2);
    let _held = (connect(&proxy), connect(&proxy));
    let stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    assert_eq!(refusal(stream), 1040);
}

#[test]
fn too_many_sessions_of_a_user_are_told_so() {
    let proxy = start(|config| config.listeners[0].max_user_connections = Some(1));
    let held = connect(&proxy);
    let error = Connection::connect(&url(&proxy)).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1203);
    drop(held);
    until("the end of the session", || proxy.sessions() == 0);
    connect(&proxy).ping().unwrap();
}

#[test]
fn who_is_not_let_in_takes_no_place_of_the_user() {
    account("places_a", "");
    let front = sides().proxy(sides().backend(Way::Plain), |listener| {
        listener.max_user_connections = Some(1);
    });
    let (mut nobody, _) = Raw::connect(front.port());
    // The server asks for another plugin, and nobody answers.
    let guess = response("places_a", USUAL);
    let name = guess.len() - b"mysql_native_password\0".len();
    nobody
        .say(&[&guess[..name], b"a_plugin\0"].concat())
        .unwrap();
    assert_eq!(nobody.hear().unwrap()[0], 0xFE);
    let first = Raw::log_in(front.port(), "places_a", USUAL);
    let mut second = Raw::connect(front.port()).0;
    second.say(&guess).unwrap();
    let mut answer = second.hear().unwrap();
    if answer[0] == 0xFE {
        second.say(b"\0").unwrap();
        answer = second.hear().unwrap();
    }
    assert_eq!(answer[..3], [0xFF, 0xB3, 0x04], "1203");
    drop((nobody, first, second));
    until("the end of the sessions", || front.proxy.sessions() == 0);
    Raw::log_in(front.port(), "places_a", USUAL);
}

/// COM_CHANGE_USER to one without a password; the first byte of the last answer, and the error's number.
fn change_user(client: &mut Raw, user: &str) -> (u8, u16) {
    let body = format!("\x11{user}\0\0test\0\x2D\0mysql_native_password\0");
    client.command(body.as_bytes());
    let mut answer = client.hear().unwrap();
    if answer[0] == 0xFE {
        let is_sha2 = answer[1..].starts_with(b"caching_sha2_password");
        client.say(if is_sha2 { b"\0" } else { b"" }).unwrap();
        answer = client.hear().unwrap();
    }
    (answer[0], u16::from_le_bytes([answer[1], answer[2]]))
}

#[test]
fn a_change_of_user_takes_a_place_of_the_other_one() {
    for user in ["places_b", "places_c", "places_d"] {
        account(user, "");
    }
    let front = sides().proxy(sides().backend(Way::Plain), |listener| {
        listener.max_user_connections = Some(1);
    });
    let log_in = |user: &str| Raw::log_in(front.port(), user, USUAL);
    let (mut b, c) = (log_in("places_b"), log_in("places_c"));
    assert_eq!(change_user(&mut b, "places_b").0, 0, "to the same one");
    assert_eq!(change_user(&mut b, "places_d").0, 0);
    // The place that was left is free, the one that was taken is not.
    let mut other = log_in("places_b");
    let names = || {
        let clients = front.proxy.snapshot(true).clients;
        let mut names: Vec<_> = clients.into_iter().map(|client| client.user).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(), ["places_b", "places_c", "places_d"]);
    assert_eq!(change_user(&mut other, "places_d"), (0xFF, 1203));
    assert_eq!(other.rest(), b"", "as servers close behind it");
    // One in parts is looked at as well.
    let mut other = log_in("places_b");
    other.stream.write_all(b"\x20\0\0\0\x11places").unwrap();
    until("the part", || {
        front.proxy.snapshot(false).buffers_in_use == 1
    });
    other
        .stream
        .write_all(b"_c\0\0test\0\x2D\0and more\0")
        .unwrap();
    other.sequence = 1;
    assert_eq!(other.last_error(), 1203);
    drop(c);
    until("the end of two", || front.proxy.sessions() == 1);
    assert_eq!(change_user(&mut b, "places_c").0, 0);
}

#[test]
fn a_client_that_says_nothing_is_told_to_go() {
    let proxy = start(|config| config.listeners[0].handshake_timeout = Duration::from_millis(300));
    let mut stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    let greeting = 4 + usize::from(said[0]) + (usize::from(said[1]) << 8);
    assert_eq!(said[greeting..][3..5], [1, 0xFF], "{said:?}");
    until("the end of the session", || proxy.sessions() == 0);
}

#[test]
fn bytes_that_are_no_login_end_the_session_alone() {
    let proxy = start(|_| {});
    let mut conn = connect(&proxy);
    for noise in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xFF; 100],
        &[0; 64],
        &[3, 0, 0, 1, 1, 2, 3],
    ] {
        let mut stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
        stream.write_all(noise).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
    }
    conn.ping().unwrap();
    until("the end of the sessions", || proxy.sessions() == 1);
}

#[test]
fn a_backend_that_closes_at_any_byte_is_told_of() {
    // A server of a few words: what a real one sent, cut at each of its bytes.
    let mut real = TcpStream::connect(("127.0.0.1", server_port())).unwrap();
    let mut header = [0; 4];
    real.read_exact(&mut header).unwrap();
    let mut greeting = header.to_vec();
    greeting.resize(4 + usize::from(header[0]), 0);
    real.read_exact(&mut greeting[4..]).unwrap();
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = backend.local_addr().unwrap().port();
    let proxy =
        start(|config| config.listeners = vec![listener(vec![BackendConfig::new(loopback(port))])]);
    let address = proxy.tcp_address().unwrap();
    for cut in 0..=greeting.len() {
        let client = TcpStream::connect(address).unwrap();
        let (mut server, _) = backend.accept().unwrap();
        server.write_all(&greeting[..cut]).unwrap();
        drop(server);
        if cut < greeting.len() {
            assert_eq!(refusal(client), 1429, "cut at {cut}");
        } else {
            let mut said = Vec::new();
            let mut client = client;
            client.read_to_end(&mut said).unwrap();
            assert!(said.len() > greeting.len() + 7, "{said:?}");
            assert_eq!(said[greeting.len() + 4..][..3], [0xFF, 0xDD, 0x07], "2013");
        }
    }
    until("the end of the sessions", || proxy.sessions() == 0);
}

#[test]
fn an_idle_client_is_told_of_its_backends_end() {
    let proxy = start(|_| {});
    let (mut conn, mut other) = (connect(&proxy), connect(&proxy));
    other.run(format!("KILL {}", conn.connection_id())).unwrap();
    until("the end of the session", || proxy.sessions() == 1);
    let error = conn.ping().unwrap_err();
    assert!(error.is_closed() || error.server().is_some(), "{error}");
}

#[test]
fn a_drain_waits_for_transactions() {
    let proxy = start(|_| {});
    let (mut idle, mut busy) = (connect(&proxy), connect(&proxy));
    idle.ping().unwrap();
    busy.run("BEGIN").unwrap();
    proxy.drain();
    until("the end of the idle session", || proxy.sessions() == 1);
    assert_eq!(
        idle.ping().unwrap_err().server().map(|error| error.code),
        Some(1053)
    );
    assert!(TcpStream::connect(proxy.tcp_address().unwrap()).is_err());
    busy.run("DO 1").unwrap();
    busy.run("COMMIT").unwrap();
    until("the end of the other session", || proxy.sessions() == 0);
}

#[test]
fn unix_sockets_lead_in_and_out() {
    let socket = onecopy_testkit::server::shared().socket_url();
    let path = socket
        .split("socket=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let path = path.replace("%2F", "/");
    let folder = std::env::temp_dir().join(format!("onecopy-proxy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let front = folder.join("proxy.sock");
    let proxy = start(|config| {
        let mut listener = listener(vec![BackendConfig::new(Endpoint::Unix(path.into()))]);
        listener.listen.push(Endpoint::Unix(front.clone()));
        config.listeners = vec![listener];
    });
    connect(&proxy).ping().unwrap();
    let encoded = front.to_str().unwrap().replace('/', "%2F");
    let url = socket.split("socket=").next().unwrap().to_owned() + "socket=" + &encoded;
    Connection::connect(&url).unwrap().ping().unwrap();
    drop(proxy);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_client_that_goes_on_sending_hears_why_the_proxy_stops() {
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let (config, thread) = backend(move |mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        server.say(OK).unwrap();
        // And reads nothing from then on.
        let _ = ends.recv();
    });
    let proxy = start(|it| it.listeners = vec![listener(vec![config])]);
    let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "app", USUAL);
    let mut writer = client.stream.try_clone().unwrap();
    // More than kernels keep, so that some of it waits to be read when the proxy stops.
    let sender = std::thread::spawn(move || {
        let mut packet = vec![b' '; 4 + 0xFF_FFFF];
        packet[..5].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0, 3]);
        while writer.write_all(&packet).is_ok() {}
    });
    until("what the backend does not take", || {
        proxy.snapshot(false).buffers_in_use == 1
    });
    let stops = std::thread::spawn(move || proxy.stop());
    client.sequence = 1;
    let last = client.hear().unwrap();
    assert_eq!(last[..3], [0xFF, 0x1D, 0x04], "1053");
    // Its end, and not a reset that takes back what was sent.
    assert_eq!(client.stream.read(&mut [0; 10]).unwrap(), 0);
    client.stream.shutdown(std::net::Shutdown::Both).unwrap();
    stops.join().unwrap();
    sender.join().unwrap();
    drop(end);
    thread.join().unwrap();
}

#[test]
fn a_lost_backend_is_told_of_as_the_clients_library_understands_it() {
    let mut server = Server::start().unwrap();
    let proxy = start(|config| {
        let backend = BackendConfig::new(loopback(server.port()));
        config.listeners = vec![listener(vec![backend])];
    });
    let mut config = Config::from_url(&server.url()).unwrap();
    config.endpoint = loopback(proxy.tcp_address().unwrap().port());
    let own = Connection::connect_with(&config).unwrap();
    config.attributes = vec![("_client_name".into(), "libmariadb".into())];
    let libmariadb = Connection::connect_with(&config).unwrap();
    let asleep = [own, libmariadb]
        .map(|mut conn| std::thread::spawn(move || conn.run("SELECT SLEEP(300)").unwrap_err()));
    until("both commands", || {
        let clients = proxy.snapshot(true).clients;
        clients.iter().all(|client| client.state == "command")
    });
    server.kill();
    let [error, silence] = asleep.map(|thread| thread.join().unwrap());
    let told = error.server().unwrap();
    assert_eq!(
        (told.code, told.sql_state.as_deref()),
        (2013, Some("08S01"))
    );
    assert!(
        silence.server().is_none() && silence.is_closed(),
        "{silence}"
    );
    until("the end of the sessions", || proxy.sessions() == 0);
}

#[test]
fn a_client_that_has_closed_its_half_and_got_its_reply_is_gone_where_the_backend_stays() {
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let (backend, thread) = backend(move |mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        server.say(OK).unwrap();
        server.sequence = 0;
        server.hear().unwrap();
        // The client's end comes before the reply, and is no reason to close for this one.
        assert_eq!(server.rest(), b"");
        server.say(OK).unwrap();
        let _ = ends.recv();
    });
    let proxy = start(|config| config.listeners = vec![listener(vec![backend])]);
    let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "somebody", USUAL);
    client.command(b"\x0E");
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.hear().unwrap(), OK);
    until("the end of the session", || proxy.sessions() == 0);
    drop(end);
    thread.join().unwrap();
}
