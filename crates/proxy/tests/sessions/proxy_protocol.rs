//! Headers of the PROXY protocol: from clients, and to the backend.

use std::io::Write;
use std::net::TcpStream;

use onecopy_mysql::blocking::Connection;
use onecopy_net::proxy_protocol::Addresses;
use onecopy_testkit::server::{ServerKind, lacks};

use crate::basics::text;
use crate::common::until;
use crate::sides::{Front, Way, account, sides};

/// Of the addresses that are for documentation.
const CLIENT: &str = "192.0.2.7:4711";

fn headers() -> [Vec<u8>; 2] {
    let addresses = Addresses::Tcp {
        source: CLIENT.parse().unwrap(),
        destination: "192.0.2.1:3306".parse().unwrap(),
    };
    let text = b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 3306\r\n".to_vec();
    [text, addresses.to_v2().to_vec()]
}

/// A client behind a header.
fn connect(front: &Front, way: Way, header: &[u8]) -> Connection {
    let mut stream = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
    stream.write_all(header).unwrap();
    let config = front.config_of(way, "behind_proxies", "");
    Connection::from_stream(&config, stream.into()).unwrap()
}

#[test]
fn clients_say_who_they_are_and_the_backend_is_told() {
    account("behind_proxies", "");
    let tells_backend = sides().server.kind() == ServerKind::MariaDb;
    if !tells_backend {
        lacks("headers of the PROXY protocol", "MySQL takes none");
    }
    for backend_way in [Way::Plain, Way::Tls] {
        let mut backend = sides().backend(backend_way);
        backend.sends_proxy_header = tells_backend;
        let front = sides().proxy(backend, |listener| listener.expects_proxy_header = true);
        for header in headers() {
            for way in [Way::Plain, Way::Tls] {
                let mut conn = connect(&front, way, &header);
                assert_eq!(conn.tls().is_some(), way == Way::Tls);
                let client = front.proxy.snapshot(true).clients.remove(0);
                assert_eq!(client.address, CLIENT);
                if tells_backend {
                    let sql = "SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
                    assert_eq!(text(&mut conn, sql), CLIENT);
                }
                drop(conn);
                until("the end of the session", || front.proxy.sessions() == 0);
            }
        }
    }
}

#[test]
fn the_backend_is_told_of_clients_that_say_nothing() {
    if sides().server.kind() == ServerKind::MySql {
        return lacks("headers of the PROXY protocol", "MySQL takes none");
    }
    account("behind_proxies_b", "");
    let mut backend = sides().backend(Way::Plain);
    backend.sends_proxy_header = true;
    let front = sides().proxy(backend, |_| {});
    let stream = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
    let own = stream.local_addr().unwrap().to_string();
    let config = front.config_of(Way::Plain, "behind_proxies_b", "");
    let mut conn = Connection::from_stream(&config, stream.into()).unwrap();
    let sql = "SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    assert_eq!(text(&mut conn, sql), own);
}

#[test]
fn a_client_without_a_header_gets_no_answer() {
    use std::io::Read;
    let front = sides().proxy(sides().backend(Way::Plain), |listener| {
        listener.expects_proxy_header = true;
    });
    for noise in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0; 40],
        b"PROXY TCP4 nobody\r\n",
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
        stream.write_all(noise).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        assert_eq!(said, b"");
    }
    until("the end of the sessions", || front.proxy.sessions() == 0);
}

#[test]
fn a_client_too_many_hears_so_behind_its_header() {
    use std::io::Read;
    let front = sides().proxy_with(sides().backend(Way::Plain), |config| {
        config.max_connections = 1;
        config.listeners[0].expects_proxy_header = true;
    });
    let _first = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
    until("the first", || front.proxy.sessions() == 1);
    for header in headers() {
        let mut stream = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
        stream.write_all(&header).unwrap();
        // A header takes no answer, so that a client may be long in reading one.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        assert_eq!(said.get(3..7), Some(&[0, 0xFF, 0x10, 0x04][..]), "1040");
    }
}
