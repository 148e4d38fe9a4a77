//! Payloads of 16 MiB and more.

use super::*;
use crate::frame::MAX_BODY;

/// A payload over as many packets as it takes.
fn split(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut id = sequence;
    for body in payload.chunks(MAX_BODY) {
        bytes.extend(packet(id, body));
        id = id.wrapping_add(1);
    }
    if payload.len().is_multiple_of(MAX_BODY) {
        bytes.extend(packet(id, b""));
    }
    bytes
}

/// A payload of `length` bytes that begins so.
fn payload(first: &[u8], length: usize) -> Vec<u8> {
    let mut payload = vec![b'x'; length];
    payload[..first.len()].copy_from_slice(first);
    payload
}

const LENGTHS: [usize; 5] = [
    MAX_BODY - 1,
    MAX_BODY,
    MAX_BODY + 1,
    2 * MAX_BODY,
    2 * MAX_BODY + 5,
];

fn run_in_pieces(capabilities: Capabilities, steps: &[(Side, Vec<u8>)], expected: &[Event]) {
    for most in [usize::MAX, 1 << 20, 131_071] {
        let followed = run(capabilities, steps, |followed, side, bytes| {
            followed.feed(side, bytes, most)
        });
        let seen: Vec<_> = followed.seen.iter().map(|(_, event)| *event).collect();
        assert_eq!(seen, expected);
        assert!(followed.relay.is_idle());
    }
}

#[test]
fn a_large_row_is_a_row_whatever_it_begins_with() {
    for length in LENGTHS {
        for first in [&[0xFE][..], &[0x00], &[0xFE, 0, 0, 2, 0]] {
            if length < MAX_BODY && first[0] == 0xFE {
                continue;
            }
            let row = split(4, &payload(first, length));
            let head = packets(1, &[&[1], COLUMN, EOF]);
            let reply = [head, row, packet(9, EOF)].concat();
            let steps = [c(b"\x03select"), (Side::Server, reply)];
            run_in_pieces(PLAIN, &steps, &[command(3), done(3)]);
        }
    }
    // With DEPRECATE_EOF what ends rows may have any length below.
    let row = split(3, &payload(&[0xFE], MAX_BODY));
    let end = packet(5, &payload(OK_EOF, MAX_BODY - 1));
    let reply = [packets(1, &[&[1], COLUMN]), row, end].concat();
    let steps = [c(b"\x03select"), (Side::Server, reply)];
    run_in_pieces(DEPRECATE, &steps, &[command(3), done(3)]);
}

#[test]
fn a_large_command_is_one_command() {
    for length in LENGTHS {
        let query = split(0, &payload(b"\x03", length));
        let steps = [(Side::Client, query), s(&[OK]), c(b"\x0e"), s(&[OK])];
        run_in_pieces(
            PLAIN,
            &steps,
            &[command(3), done(3), command(0x0E), done(0x0E)],
        );
    }
}

#[test]
fn the_reply_to_a_large_command_counts_on_behind_its_last_packet() {
    let mut relay = Relay::new(PLAIN);
    let query = split(0, &payload(b"\x03", 2 * MAX_BODY));
    let first = relay.client(&query).unwrap();
    assert_eq!(first.pass, 4 + MAX_BODY);
    let rest = relay.client(&query[first.pass..]).unwrap();
    assert_eq!(rest.pass, 8 + MAX_BODY);
    assert_eq!(relay.error_sequence(), Some(3));
    // The same for one that waits behind another.
    relay.client(&query).unwrap();
    relay.client(&query[first.pass..]).unwrap();
    relay.server(&packet(3, OK)).unwrap();
    assert_eq!(relay.error_sequence(), Some(3));
}

#[test]
fn a_large_piece_of_a_file_does_not_end_it() {
    let file = [split(2, &payload(b"1", MAX_BODY)), packet(4, b"")].concat();
    let steps = [
        c(b"\x03load"),
        s(&[b"\xFBt"]),
        (Side::Client, file),
        (Side::Server, packet(5, OK)),
    ];
    run_in_pieces(PLAIN, &steps, &[command(3), done(3)]);
}

#[test]
fn the_rest_of_a_packet_is_known_from_its_header() {
    let mut relay = Relay::new(PLAIN);
    relay.client(&packet(0, b"\x03select")).unwrap();
    let head = packets(1, &[&[1], COLUMN, EOF]);
    relay.server(&head).unwrap();
    let row = packet(4, &payload(b"\x05", 5_000_000));
    let passage = relay.server(&row[..100]).unwrap();
    assert_eq!(passage.pass, 100);
    assert_eq!(passage.until_end, row.len() - 100);
    let passage = relay.server(&row[100..4_000_000]).unwrap();
    assert_eq!(passage.until_end, row.len() - 4_000_000);
}
