//! What servers count against the proxy's host: after `max_connect_errors` connections that end before their login is
//! answered, without a success between them, they let nobody of that host in any more.
//!
//! They count by host, and not for 127.0.0.1, so these tests have an address of their own. `ONECOPY_SOAK=1` has a thousand
//! clients of each kind.

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_mysql_proto::packet::HandshakeResponse;
use onecopy_net::{ClientCertificates, Endpoint, TlsAcceptor, TlsServerOptions};
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config};
use onecopy_testkit::certificate::Authority;
use onecopy_testkit::own_network::{self, ADDRESS};
use onecopy_testkit::server::{Server, lacks};

use crate::basics::text;
use crate::common::{listener, until};
use crate::hostile_clients::ssl_request;
use crate::raw::{Raw, USUAL, packet, response};
use crate::sides::identity;

/// More of them than this one lock the host out.
const MAX_CONNECT_ERRORS: usize = 10;

/// `Host is blocked because of many connection errors`.
const BLOCKED: u16 = 1129;

/// How many clients of each kind there are.
fn clients() -> usize {
    match std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1") {
        true => 1_000,
        false => 3 * MAX_CONNECT_ERRORS,
    }
}

/// A server that resolves names and counts by host.
struct Scene {
    server: Server,
}

impl Scene {
    fn new() -> Self {
        let server = Server::builder()
            .argument("--bind-address=0.0.0.0")
            .argument("--skip-name-resolve=OFF")
            .argument(format!("--max-connect-errors={MAX_CONNECT_ERRORS}"))
            .argument("--performance-schema=ON")
            // So that zstd is not to be had from either.
            .argument("--loose-protocol-compression-algorithms=zlib,uncompressed")
            .start()
            .unwrap();
        let mut root = Connection::connect(&server.socket_url()).unwrap();
        root.run("CREATE USER honest@'%'").unwrap();
        Self { server }
    }

    fn backend(&self) -> BackendConfig {
        let host = ADDRESS.to_owned();
        let port = self.server.port();
        BackendConfig::new(Endpoint::Tcp { host, port })
    }

    fn proxy(&self, change: impl FnOnce(&mut Config)) -> Proxy {
        let mut config = Config {
            workers: 1,
            listeners: vec![listener(vec![self.backend()])],
            ..Config::default()
        };
        // Its logins would stand between those of the clients.
        config.health.interval = None;
        change(&mut config);
        Proxy::start(config).unwrap()
    }

    /// Whether the server lets this host in; a login that succeeds would have it begin to count again.
    fn is_blocked(&self) -> bool {
        let stream = TcpStream::connect((ADDRESS, self.server.port())).unwrap();
        let greeting = Raw::new(stream).hear().unwrap();
        let code = u16::from_le_bytes([greeting[1], greeting[2]]);
        greeting[0] == 0xFF && code == BLOCKED
    }

    /// A login through the proxy succeeds.
    fn let_in(&self, proxy: &Proxy, who: &str) {
        let port = proxy.tcp_address().unwrap().port();
        let url = format!("mysql://honest@127.0.0.1:{port}/");
        let connected = Connection::connect(&url).and_then(|mut conn| conn.ping());
        assert!(connected.is_ok(), "after {who}: {:?}", connected.err());
        assert_eq!(self.errors(), 0, "after {who}");
    }

    /// What counts towards `max_connect_errors`, of all hosts, once all other connections have ended.
    fn errors(&self) -> u64 {
        let mut root = Connection::connect(&self.server.socket_url()).unwrap();
        let connections = "SELECT COUNT(*) FROM information_schema.processlist \
                           WHERE command NOT IN ('Daemon', 'Sleep') OR user = 'unauthenticated user'";
        until("the end of the connections", || {
            text(&mut root, connections) == "1"
        });
        let sum = "SELECT COALESCE(SUM(SUM_CONNECT_ERRORS), 0) FROM performance_schema.host_cache";
        text(&mut root, sum).parse().unwrap()
    }

    /// Has the server forget what it has counted.
    fn forget(&self) {
        let mut root = Connection::connect(&self.server.socket_url()).unwrap();
        root.run("TRUNCATE TABLE performance_schema.host_cache")
            .unwrap();
    }
}

fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.tcp_address().unwrap()).unwrap()
}

/// Everything that still comes.
fn rest(mut stream: TcpStream) {
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut Vec::new());
}

/// The response of one whose password was hashed to this.
fn login(user: &str, plugin: &str, auth_response: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        capabilities: USUAL.difference(Capabilities::CONNECT_WITH_DB),
        max_packet_bytes: 1 << 24,
        collation: 45,
        user: user.as_bytes(),
        auth_response,
        database: None,
        auth_plugin: Some(plugin.as_bytes()),
        attributes: Default::default(),
        zstd_level: None,
    }
    .encode(&mut payload)
    .unwrap();
    payload
}

/// A client of one kind, from its connect to its end.
type Kind = (&'static str, fn(&Proxy));

/// Clients that leave before they log in, or send what is no login.
const KINDS: &[Kind] = &[
    ("close at once", |proxy| drop(connect(proxy))),
    ("close on the greeting", |proxy| {
        let port = proxy.tcp_address().unwrap().port();
        drop(Raw::connect(port));
    }),
    ("reset", |proxy| {
        let mut stream = connect(proxy);
        // What has arrived and is not read makes the close a reset.
        assert!(stream.peek(&mut [0]).is_ok());
        let _ = stream.read(&mut [0]);
    }),
    ("a request of HTTP", |proxy| {
        say(proxy, b"GET / HTTP/1.1\r\n\r\n")
    }),
    ("garbage", |proxy| say(proxy, &[0xFF; 64])),
    ("COM_QUIT", |proxy| say(proxy, &packet(1, &[1]))),
    ("an empty packet", |proxy| say(proxy, &packet(1, b""))),
    ("half a response", |proxy| {
        let whole = packet(1, &response("nobody", USUAL));
        say(proxy, &whole[..whole.len() / 2]);
    }),
    ("a cut response", |proxy| {
        say(proxy, &packet(1, &response("nobody", USUAL)[..40]));
    }),
    ("a packet out of sequence", |proxy| {
        say(proxy, &packet(2, &response("nobody", USUAL)));
    }),
    ("a request for TLS", |proxy| {
        say(proxy, &packet(1, &ssl_request()));
    }),
    ("a request for TLS with garbage behind it", |proxy| {
        say(proxy, &[packet(1, &ssl_request()), vec![7; 100]].concat());
    }),
    ("a response and no more", |proxy| {
        let port = proxy.tcp_address().unwrap().port();
        let (mut client, _) = Raw::connect(port);
        client.say(&login("honest", "unknown", b"")).unwrap();
    }),
    ("no answer to a switch", |proxy| {
        let port = proxy.tcp_address().unwrap().port();
        let (mut client, _) = Raw::connect(port);
        client.say(&login("honest", "unknown", b"")).unwrap();
        assert_eq!(client.hear().unwrap()[0], 0xFE);
    }),
    ("a hash of the wrong length", |proxy| {
        let port = proxy.tcp_address().unwrap().port();
        let (mut client, _) = Raw::connect(port);
        let guess = login("honest", "mysql_native_password", b"short");
        client.say(&guess).unwrap();
        let answer = client.hear().unwrap();
        if answer[0] == 0xFE {
            client.say(b"short").unwrap();
            rest(client.stream);
        }
    }),
];

/// Says that to the greeting, and is gone.
fn say(proxy: &Proxy, bytes: &[u8]) {
    let port = proxy.tcp_address().unwrap().port();
    let (mut client, _) = Raw::connect(port);
    let _ = std::io::Write::write_all(&mut client.stream, bytes);
}

#[test]
fn the_server_of_these_tests_locks_a_host_out() {
    if !own_network::is_here("host_cache::the_server_of_these_tests_locks_a_host_out") {
        return;
    }
    let scene = Scene::new();
    for _ in 0..MAX_CONNECT_ERRORS {
        let stream = TcpStream::connect((ADDRESS, scene.server.port())).unwrap();
        Raw::new(stream).hear().unwrap();
    }
    until("the lock-out", || scene.is_blocked());
    scene.forget();
    assert!(!scene.is_blocked());
}

#[test]
fn clients_that_leave_before_they_log_in_lock_nobody_out() {
    if !own_network::is_here("host_cache::clients_that_leave_before_they_log_in_lock_nobody_out") {
        return;
    }
    let scene = Scene::new();
    let certificate = Authority::new("the proxy's tests").server(&["127.0.0.1"]);
    let options = TlsServerOptions {
        identity: identity(&certificate),
        clients: ClientCertificates::Off,
    };
    let proxy = scene.proxy(|config| {
        config.workers = 2;
        config.listeners[0].tls = Some(TlsAcceptor::new(&options).unwrap());
    });
    for (kind, client) in KINDS {
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| (0..clients() / 8 + 1).for_each(|_| client(&proxy)));
            }
        });
        until("the end of the sessions", || proxy.sessions() == 0);
        scene.let_in(&proxy, kind);
    }
}

#[test]
fn the_proxys_own_login_is_not_counted_whatever_account_its_name_has() {
    let test = "host_cache::the_proxys_own_login_is_not_counted_whatever_account_its_name_has";
    if !own_network::is_here(test) {
        return;
    }
    let scene = Scene::new();
    let proxy = scene.proxy(|_| {});
    let mut root = Connection::connect(&scene.server.socket_url()).unwrap();
    // Where it has none a server asks for one of its accounts' plugins, so that nobody finds out.
    let _ = root.run("INSTALL SONAME 'auth_ed25519'");
    let _ = root.run("INSTALL SONAME 'auth_parsec'");
    for identified in [
        "",
        "BY 'a password'",
        "VIA ed25519 USING PASSWORD('a password')",
        "VIA parsec USING PASSWORD('a password')",
        "WITH caching_sha2_password BY 'a password'",
        "WITH sha256_password BY 'a password'",
    ] {
        let by = if identified.is_empty() {
            ""
        } else {
            "IDENTIFIED"
        };
        if let Err(error) = root.run(format!("CREATE USER onecopy@'%' {by} {identified}")) {
            let plugin = identified.split(' ').nth(1).unwrap();
            lacks(&format!("an account of {plugin}"), &error.to_string());
            continue;
        }
        for (kind, client) in KINDS {
            (0..3).for_each(|_| client(&proxy));
            until("the end of the sessions", || proxy.sessions() == 0);
            assert_eq!(scene.errors(), 0, "{identified}, {kind}");
        }
        root.run("DROP USER onecopy@'%'").unwrap();
    }
}

#[test]
fn slow_clients_lock_nobody_out() {
    if !own_network::is_here("host_cache::slow_clients_lock_nobody_out") {
        return;
    }
    let scene = Scene::new();
    let proxy = scene.proxy(|config| {
        config.listeners[0].handshake_timeout = Duration::from_millis(300);
    });
    let all: Vec<_> = (0..clients().min(500)).map(|_| connect(&proxy)).collect();
    all.into_iter().for_each(rest);
    until("the end of the sessions", || proxy.sessions() == 0);
    scene.let_in(&proxy, "slow clients");
}

#[test]
fn a_proxy_that_stops_leaves_no_greeting_unanswered() {
    if !own_network::is_here("host_cache::a_proxy_that_stops_leaves_no_greeting_unanswered") {
        return;
    }
    let scene = Scene::new();
    let proxy = scene.proxy(|_| {});
    let port = proxy.tcp_address().unwrap().port();
    let clients: Vec<_> = (0..3 * MAX_CONNECT_ERRORS)
        .map(|_| Raw::connect(port))
        .collect();
    proxy.stop();
    drop(clients);
    let proxy = scene.proxy(|_| {});
    scene.let_in(&proxy, "a stop");
}

#[test]
fn a_server_that_does_not_do_is_answered_all_the_same() {
    if !own_network::is_here("host_cache::a_server_that_does_not_do_is_answered_all_the_same") {
        return;
    }
    let scene = Scene::new();
    let zstd = scene.proxy(|config| {
        config.listeners[0].backends[0].compression = Some(Method::new(Algorithm::Zstd, 3));
    });
    for _ in 0..3 * MAX_CONNECT_ERRORS {
        rest(connect(&zstd));
    }
    until("the end of the sessions", || zstd.sessions() == 0);
    assert_eq!(scene.errors(), 0);
}

#[test]
fn a_server_that_hangs_for_a_while_lets_the_proxy_in_again() {
    if !own_network::is_here("host_cache::a_server_that_hangs_for_a_while_lets_the_proxy_in_again")
    {
        return;
    }
    let scene = Scene::new();
    let proxy = scene.proxy(|config| {
        config.listeners[0].backends[0].connect_timeout = Duration::from_millis(100);
    });
    let folder = scene.server.socket().parent().unwrap();
    let process = std::fs::read_to_string(folder.join("pid")).unwrap();
    let signal = |name: &str| {
        let killed = Command::new("kill").args([name, process.trim()]).status();
        assert!(killed.unwrap().success());
    };
    signal("-STOP");
    // Each is told that nobody answers.
    let clients: Vec<_> = (0..3 * MAX_CONNECT_ERRORS)
        .map(|_| connect(&proxy))
        .collect();
    clients.into_iter().for_each(rest);
    signal("-CONT");
    until("the end of the sessions", || proxy.sessions() == 0);
    // Connects of the time in which it hung come before these.
    until("its return", || {
        let port = proxy.tcp_address().unwrap().port();
        Connection::connect(&format!("mysql://honest@127.0.0.1:{port}/")).is_ok()
    });
    assert_eq!(scene.errors(), 0);
}
