//! Compressed connections: what is in a frame, and frames that no honest server sends.
//!
//! | input | tests |
//! |-------|-------|
//! | lengths that lie either way | `content_shorter_or_longer_than_its_header_says` |
//! | trailing data | `bytes_behind_the_end_of_a_frames_content` |
//! | bombs | `a_bomb_is_refused_at_its_claim`, `a_claim_of_16_mib_costs_no_memory` |
//! | what is no zlib stream, or has a wrong checksum | `what_is_no_zlib_stream_or_is_damaged` |
//! | sequence wrong, repeated | `frames_out_of_order` |
//! | empty frames, cut headers | `frames_of_no_bytes_and_headers_cut_anywhere_are_as_good_as_others` |
//! | clear text instead of frames | `packets_without_frames` |
//! | compression dropped from the greeting | `a_server_that_drops_compression_is_sent_no_user_name_where_it_is_required` |

use std::collections::BTreeSet;

use onecopy_mysql::{Compression, Config};
use onecopy_mysql_proto::compression::{Algorithm, Encoder, Method};
use onecopy_testkit::script::{Script, Talk, Trial, packets, text_row};

use crate::large::{COLUMN, ROWS_END};
use crate::login::{MARIADB_SEEN, greeting, login_compressed};
use crate::talk::config;

fn zlib() -> Config {
    let mut config = config();
    config.compression = vec![Compression::Zlib];
    config
}

/// A stored frame.
fn stored(sequence: u8, content: &[u8]) -> Vec<u8> {
    frame(sequence, 0, content)
}

/// A frame whose header claims `claim` bytes of content.
fn frame(sequence: u8, claim: usize, bytes: &[u8]) -> Vec<u8> {
    let [[a, b, c, ..], [d, e, f, ..]] = [bytes.len(), claim].map(usize::to_le_bytes);
    [&[a, b, c, sequence, d, e, f], bytes].concat()
}

/// A zlib stream.
fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let method = Method::new(Algorithm::Zlib, 6);
    let (frame, taken) = encoder.frame(method, 0, content).unwrap();
    assert_eq!(taken, content.len());
    assert_ne!(frame[4..7], [0, 0, 0], "it is stored");
    frame[7..].to_vec()
}

/// A result of one column and these values.
fn result(values: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sequence = 1;
    bytes.extend(packets(&mut sequence, &[1]));
    bytes.extend(packets(&mut sequence, COLUMN));
    for value in values {
        bytes.extend(packets(&mut sequence, &text_row(&[Some(value)])));
    }
    bytes.extend(packets(&mut sequence, ROWS_END));
    bytes
}

/// A compressed connection that was asked `SELECT`.
fn asked() -> Script {
    login_compressed().client(&stored(0, &packets(&mut 0, b"\x03SELECT")))
}

fn rows() -> Talk {
    talk!(zlib(), |conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        while let Some(row) = wait!(rows.next())? {
            log.row(&row)?;
        }
        Ok(())
    })
}

fn see(reply: &[u8]) -> Vec<String> {
    Trial::see(&asked().server(reply), rows())
}

/// How it ends, the same in every delivery: rows may come before, and differ.
fn end(reply: &[u8]) -> String {
    let seen = Trial::see_each(&asked().server(reply), rows());
    let ends: BTreeSet<_> = seen.iter().map(|lines| lines.last().cloned()).collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    ends.into_iter().flatten().next().unwrap()
}

#[test]
fn a_result_in_one_frame_in_many_and_stored() {
    let result = result(&[b"one", &[b'x'; 30], &[b'y'; 500]]);
    let seen = ["one", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "500 other bytes"];
    let one = frame(1, result.len(), &deflated(&result));
    let whole = stored(1, &result);
    let mut many = Vec::new();
    for (piece, id) in result.chunks(60).zip(1..) {
        many.extend(stored(id, piece));
    }
    for reply in [one, whole, many] {
        Trial::new(&asked().server(&reply), rows(), &seen).run();
    }
}

#[test]
fn what_is_long_enough_is_compressed_and_commands_are_framed_apart() {
    let talk = talk!(zlib(), |conn, log, wait, face| {
        assert_eq!(conn.compression(), Compression::Zlib);
        wait!(conn.ping())?;
        let sql = "SELECT 'a text that is longer than fifty bytes', 'a text that is longer'";
        log.done(wait!(conn.run(sql))?);
        let meter = conn.meter();
        assert!(meter.compressed_bytes_read > 0 && meter.compressed_bytes_written > 0);
        assert!(meter.bytes_copied_by_compression > 0);
        Ok(())
    });
    let sql = b"\x03SELECT 'a text that is longer than fifty bytes', 'a text that is longer'";
    let query = packets(&mut 0, sql);
    let ok = packets(&mut 1, &[0, 0, 0, 2, 0, 0, 0]);
    let script = login_compressed()
        .client(&stored(0, &[1, 0, 0, 0, 0x0E]))
        .server(&stored(1, &ok))
        .client(&frame(0, query.len(), &deflated(&query)))
        .server(&stored(1, &ok));
    Trial::new(&script, talk, &["done: 0 rows, id 0, 0 warnings"]).run();
}

#[test]
fn content_shorter_or_longer_than_its_header_says() {
    let result = result(&[b"one", &[b'x'; 200]]);
    let (len, deflated) = (result.len(), deflated(&result));
    for (claim, error) in [
        (len + 1, "Shorter"),
        (0xFF_FFFF, "Shorter"),
        (len - 1, "Longer"),
        (1, "Longer"),
    ] {
        let end = end(&frame(1, claim, &deflated));
        assert!(end.starts_with(&format!("Compression({error}")), "{end}");
    }
    // The end of the stream is cut off: the next frame's header is where more of it should be.
    let cut = frame(1, len, &deflated[..deflated.len() - 3]);
    let end = end(&[cut, stored(2, &result)].concat());
    assert!(end.starts_with("Compression("), "{end}");
}

#[test]
fn bytes_behind_the_end_of_a_frames_content() {
    let result = result(&[&[b'x'; 200]]);
    let bytes = [&deflated(&result)[..], b"more"].concat();
    let end = end(&frame(1, result.len(), &bytes));
    assert_eq!(end, "Compression(Trailing { bytes: 4 })");
}

#[test]
fn a_bomb_is_refused_at_its_claim() {
    // 64 KiB of zeros in some 80 bytes, which claim to be ten.
    let bomb = deflated(&[0; 64 << 10]);
    assert!(bomb.len() < 100);
    let seen = see(&frame(1, 10, &bomb));
    assert_eq!(seen, ["Compression(Longer { claimed: 10 })"]);
}

#[test]
fn a_claim_of_16_mib_costs_no_memory() {
    let script = asked().server(&frame(1, 0xFF_FFFF, &[0x78]));
    let seen = Trial::see(&script.closes(), rows());
    assert_eq!(
        seen,
        ["Compression(Shorter { claimed: 16777215, found: 0 })"]
    );
}

#[test]
fn what_is_no_zlib_stream_or_is_damaged() {
    let malformed = "Compression(Malformed { algorithm: Zlib })";
    let result = result(&[&[b'x'; 200]]);
    let seen = see(&frame(
        1,
        result.len(),
        b"this is no zlib stream, but a text",
    ));
    assert_eq!(seen, [malformed]);
    let mut damaged = deflated(&result);
    *damaged.last_mut().unwrap() ^= 1; // of the checksum
    assert_eq!(end(&frame(1, result.len(), &damaged)), malformed);
}

#[test]
fn frames_out_of_order() {
    let result = result(&[b"one"]);
    for id in [0, 2, 255] {
        let seen = see(&stored(id, &result));
        let error = format!("Compression(Sequence {{ expected: 1, found: {id} }})");
        assert_eq!(seen, [error]);
    }
    let (first, second) = result.split_at(20);
    for id in [1, 0, 3] {
        let reply = [stored(1, first), stored(id, second)].concat();
        let error = format!("Compression(Sequence {{ expected: 2, found: {id} }})");
        assert_eq!(see(&reply).last(), Some(&error));
    }
}

#[test]
fn an_error_of_the_server_is_heard_whatever_its_ids_are() {
    let refused = packets(&mut 0, b"\xFF\x28\x04#42000no such thing");
    for id in [0, 1, 9] {
        let seen = see(&stored(id, &refused));
        assert_eq!(seen, ["server error 1064 (42000): no such thing"]);
    }
}

#[test]
fn frames_of_no_bytes_and_headers_cut_anywhere_are_as_good_as_others() {
    let result = result(&[b"one"]);
    let (first, second) = result.split_at(2);
    let reply = [
        stored(1, &[]),
        stored(2, first),
        stored(3, &[]),
        stored(4, second),
    ]
    .concat();
    Trial::new(&asked().server(&reply), rows(), &["one"]).run();
}

#[test]
fn packets_without_frames() {
    // The header of the first packet and the length of the second are taken for a frame's header.
    let seen = see(&result(&[b"one"]));
    assert!(seen[0].starts_with("Compression("), "{seen:?}");
}

#[test]
fn a_server_that_drops_compression_is_sent_no_user_name_where_it_is_required() {
    let greeting = greeting();
    let mut bytes = greeting.server_bytes().to_vec();
    let version = bytes.iter().skip(5).position(|byte| *byte == 0).unwrap();
    let capabilities = 5 + version + 1 + 4 + 8 + 1;
    assert_eq!(bytes[capabilities], 0xFE);
    bytes[capabilities] &= !0x20;
    let script = Script::new().server(&bytes);
    let seen = Trial::see(&script, rows());
    assert_eq!(seen, ["CompressionNotOffered"]);
}

#[test]
fn a_server_that_drops_compression_is_spoken_to_without_it_where_that_is_allowed() {
    fn either() -> Config {
        let mut config = config();
        config.compression = vec![Compression::Zstd, Compression::Uncompressed];
        config
    }
    let talk = talk!(either(), |conn, log, wait, face| {
        assert_eq!(conn.compression(), Compression::Uncompressed);
        log.line(format!(
            "{} {}",
            conn.server_version(),
            conn.connection_id()
        ));
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = crate::login::login(crate::login::Style::DeprecateEof);
    let script = script.then(&Script::parse(crate::login::PING));
    Trial::new(&script, talk, &MARIADB_SEEN).run();
}
