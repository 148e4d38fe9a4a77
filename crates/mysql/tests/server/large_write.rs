//! Values around one and two whole packets arrive as they are, as text, as a parameter and from a reader.

use onecopy_mysql::Param;

use super::Connection;
use crate::common::{
    Dribble, LARGEST, PACKET, binary, count, large_lengths, letters, small_lengths, soak, takes,
    urls,
};

/// What an execution with the parameters of `as_parameter` has around its large value: header and counts 12, types 6, an
/// integer 8, a short text 5, the length 4. At `PACKET` less this the payload is one whole packet.
const AROUND_PARAMETER: usize = 12 + 6 + 8 + 5 + 4;

#[tokio::test]
async fn values_of_small_lengths_arrive_as_they_are() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for len in small_lengths() {
            as_text(&mut conn, len.max(100)).await;
            as_parameter(&mut conn, len).await;
            from_reader(&mut conn, len, 1000 + len / 50).await;
        }
    }
}

#[tokio::test]
async fn values_around_whole_packets_arrive_as_they_are() {
    if !takes(LARGEST) {
        return;
    }
    let mut conns = Vec::new();
    for url in urls() {
        conns.push(wait!(Connection::connect(&url)).unwrap());
    }
    for (index, len) in large_lengths().into_iter().enumerate() {
        if soak() {
            for conn in &mut conns {
                as_text(conn, len).await;
                as_parameter(conn, len).await;
                from_reader(conn, len, 100_003).await;
                from_reader(conn, len, 1 << 20).await;
            }
        } else {
            let of_transport = index % conns.len();
            let conn = &mut conns[of_transport];
            match index % 3 {
                // The text's own length is what meets the packet's: one byte is the command's.
                0 => as_text(conn, len).await,
                1 => as_parameter(conn, len).await,
                _ => from_reader(conn, len, 100_003).await,
            }
        }
    }
}

#[tokio::test]
async fn commands_around_whole_packets_arrive_as_they_are() {
    if !takes(LARGEST) {
        return;
    }
    let mut conns = Vec::new();
    for url in urls() {
        conns.push(wait!(Connection::connect(&url)).unwrap());
    }
    for packets in 1..=2 {
        for conn in conns.iter_mut().take(count(1, 2)) {
            let mut left = Vec::new();
            for payload in packets * PACKET - 1..=packets * PACKET + 1 {
                wait!(conn.ping()).unwrap(); // what closes the statement before leaves with it
                let before = conn.meter();
                as_text(conn, payload - 1).await;
                let text = conn.meter();
                let longer = if packets == 1 { 0 } else { 5 };
                as_parameter(conn, payload - AROUND_PARAMETER - longer).await;
                left.push(
                    [text.since(&before), conn.meter().since(&text)]
                        .map(|meter| meter.bytes_written),
                );
            }
            // Behind an exact multiple goes an empty packet; one byte more is in that packet.
            let [short, exact, long] = left[..] else {
                panic!("three payloads were sent");
            };
            assert_eq!([exact[0] - short[0], long[0] - exact[0]], [5, 1], "text");
            assert_eq!(
                [exact[1] - short[1], long[1] - exact[1]],
                [5, 1],
                "parameter"
            );
        }
    }
}

#[tokio::test]
async fn a_value_is_stored_and_read_back() {
    if !takes(LARGEST) {
        return;
    }
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE kept (id INT PRIMARY KEY, a LONGBLOB, b LONGBLOB)"))
        .unwrap();
    let insert = wait!(conn.prepare("INSERT INTO kept VALUES (?, ?, ?)")).unwrap();
    let select = "SELECT id, LENGTH(a), CRC32(a), LENGTH(b), CRC32(b), a, b FROM kept ORDER BY id";
    let (one, two) = (binary().first(PACKET), binary().first(70_000));
    let rows = wait!(conn.execute(&insert, &[1.into(), one.into(), two.into()])).unwrap();
    assert_eq!(wait!(rows.finish()).unwrap().affected_rows, 1);
    let sent = wait!(conn.send_long_data(&insert, 2, Dribble::new(one, 50_021))).unwrap();
    assert_eq!(sent, PACKET as u64);
    let params = [2.into(), Param::from(two), Param::LongData];
    wait!(wait!(conn.execute(&insert, &params)).unwrap().finish()).unwrap();

    let mut rows = wait!(conn.query(select)).unwrap();
    for (a, b) in [(one, two), (two, one)] {
        let row = wait!(rows.next_owned()).unwrap().unwrap();
        for (first, value) in [(1, a), (3, b)] {
            assert_eq!(row.get::<u64>(first).unwrap(), value.len() as u64);
            assert_eq!(row.get::<u32>(first + 1).unwrap(), crc32fast::hash(value));
        }
        assert!(row.bytes("a").unwrap() == Some(a));
        assert!(row.bytes("b").unwrap() == Some(b));
    }
    wait!(rows.finish()).unwrap();
}

#[tokio::test]
async fn a_reader_that_fails_leaves_nothing_behind() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let set = wait!(conn.prepare("SET @r = ?")).unwrap();
    for sent in [0, 10, 300_000] {
        let broken = Dribble::new(binary().first(sent), 70_001).that_fails();
        let error = wait!(conn.send_long_data(&set, 0, broken)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reading the parameter's value failed: the pipe broke"
        );
        assert!(!error.is_closed() && !conn.is_closed());
        wait!(
            wait!(conn.execute(&set, &["short".into()]))
                .unwrap()
                .finish()
        )
        .unwrap();
        assert_eq!(
            received(&mut conn, "@r").await,
            (5, crc32fast::hash(b"short"))
        );
    }
}

#[tokio::test]
async fn long_data_that_was_not_sent_is_the_servers_error() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let select = wait!(conn.prepare("SELECT ?, ?")).unwrap();
    let text = Param::from("x");
    for params in [
        [Param::LongData, text],
        [text, Param::LongData],
        [Param::LongData; 2],
    ] {
        let error = wait!(conn.execute(&select, &params)).map(drop).unwrap_err();
        // MariaDB: incorrect arguments. MySQL: malformed packet.
        let code = error.server().unwrap().code;
        assert!(code == 1210 || code == 1835, "{params:?}: {error}");
        wait!(
            wait!(conn.execute(&select, &[text, text]))
                .unwrap()
                .finish()
        )
        .unwrap();
    }
}

#[tokio::test]
async fn long_data_is_sent_once() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let set = wait!(conn.prepare("SET @r = ?")).unwrap();
    wait!(conn.send_long_data(&set, 0, &b"first"[..])).unwrap();
    wait!(
        wait!(conn.execute(&set, &[Param::LongData]))
            .unwrap()
            .finish()
    )
    .unwrap();
    wait!(conn.send_long_data(&set, 0, &b"second"[..])).unwrap();
    wait!(
        wait!(conn.execute(&set, &[Param::LongData]))
            .unwrap()
            .finish()
    )
    .unwrap();
    assert_eq!(
        received(&mut conn, "@r").await,
        (6, crc32fast::hash(b"second"))
    );
}

/// The statement's text has `len` bytes.
async fn as_text(conn: &mut Connection, len: usize) {
    let (before, after) = ("SELECT LENGTH(v), CRC32(v) FROM (SELECT '", "' AS v) AS t");
    let value_len = len - before.len() - after.len();
    let value = std::str::from_utf8(letters().first(value_len)).unwrap();
    let sql = [before, value, after].concat();
    assert_eq!(sql.len(), len);
    let mut rows = wait!(conn.query(&sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<u64>(0).unwrap(), value_len as u64);
    assert_eq!(row.get::<u32>(1).unwrap(), letters().crc32(value_len));
    wait!(rows.finish()).unwrap();
}

async fn as_parameter(conn: &mut Connection, len: usize) {
    let set = wait!(conn.prepare("SET @a = ?, @r = ?, @b = ?")).unwrap();
    let value = binary().first(len);
    let params = [7.into(), Param::from(value), "tail".into()];
    wait!(wait!(conn.execute(&set, &params)).unwrap().finish()).unwrap();
    assert_eq!(
        received(conn, "@r").await,
        (len as u64, binary().crc32(len)),
        "{len} bytes"
    );
    assert_eq!(
        received(conn, "CONCAT(@a, @b)").await.1,
        crc32fast::hash(b"7tail")
    );
    wait!(conn.close_statement(set)).unwrap();
}

async fn from_reader(conn: &mut Connection, len: usize, step: usize) {
    let set = wait!(conn.prepare("SET @a = ?, @r = ?, @b = ?")).unwrap();
    let value = binary().first(len);
    let sent = wait!(conn.send_long_data(&set, 1, Dribble::new(value, step))).unwrap();
    assert_eq!(sent, len as u64);
    let params = [7.into(), Param::LongData, "tail".into()];
    wait!(wait!(conn.execute(&set, &params)).unwrap().finish()).unwrap();
    assert_eq!(
        received(conn, "@r").await,
        (len as u64, binary().crc32(len)),
        "{len} bytes"
    );
    assert_eq!(
        received(conn, "CONCAT(@a, @b)").await.1,
        crc32fast::hash(b"7tail")
    );
    wait!(conn.close_statement(set)).unwrap();
}

/// Length and CRC-32 as the server computes them.
async fn received(conn: &mut Connection, value: &str) -> (u64, u32) {
    let mut rows = wait!(conn.query(format!("SELECT LENGTH({value}), CRC32({value})"))).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let both = (row.get(0).unwrap(), row.get(1).unwrap());
    wait!(rows.finish()).unwrap();
    both
}
