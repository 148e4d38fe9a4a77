//! A client that compresses, frame by frame.

use std::io::Write;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::Algorithm;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::Offered;
use onecopy_testkit::server::shared;

use crate::common::{method, port, server_port, start, until};
use crate::packed::{Packed, packet, stored};

/// `select "012345678901234567890123456789012345"` in a frame, as MySQL's documentation of the protocol has it.
const QUERY_FRAME: &[u8] = &[
    0x22, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00, // 34 bytes, sequence id 0, 50 bytes before
    0x78, 0x9C, 0xD3, 0x63, 0x60, 0x60, 0x60, 0x2E, 0x4E, 0xCD, 0x49, 0x4D, 0x2E, 0x51, 0x50, 0x32,
    0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0xC4, 0xCD, 0x52, 0x02, 0x00, 0x0C, 0xD1,
    0x0A, 0x6C,
];

const PING: &[u8] = b"\x0E";

/// An account without a password that has all rights on the database `test`.
pub(crate) fn account(name: &str) {
    let mut conn = Connection::connect(&shared().url()).unwrap();
    let drop = format!("DROP USER IF EXISTS {name}@'%'");
    let create = format!("CREATE USER {name}@'%'");
    let grant = format!("GRANT ALL ON test.* TO {name}@'%'");
    for sql in [drop, create, grant] {
        conn.run(&sql).unwrap();
    }
}

/// Proxies whose clients compress: the backend is clear, compressed, and compressed by another algorithm's proxy.
pub(crate) fn proxies() -> Vec<Proxy> {
    [None, Some(method(Algorithm::Zlib))]
        .map(|way| start(server_port(), Offered::Both, way))
        .into()
}

#[test]
fn a_documented_frame_is_answered() {
    account("packed_a");
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "packed_a", Algorithm::Zlib);
        for _ in 0..2 {
            client.send(QUERY_FRAME);
            client.expect(1);
            let answer = client.answer().unwrap();
            assert_eq!(answer, b"012345678901234567890123456789012345");
        }
    }
}

#[test]
fn frames_that_come_byte_by_byte_are_read() {
    account("packed_b");
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "packed_b", Algorithm::Zlib);
        for byte in QUERY_FRAME {
            client.send(&[*byte]);
        }
        client.expect(1);
        assert_eq!(client.answer().unwrap().len(), 36);
    }
}

#[test]
fn a_command_may_be_cut_over_frames_anywhere() {
    account("packed_c");
    let command = packet(0, b"\x03SELECT 'cut'");
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "packed_c", Algorithm::Zlib);
        for cut in 1..command.len() {
            client.send(&stored(0, &command[..cut]));
            client.send(&stored(1, &command[cut..]));
            client.expect(2);
            assert_eq!(client.answer().unwrap(), b"cut");
        }
        // A frame for each byte, and one of none.
        client.send(&stored(0, b""));
        for (id, byte) in (1..).zip(&command) {
            client.send(&stored(id, &[*byte]));
        }
        client.expect(u8::try_from(command.len()).unwrap() + 1);
        assert_eq!(client.answer().unwrap(), b"cut");
    }
}

#[test]
fn commands_that_are_sent_ahead_are_answered_each_from_its_own_frames() {
    account("packed_d");
    let one = packet(0, b"\x03SELECT REPEAT('a', 300)");
    let two = packet(0, b"\x03SELECT REPEAT('b', 200000)");
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "packed_d", Algorithm::Zlib);
        let mut all = stored(0, &one);
        all.extend(stored(0, &two[..9]));
        all.extend(stored(1, &two[9..]));
        all.extend(stored(0, &packet(0, PING)));
        client.send(&all);
        for (first, length) in [(1, 300), (2, 200_000)] {
            client.expect(first);
            assert_eq!(client.answer().unwrap().len(), length);
        }
        client.expect(1);
        assert_eq!(client.answer().unwrap(), b"");
        // And those that share a frame.
        let both = [&one[..], &packet(0, PING)].concat();
        client.send(&stored(0, &both));
        client.expect(1);
        assert_eq!(client.answer().unwrap().len(), 300);
        client.expect(1);
        assert_eq!(client.answer().unwrap(), b"");
    }
}

#[test]
fn a_file_of_the_clients_is_loaded() {
    account("packed_e");
    let mut admin = Connection::connect(&shared().url()).unwrap();
    admin.run("SET GLOBAL local_infile = ON").unwrap();
    admin.run("DROP TABLE IF EXISTS test.packed_e").unwrap();
    admin.run("CREATE TABLE test.packed_e (a INT)").unwrap();
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for proxy in proxies() {
            let mut client = Packed::log_in(port(&proxy), "packed_e", algorithm);
            client.command(b"\x03LOAD DATA LOCAL INFILE 'any' INTO TABLE packed_e");
            assert_eq!(client.hear().unwrap(), b"\xFBany");
            let lines = b"1\n".repeat(50_000);
            let packets = [packet(2, b"2\n"), packet(3, &lines), packet(4, b"")];
            client.say(&packets.concat());
            assert_eq!(client.answer(), Ok(Vec::new()));
            let count = client.ask("SELECT COUNT(*) FROM packed_e").unwrap();
            assert_eq!(count, b"50001");
            client.ask("DELETE FROM packed_e").unwrap();
        }
    }
    admin.run("DROP TABLE test.packed_e").unwrap();
}

#[test]
fn the_proxys_own_errors_are_compressed() {
    account("packed_f");
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let proxy = start(server_port(), Offered::Both, None);
        let mut client = Packed::log_in(port(&proxy), "packed_f", algorithm);
        client.ask("SELECT 1").unwrap();
        let id = proxy.snapshot(true).clients[0].id;
        assert_eq!(proxy.kill(None, id), onecopy_proxy::Killed::Yes);
        // Nothing was asked: it begins again, as does one without compression.
        client.expect(0);
        assert_eq!(client.last_error(), 1927);
        until("the end of the session", || proxy.sessions() == 0);
    }
}

#[test]
fn a_client_that_is_gone_in_the_middle_of_a_frame_leaves_nothing() {
    account("packed_g");
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for proxy in proxies() {
            for cut in [1, 6, 7, 8, 20, 40] {
                let mut client = Packed::log_in(port(&proxy), "packed_g", algorithm);
                client.ask("SELECT 1").unwrap();
                let mut encoder = onecopy_mysql_proto::compression::Encoder::new();
                let command = packet(
                    0,
                    &[b"\x03SELECT ", &b"1+ 2 * 3 - ".repeat(5000)[..], b"1"].concat(),
                );
                let (frame, _) = encoder.frame(method(algorithm), 0, &command).unwrap();
                client.send(&frame[..cut.min(frame.len() - 1)]);
                drop(client);
            }
            until("the end of the sessions", || {
                let snapshot = proxy.snapshot(false);
                (snapshot.sessions, snapshot.buffers_in_use) == (0, 0)
            });
            until("the return of the memory", || {
                proxy.snapshot(false).buffer_bytes == 0
            });
        }
    }
}

#[test]
fn a_client_that_reads_late_gets_all_of_it() {
    account("packed_h");
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "packed_h", Algorithm::Zlib);
        // Digests do not shrink to nothing: more than sockets hold.
        let sql = "SELECT GROUP_CONCAT(SHA2(CONCAT(a.n, '.', b.n), 512) SEPARATOR '') FROM \
                   (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 400) \
                   SELECT n FROM r) a, (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 \
                   FROM r WHERE n < 400) SELECT n FROM r) b";
        client
            .ask("SET SESSION group_concat_max_len = 1 << 30")
            .unwrap();
        client.command(&[b"\x03", sql.as_bytes()].concat());
        until("something to read", || {
            client.stream.peek(&mut [0]).unwrap() > 0
        });
        until("a full socket", || {
            let before = proxy.snapshot(false).compression;
            std::thread::sleep(std::time::Duration::from_millis(50));
            proxy.snapshot(false).compression == before
        });
        let snapshot = proxy.snapshot(false);
        assert!(snapshot.buffer_bytes < 2 << 20, "{snapshot:?}");
        assert_eq!(client.answer().unwrap().len(), 400 * 400 * 128);
        client.stream.flush().unwrap();
        assert_eq!(client.ask("SELECT 'behind'").unwrap(), b"behind");
    }
}
