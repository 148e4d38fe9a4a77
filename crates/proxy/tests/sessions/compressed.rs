//! Compression over TLS and over Unix sockets.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_proxy::config::{BackendConfig, Offered};

use crate::basics::text;
use crate::common::{loopback, until};
use crate::sides::{Way, sides};

#[test]
fn a_compressed_way_may_be_one_of_tls() {
    let sides = sides();
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for way in [Way::Tls, Way::Socket] {
            let method = Method::new(algorithm, 2);
            let server = BackendConfig {
                compression: (algorithm == Algorithm::Zlib).then_some(method),
                ..sides.backend(way)
            };
            let last = sides.proxy(server, |listener| listener.compression = Offered::Both);
            let between = BackendConfig {
                compression: Some(method),
                tls: Some(sides.connector(None)),
                ..BackendConfig::new(loopback(last.port()))
            };
            let first = sides.proxy(between, |_| {});
            let mut conn = Connection::connect_with(&first.config(Way::Tls)).unwrap();
            // Larger than any record, any frame and any buffer.
            assert_eq!(
                text(&mut conn, "SELECT REPEAT('r', 3000000)"),
                "r".repeat(3_000_000)
            );
            let sql = format!("SELECT CRC32('{}')", "w".repeat(3_000_000));
            assert_eq!(text(&mut conn, &sql), "2441614242");
            let client = last.proxy.snapshot(true).clients.remove(0);
            assert_eq!(client.client_compression, Some(algorithm.name()));
            conn.close().unwrap();
            until("the end of the session", || last.proxy.sessions() == 0);
            assert_eq!(last.proxy.snapshot(false).buffers_in_use, 0);
        }
    }
}
