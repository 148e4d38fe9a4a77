//! Which of the two sides are compressed, and by what.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_proxy::config::Offered;

use crate::common::{Chain, config_of, method, port, server_port, start, text, until};

const ZLIB: Algorithm = Algorithm::Zlib;
const ZSTD: Algorithm = Algorithm::Zstd;

/// A conversation with all kinds of replies.
fn talk(conn: &mut Connection) {
    conn.ping().unwrap();
    assert_eq!(text(conn, "SELECT 1"), "1");
    for length in [0, 40, 60, 90_000, 1_000_000] {
        let sql = format!("SELECT REPEAT('r', {length})");
        assert_eq!(text(conn, &sql).len(), length);
        let sql = format!("SELECT LENGTH('{}')", "q".repeat(length));
        assert_eq!(text(conn, &sql), length.to_string());
    }
    let error = conn.run("SELECT * FROM nothing_there").unwrap_err();
    assert_eq!(error.server().unwrap().code, 1146);
    let statement = conn.prepare("SELECT CONCAT(?, 'x')").unwrap();
    for value in ["a".to_owned(), "b".repeat(200_000)] {
        let mut rows = conn.execute(&statement, &[(&value[..]).into()]).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.bytes(0).unwrap().unwrap().len(), value.len() + 1);
        rows.finish().unwrap();
    }
    conn.close_statement(statement).unwrap();
    assert_eq!(text(conn, "SELECT 'behind'"), "behind");
}

#[test]
fn every_pair_of_sides_says_the_same() {
    let sides = [None, Some(method(ZLIB)), Some(method(ZSTD))];
    let name = |side: Option<Method>| side.map(|side| side.algorithm().name());
    for client in sides {
        for backend in sides {
            // The one in the middle has these two sides; its neighbours are clear on their others.
            let chain = Chain::new(server_port(), &[client, backend, None]);
            let mut conn = chain.connect();
            let expected = [
                [None, name(client)],
                [name(client), name(backend)],
                [name(backend), None],
            ];
            assert_eq!(chain.compression(), expected);
            talk(&mut conn);
        }
    }
}

#[test]
fn a_server_is_spoken_to_as_it_offers() {
    // MariaDB and MySQL have zlib.
    let proxy = start(server_port(), Offered::Backend, Some(method(ZLIB)));
    let mut conn = connect(port(&proxy)).unwrap();
    talk(&mut conn);
    let mut rows = conn
        .query("SHOW SESSION STATUS LIKE 'Compression'")
        .unwrap();
    let is_on: String = rows.next().unwrap().unwrap().get(1).unwrap();
    assert_eq!(is_on, "ON", "what the server itself says");
    rows.finish().unwrap();
    let client = proxy.snapshot(true).clients.remove(0);
    assert_eq!(client.client_compression, None);
    assert_eq!(client.backend_compression, Some("zlib"));
    let counts = proxy.snapshot(false).compression;
    assert!(counts.uncompressed_read > 1_000_000, "{counts:?}");
    assert!(
        counts.compressed_read * 20 < counts.uncompressed_read,
        "{counts:?}"
    );
    assert!(
        counts.compressed_written * 20 < counts.uncompressed_written,
        "{counts:?}"
    );
}

#[test]
fn a_backend_that_does_not_offer_it_is_an_error_that_says_what_to_do() {
    let last = start(server_port(), Offered::Off, None);
    let proxy = start(port(&last), Offered::Backend, Some(method(ZSTD)));
    let error = connect(port(&proxy)).unwrap_err();
    let error = error.server().unwrap();
    assert_eq!(error.code, 1429);
    let message = error.message.clone();
    assert!(
        message.contains("does not offer compression by zstd"),
        "{message}"
    );
    assert!(
        message.contains("protocol_compression_algorithms"),
        "{message}"
    );
}

#[test]
fn clients_are_offered_what_is_set() {
    use onecopy_mysql_proto::Capabilities;
    let (zlib, zstd) = (ZLIB.capability(), ZSTD.capability());
    let server = offered(server_port());
    for (setting, expected) in [
        (Offered::Backend, server),
        (Offered::Off, Capabilities::default()),
        (Offered::Zlib, zlib),
        (Offered::Zstd, zstd),
        (Offered::Both, zlib | zstd),
    ] {
        // What is said to the server changes nothing of it.
        for way in [None, Some(method(ZLIB))] {
            let proxy = start(server_port(), setting, way);
            assert_eq!(offered(port(&proxy)), expected, "{setting}");
        }
    }
}

/// What a greeting offers of compression.
fn offered(port: u16) -> onecopy_mysql_proto::Capabilities {
    use std::io::Read;
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut greeting = vec![0; usize::from(header[0])];
    stream.read_exact(&mut greeting).unwrap();
    let greeting = onecopy_mysql_proto::packet::Greeting::decode(&greeting).unwrap();
    let both = ZLIB.capability() | ZSTD.capability();
    greeting.capabilities.intersection(both)
}

#[test]
fn idle_sessions_hold_nothing_for_compression() {
    for algorithm in [ZLIB, ZSTD] {
        let way = Some(method(algorithm));
        let chain = Chain::new(server_port(), &[way, way, None]);
        let mut conns: Vec<_> = (0..50).map(|_| chain.connect()).collect();
        for conn in &mut conns {
            assert_eq!(text(conn, "SELECT REPEAT('r', 90000)").len(), 90_000);
        }
        for proxy in &chain.proxies {
            until("the return of the memory", || {
                let snapshot = proxy.snapshot(false);
                (snapshot.sessions, snapshot.buffers_in_use) == (50, 0)
                    && snapshot.buffer_bytes <= 256 << 10
            });
        }
    }
}

#[test]
fn sessions_wait_for_their_turn_where_memory_is_short() {
    let first = start(server_port(), Offered::Both, None);
    let proxy =
        crate::common::start_with(port(&first), Offered::Off, Some(method(ZLIB)), |config| {
            config.memory = 64 << 10
        });
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let mut conn = connect(port(&proxy)).unwrap();
            std::thread::spawn(move || {
                for _ in 0..20 {
                    assert_eq!(text(&mut conn, "SELECT REPEAT('r', 200000)").len(), 200_000);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    until("the return of the buffers", || {
        proxy.snapshot(false).buffers_in_use == 0
    });
}

fn connect(port: u16) -> Result<Connection, onecopy_mysql::Error> {
    Connection::connect_with(&config_of(port))
}
