//! The ids of packets that a compressed client sees: a server counts them from the frame's on wherever it flushes.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::compression::Algorithm;
use onecopy_testkit::server::shared;

use crate::common::{port, server_port};
use crate::packed::{Packed, packet, stored};
use crate::sessions::{account, proxies};

/// What a client sees of one command: frames and packets.
type Ids = Vec<(u8, u8)>;

fn ask(client: &mut Packed, sql: &str) -> Ids {
    client.ids.clear();
    client.command(&[b"\x03", sql.as_bytes()].concat());
    while client.result() {}
    client.ids.clone()
}

fn packets(client: &mut Packed, count: usize) -> Ids {
    (0..count).for_each(|_| drop(client.hear().unwrap()));
    client.ids.clone()
}

/// Replies of all kinds, small enough that servers send each of their results in one frame.
fn conversation(client: &mut Packed) -> Vec<Ids> {
    let mut seen: Vec<Ids> = [
        "SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT 1; DO 1; SELECT 2 UNION SELECT 3; SELECT * FROM not_there",
        "DO 1; DO 2; DO 3",
        "SELECT 'behind'",
    ]
    .iter()
    .map(|sql| ask(client, sql))
    .collect();
    // COM_STMT_PREPARE: OK, a parameter and its EOF, two columns and theirs.
    client.ids.clear();
    client.command(b"\x16SELECT ? AS a, 2");
    seen.push(packets(client, 6));
    // COM_STATISTICS.
    client.ids.clear();
    client.command(b"\x09");
    seen.push(packets(client, 1));
    // A command in three frames: its reply begins with the fourth.
    client.ids.clear();
    let command = packet(0, b"\x03SELECT 1; SELECT 2");
    for (id, piece) in (0..).zip([&command[..3], &command[3..9], &command[9..]]) {
        client.send(&stored(id, piece));
    }
    client.expect(3);
    while client.result() {}
    seen.push(client.ids.clone());
    // A file in two frames, and what is behind it in the same statement.
    client.ids.clear();
    client.command(b"\x03LOAD DATA LOCAL INFILE 'any' INTO TABLE counted; SELECT 2");
    packets(client, 1);
    client.send(&stored(2, &packet(2, b"1\n2\n")));
    client.send(&stored(3, &packet(3, b"")));
    client.expect(4);
    while client.result() {}
    seen.push(client.ids.clone());
    seen.push(ask(client, "SELECT 1; SELECT 2"));
    seen
}

#[test]
fn packets_are_counted_from_the_frame_on_as_the_server_does() {
    account("counted");
    let mut admin = Connection::connect(&shared().url()).unwrap();
    admin.run("SET GLOBAL local_infile = ON").unwrap();
    admin.run("DROP TABLE IF EXISTS test.counted").unwrap();
    admin.run("CREATE TABLE test.counted (a INT)").unwrap();
    let mut client = Packed::log_in(server_port(), "counted", Algorithm::Zlib);
    let direct = conversation(&mut client);
    // Captured from MariaDB 10.11.19 and MySQL 9.7.4: the second result's packets count from its frame on.
    let first = [1, 2, 3, 4, 5].map(|id| (1, id));
    let second = [2, 3, 4, 5, 6].map(|id| (2, id));
    assert_eq!(direct[1], [first, second].concat());
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for proxy in proxies() {
            let mut client = Packed::log_in(port(&proxy), "counted", algorithm);
            assert_eq!(conversation(&mut client), direct, "by {algorithm}");
        }
    }
    admin.run("DROP TABLE test.counted").unwrap();
}

#[test]
fn results_of_many_frames_are_counted_as_strict_clients_do() {
    account("counted_b");
    let mut admin = Connection::connect(&shared().url()).unwrap();
    admin
        .run("DROP PROCEDURE IF EXISTS test.counted_b")
        .unwrap();
    let large = "SELECT REPEAT('a', 300000) UNION ALL SELECT REPEAT('b', 70000)";
    let body = format!("BEGIN {large}; DO 1; {large}; SELECT 1 UNION SELECT 2; {large}; END");
    admin
        .run(format!("CREATE PROCEDURE test.counted_b() {body}"))
        .unwrap();
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for proxy in proxies() {
            let mut client = Packed::log_in(port(&proxy), "counted_b", algorithm);
            for _ in 0..3 {
                ask(&mut client, "CALL counted_b()");
                ask(&mut client, &format!("{large}; {large}; SELECT 1"));
                // A command of several frames, and many results.
                let long = "SELECT 1; ".repeat(20_000) + "SELECT 2";
                let seen = ask(&mut client, &long);
                assert_eq!(seen.len(), 5 * 20_001);
            }
        }
    }
    admin.run("DROP PROCEDURE test.counted_b").unwrap();
}

#[test]
fn commands_that_are_sent_ahead_are_counted_each_from_its_own_frames() {
    account("counted_c");
    let sql = b"\x03SELECT 1; SELECT REPEAT('b', 200000); SELECT 3";
    let command = packet(0, sql);
    for proxy in proxies() {
        let mut client = Packed::log_in(port(&proxy), "counted_c", Algorithm::Zlib);
        let one = stored(0, &command);
        let two = [stored(0, &command[..9]), stored(1, &command[9..])].concat();
        client.send(&[&one[..], &two, &one].concat());
        for first in [1, 2, 1] {
            client.expect(first);
            client.ids.clear();
            while client.result() {}
            assert_eq!(client.ids[0], (first, first));
        }
    }
}
