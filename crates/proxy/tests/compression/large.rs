//! Values around 16 MiB, and of 256 MiB where `ONECOPY_SOAK=1` is set, both ways.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::{Algorithm, Method};

use crate::common::{Chain, config_of, method, server_port};

/// The longest body of a packet.
const MAX_BODY: usize = 0xFF_FFFF;

fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// Half of it shrinks, and no two pieces of it are alike.
fn value(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [a, b, c, d, ..] = state.to_le_bytes();
        [a, b, c, d, b'x', b'x', b'x', b'x']
    });
    bytes.flatten().take(length).collect()
}

/// A connection that takes what is that large.
fn connect(chain: &Chain) -> Connection {
    Connection::connect_with(&config_of(chain.port())).unwrap()
}

/// Sends a value and has it sent back.
fn there_and_back(conn: &mut Connection, value: &[u8]) {
    let statement = conn.prepare("SELECT ? AS v, LENGTH(?)").unwrap();
    let mut rows = conn
        .execute(&statement, &[value.into(), value.into()])
        .unwrap();
    let row = rows.next().unwrap().unwrap();
    let length: u64 = row.get(1).unwrap();
    assert_eq!(length, value.len() as u64);
    assert!(row.bytes(0).unwrap().unwrap() == value);
    rows.finish().unwrap();
    conn.close_statement(statement).unwrap();
}

fn set_limit() {
    let mut admin = Connection::connect(&onecopy_testkit::server::shared().url()).unwrap();
    admin
        .run("SET GLOBAL max_allowed_packet = 1073741824")
        .unwrap();
}

/// A way between two proxies, and the same to the server where it has it.
fn chains() -> Vec<Chain> {
    let zlib = Some(Method::new(Algorithm::Zlib, 1));
    let zstd = Some(method(Algorithm::Zstd));
    vec![
        Chain::new(server_port(), &[zlib, zlib]),
        Chain::new(server_port(), &[zstd, None]),
    ]
}

#[test]
fn values_around_16_mib_pass_both_ways() {
    set_limit();
    for chain in chains() {
        let mut conn = connect(&chain);
        // A row's body has the value, its length, and the count in front and behind.
        for length in [MAX_BODY - 1, MAX_BODY, MAX_BODY + 1] {
            for less in [0, 4, 9, 13] {
                if less == 0 || is_soak() {
                    there_and_back(&mut conn, &value(length - less));
                }
            }
        }
    }
}

/// The allocator is the system's: glibc's, which gives what is as large back at once. The test itself holds several times the
/// value, so that it is the proxies' own count that is looked at: buffers, and what compression borrows.
#[test]
fn the_proxies_memory_is_flat_while_large_values_pass() {
    set_limit();
    let length = if is_soak() { 256 << 20 } else { 20 << 20 };
    let value = value(length);
    for chain in chains() {
        let mut conn = connect(&chain);
        let is_over = AtomicBool::new(false);
        let peak = std::thread::scope(|scope| {
            let (over, chain) = (&is_over, &chain);
            let watch = scope.spawn(move || {
                let mut peak = 0;
                while !over.load(Relaxed) {
                    for proxy in &chain.proxies {
                        peak = peak.max(proxy.snapshot(false).buffer_bytes);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                peak
            });
            let says_so = Over(over);
            there_and_back(&mut conn, &value);
            drop(says_so);
            watch.join().unwrap()
        });
        assert!(peak > 0);
        assert!(peak < 4 << 20, "{peak} bytes");
    }
}

/// Says so also where the test fails.
struct Over<'t>(&'t AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
