//! Servers that do not report what changes in a session, as TiDB.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::{BackendConfig, ListenerConfig, Mode};

use crate::common::{loopback, text};
use crate::private::{Front, until};

/// A way to a server that takes the capability away in the server's greeting, for as long as it is told to.
struct Relay {
    port: u16,
    is_untracked: Arc<AtomicBool>,
}

impl Relay {
    fn before(server: &Endpoint) -> Self {
        let Endpoint::Tcp { port: server, .. } = *server else {
            unreachable!("{server:?}")
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_untracked = Arc::new(AtomicBool::new(true));
        let is_on = Arc::clone(&is_untracked);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let mut server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let greeting = greeting(&mut server, is_on.load(SeqCst));
                (&client).write_all(&greeting).unwrap();
                for (mut from, mut to) in [(&client, &server), (&server, &client)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { port, is_untracked }
    }
}

fn greeting(server: &mut TcpStream, is_untracked: bool) -> Vec<u8> {
    let mut packet = vec![0; 4];
    server.read_exact(&mut packet).unwrap();
    let len = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(4 + len as usize, 0);
    server.read_exact(&mut packet[4..]).unwrap();
    let version = &packet[5..];
    let version = version.iter().position(|byte| *byte == 0).unwrap();
    // Behind the version's end: thread id 4, nonce 8, filler 1, capabilities 2, collation 1, status 2, capabilities 2.
    let upper = 5 + version + 1 + 4 + 8 + 1 + 2 + 1 + 2;
    // CLIENT_SESSION_TRACK, 1 << 23.
    assert_eq!(packet[upper] & 0x80, 0x80, "the server has it");
    if is_untracked {
        packet[upper] &= !0x80;
    }
    packet
}

fn assert_refused(error: &onecopy_mysql::Error) {
    let server = error.server().unwrap_or_else(|| panic!("{error}"));
    let text = server.message.to_string();
    assert_eq!(server.code, 1429, "{text}");
    for part in ["CLIENT_SESSION_TRACK", "mode = \"pass\""] {
        assert!(text.contains(part), "{text}");
    }
}

fn put_relay(listener: &mut ListenerConfig) -> Relay {
    let relay = Relay::before(&listener.backends[0].endpoint);
    listener.backends[0].endpoint = loopback(relay.port);
    relay
}

#[test]
fn a_server_that_reports_no_changes_is_refused_and_works_on_a_pass_listener() {
    let mut relay = None;
    let front = Front::start(|listener| relay = Some(put_relay(listener)));
    let relay = relay.unwrap();
    // Each of them would see the other one's schema.
    for _ in 0..2 {
        assert_refused(&front.try_connect().err().unwrap());
    }
    // With a server that does.
    relay.is_untracked.store(false, SeqCst);
    until("the next try", || front.try_connect().is_ok());
    let (mut one, mut other) = (front.connect(), front.connect());
    one.run("USE information_schema").unwrap();
    assert_eq!(text(&mut other, "SELECT DATABASE()"), "NULL");
    // As after a switch to another one.
    relay.is_untracked.store(true, SeqCst);
    front.end_connections();
    // The way there takes its time.
    until("the end of the connections", || {
        let pools = front.proxy.snapshot(false).pools;
        pools.iter().all(|pool| pool.connections == 0)
    });
    assert_refused(&one.run("SELECT 1").unwrap_err());
    relay.is_untracked.store(false, SeqCst);
    until("the next try", || one.run("SELECT 1").is_ok());
    assert_eq!(text(&mut one, "SELECT DATABASE()"), "information_schema");
    relay.is_untracked.store(true, SeqCst);
    let pass = Front::start(|listener| {
        listener.mode = Mode::Pass;
        listener.accounts.clear();
        listener.backends[0].endpoint = loopback(relay.port);
    });
    let mut direct = onecopy_mysql::Config::from_url(&front.server.url()).unwrap();
    direct.endpoint = loopback(pass.proxy.tcp_address().unwrap().port());
    (direct.user, direct.password) = ("app".into(), "first".into());
    direct.database = None;
    let connect = || Connection::connect_with(&direct).unwrap();
    let (mut one, mut other) = (connect(), connect());
    one.run("USE information_schema").unwrap();
    assert_eq!(text(&mut one, "SELECT DATABASE()"), "information_schema");
    assert_eq!(text(&mut other, "SELECT DATABASE()"), "NULL");
}

#[test]
fn clients_go_to_the_servers_that_report_changes() {
    let mut relay = None;
    let front = Front::start(|listener| {
        let good = listener.backends[0].endpoint.clone();
        relay = Some(put_relay(listener));
        listener.backends.push(BackendConfig::new(good));
    });
    let mut clients: Vec<_> = (0..20).map(|_| front.connect()).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        // Some keep a connection each, so that there are several.
        client.run("BEGIN").unwrap();
        if at % 2 == 0 {
            client.run("USE information_schema").unwrap();
        }
        if at >= 4 {
            client.run("COMMIT").unwrap();
        }
    }
    for client in &mut clients {
        client.run("COMMIT").unwrap();
    }
    for (at, client) in clients.iter_mut().enumerate() {
        let schema = ["information_schema", "NULL"][at % 2];
        assert_eq!(text(client, "SELECT DATABASE()"), schema, "{at}");
    }
    drop(relay);
}
