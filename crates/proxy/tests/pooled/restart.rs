//! A server that is killed and comes back at its address.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::Server;

use crate::common::text;
use crate::private::{Front, counted, until};

const CLIENTS: usize = 50;

/// A server at the address of another one, which is gone.
fn another_at(port: u16) -> Server {
    let server = Server::builder().argument(format!("--port={port}"));
    server.start().unwrap()
}

#[test]
fn sessions_go_on_when_their_server_has_come_back() {
    let mut front = Front::start(|listener| listener.pool.failover_timeout = Duration::ZERO);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let sql = format!("SET SESSION lock_wait_timeout = {}", 1_000 + number);
        client.run(sql).unwrap();
    }
    let mut open = front.connect();
    open.run("BEGIN").unwrap();
    open.run("DO 1").unwrap();
    let port = front.server.port();
    front.server.kill();
    // What was open is lost with the server, and its client is told with its next command.
    until("the loss is seen", || {
        let clients = front.proxy.snapshot(true).clients;
        // None of them is gone for that.
        clients.len() == CLIENTS + 1 && clients.iter().all(|client| client.backend_id == 0)
    });
    let error = open.run("DO 1").unwrap_err();
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(server.code, 2013, "{error}");
    let told = server.message.to_string();
    assert!(
        told.contains("between commands (its transaction was not committed)"),
        "{told}"
    );
    assert!(open.run("DO 1").unwrap_err().is_closed());
    for client in &mut clients {
        let error = client.run("DO 1").unwrap_err();
        let server = error.server().unwrap_or_else(|| panic!("{error}"));
        assert_eq!(server.code, 1429, "{}", server.message);
    }
    let server = another_at(port);
    let mut direct = Connection::connect(&server.socket_url()).unwrap();
    direct
        .run("CREATE USER app@'%' IDENTIFIED BY 'first'")
        .unwrap();
    let before = counted(&mut direct, "Connections");
    until("the server is used again", || {
        clients[0].run("DO 1").is_ok()
    });
    std::thread::scope(|scope| {
        for (number, client) in clients.iter_mut().enumerate() {
            scope.spawn(move || {
                let set = text(client, "SELECT @@lock_wait_timeout");
                assert_eq!(set, (1_000 + number).to_string());
            });
        }
    });
    // The pool's, and those that found it still refusing.
    let connects = counted(&mut direct, "Connections") - before;
    assert!(
        connects <= 16,
        "{connects} connections for {CLIENTS} clients"
    );
}

/// Nobody knows yet what to greet clients with.
#[test]
fn a_server_that_stands_still_is_asked_again_and_blamed_in_the_end() {
    let (soon, late) = (Duration::from_millis(100), Duration::from_secs(60));
    let connects = |front: &Front| front.proxy.snapshot(false).pools[0].connects;
    let mut front = Front::start(|listener| {
        listener.handshake_timeout = late;
        listener.backends[0].connect_timeout = soon;
    });
    front.server.pause();
    let config = front.client();
    std::thread::scope(|scope| {
        let client = scope.spawn(|| Connection::connect_with(&config).unwrap());
        until("it is asked again", || connects(&front) >= 3);
        front.server.resume();
        assert_eq!(text(&mut client.join().unwrap(), "SELECT 1"), "1");
    });
    let mut front = Front::start(|listener| listener.handshake_timeout = soon);
    front.server.pause();
    let error = front.try_connect().unwrap_err();
    front.server.resume();
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(server.code, 1429, "{}", server.message);
    assert!(
        server.message.to_string().contains("does not answer"),
        "{}",
        server.message
    );
}
