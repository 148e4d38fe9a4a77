//! Servers that have as many connections as their own `max_connections`: they are full, not down.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config, HealthLogin, Role, Secret};
use onecopy_testkit::server::Server;

use crate::basics::text;
use crate::common::{listener, loopback, until};
use crate::raw::PATIENCE;

/// The least that servers have.
const MAX_CONNECTIONS: usize = 10;

/// `Too many connections`.
const FULL: u16 = 1040;

fn server() -> Server {
    Server::builder()
        .argument(format!("--max-connections={MAX_CONNECTIONS}"))
        .root_password("root")
        .start()
        .unwrap()
}

/// Takes all connections that the server has, past the proxy.
fn fill(server: &Server) -> Vec<Connection> {
    let mut all = Vec::new();
    loop {
        match Connection::connect(&server.socket_url()) {
            Ok(conn) => all.push(conn),
            Err(error) => {
                assert_eq!(error.server().unwrap().code, FULL, "{error}");
                return all;
            }
        }
    }
}

fn backend(server: &Server, role: Role) -> BackendConfig {
    BackendConfig {
        role,
        ..BackendConfig::new(loopback(server.port()))
    }
}

fn proxy(backends: Vec<BackendConfig>, change: impl FnOnce(&mut Config)) -> Proxy {
    let mut config = Config {
        workers: 1,
        listeners: vec![listener(backends)],
        ..Config::default()
    };
    config.health.interval = None;
    change(&mut config);
    Proxy::start(config).unwrap()
}

fn connect(proxy: &Proxy) -> Result<Connection, onecopy_mysql::Error> {
    let port = proxy.tcp_address().unwrap().port();
    Connection::connect(&format!("mysql://root:root@127.0.0.1:{port}/"))
}

fn port(conn: &mut Connection) -> u16 {
    text(conn, "SELECT @@port").parse().unwrap()
}

#[test]
fn a_full_server_says_so_itself_and_is_up() {
    let server = server();
    let held = fill(&server);
    for login in [false, true] {
        let proxy = proxy(vec![backend(&server, Role::Any)], |config| {
            config.health.interval = Some(Duration::from_millis(20));
            config.health.fall = 1;
            config.health.login = login.then(|| HealthLogin {
                user: "root".into(),
                password: Secret::new("root"),
            });
        });
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            let error = connect(&proxy).unwrap_err();
            assert_eq!(error.server().unwrap().code, FULL, "{error}");
            let (_, _, is_up, failed) = proxy.servers().remove(0);
            assert!(is_up);
            assert_eq!(failed, 0);
        }
    }
    drop(held);
}

#[test]
fn clients_wait_in_the_queue_until_a_full_server_has_room() {
    let server = server();
    let proxy = proxy(vec![backend(&server, Role::Any)], |config| {
        config.queue_timeout = PATIENCE;
    });
    let mut held = fill(&server);
    std::thread::scope(|threads| {
        let clients: Vec<_> = (0..4)
            .map(|_| threads.spawn(|| connect(&proxy).and_then(|mut conn| conn.ping())))
            .collect();
        let waiting = || {
            let clients = proxy.snapshot(true).clients;
            clients.len() == 4 && clients.iter().any(|client| client.state == "queue")
        };
        until("the queue", waiting);
        // Attempts continue, and are no storm.
        std::thread::sleep(Duration::from_millis(600));
        assert!(clients.iter().all(|client| !client.is_finished()));
        held.truncate(4);
        for client in clients {
            client.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_client_that_waits_too_long_for_a_full_server_is_told() {
    let server = server();
    let proxy = proxy(vec![backend(&server, Role::Any)], |config| {
        config.queue_timeout = Duration::from_millis(700);
    });
    let _held = fill(&server);
    let error = connect(&proxy).unwrap_err();
    assert_eq!(error.server().unwrap().code, FULL, "{error}");
}

#[test]
fn another_server_gets_the_sessions_of_a_full_one_and_a_backup_does_not() {
    let (full, free) = (server(), server());
    let _held = fill(&full);
    let both = vec![backend(&full, Role::Any), backend(&free, Role::Any)];
    let proxy_of_two = proxy(both, |_| {});
    let mut conns: Vec<_> = (0..3).map(|_| connect(&proxy_of_two).unwrap()).collect();
    for conn in &mut conns {
        assert_eq!(port(conn), free.port());
    }
    let failed: Vec<_> = proxy_of_two.servers().into_iter().map(|it| it.3).collect();
    assert_eq!(failed, [0, 0]);
    let with_backup = vec![backend(&full, Role::Any), backend(&free, Role::Backup)];
    let error = connect(&proxy(with_backup, |_| {})).unwrap_err();
    assert_eq!(error.server().unwrap().code, FULL, "{error}");
}
