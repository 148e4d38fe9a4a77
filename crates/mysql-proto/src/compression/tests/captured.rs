//! What MariaDB 10.11.19 answers a client without a password that has asked for `COMPRESS`, as captured over TCP. The frames
//! that it was asked by are written down beside.

use super::*;

/// Content of a frame in hex.
fn of_hex(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap();
    let pairs = hex.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).unwrap());
    bytes.collect()
}

/// Sequence ids of packets, and their payloads.
fn packets(mut content: &[u8]) -> Vec<(u8, &[u8])> {
    let mut packets = Vec::new();
    while let Some((&[a, b, c, id], rest)) = content.split_first_chunk() {
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        packets.push((id, &rest[..length]));
        content = &rest[length..];
    }
    packets
}

/// `SELECT 'short'`, in one stored frame of sequence id 0.
const SHORT: &str = "3c000001400000789c636460606494666060624e494d636060602dcec82f2a61e0d1651001f2fe3232a803c5181898ff\
                 019530b03130b04014008558c14200160a094b";

#[test]
fn a_servers_row_is_read() {
    let (content, ids) = read(Algorithm::Zlib, &of_hex(SHORT), 1, 1).unwrap();
    assert_eq!(ids, [1]);
    let packets = packets(&content);
    assert_eq!(packets.len(), 5);
    assert_eq!(packets[0], (1, &b"\x01"[..]));
    assert_eq!(packets[3], (4, &b"\x05short"[..]));
    assert_eq!(packets[4], (5, &b"\xFE\0\0\x02\0"[..]));
}

/// `SELECT 'cut in three'` in three stored frames, 0 to 2: the packets of the reply are numbered from 3 on.
const THREE: &str = "440000034e0000789c636460606654626060614e494d636060e0492e2d51c8cc5328c9284a4d65e0d16530000afe6564\
                 5067606005a27f0c0c4c0cbc0c0c6c28ea8032ec60190007030e23";

#[test]
fn packets_go_on_from_the_number_of_frames() {
    let (content, ids) = read(Algorithm::Zlib, &of_hex(THREE), 7, 64).unwrap();
    assert_eq!(ids, [3]);
    let ids: Vec<u8> = packets(&content).iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [3, 4, 5, 6, 7]);
}

/// `SELECT 1; SELECT 2` in one stored frame: behind the first result the server flushes, and the packets of the second are
/// numbered from the number of frames on.
const TWO: &str = "35000001380000789c1dc7cb0d00100004d1599f8bb8ab43059a411f1a171b97c93c81d420c4b93646a70ee48bc7217b\
                 2e14022475337f3e79bd04ab36000002380000789c636460606214676060664e494d636060603462e0b1676004b2981b\
                 8104032b0303cb3fa01a20646065340272d9c05c0079e204a2";

#[test]
fn packets_jump_where_the_server_flushes() {
    let (content, ids) = read(Algorithm::Zlib, &of_hex(TWO), usize::MAX, 64).unwrap();
    assert_eq!(ids, [1, 2]);
    let ids: Vec<u8> = packets(&content).iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]);
}

#[test]
fn a_servers_short_answer_is_stored() {
    // COM_PING in frame 1, behind an empty one.
    let frame = of_hex("0b0000020000000700000200000002000000");
    let (content, ids) = read(Algorithm::Zlib, &frame, 1, 1).unwrap();
    assert_eq!(ids, [2]);
    assert_eq!(packets(&content), [(2, &b"\0\0\0\x02\0\0\0"[..])]);
}
