//! What no honest peer sends.

use proptest::prelude::*;

use super::*;
use crate::codec::DecodeErrorKind;

/// The reply to a command, which can't be followed.
fn refused(capabilities: Capabilities, payload: &[u8], reply: &[&[u8]]) -> RelayError {
    let bytes = packets(1, reply);
    let mut errors = Vec::new();
    for most in [usize::MAX, 1, 3] {
        let mut followed = Followed::new(capabilities);
        followed.read(Side::Client, &packet(0, payload)).unwrap();
        let error = followed.feed(Side::Server, &bytes, most).unwrap_err();
        assert_eq!(followed.relay.server(&bytes), Err(error), "it is over");
        assert_eq!(followed.relay.client(b""), Err(error), "for both");
        errors.push(error);
    }
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    assert!(!errors[0].to_string().is_empty());
    errors[0]
}

fn unexpected(expected: &'static str, byte: u8) -> RelayError {
    RelayError::Unexpected {
        side: Side::Server,
        expected,
        byte,
    }
}

#[test]
fn a_packet_of_another_kind_is_named() {
    let prepared: &[u8] = &[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    for (payload, reply, error) in [
        (
            &b"\x03q"[..],
            &[&[2][..], COLUMN, EOF][..],
            unexpected("column definitions", 0xFE),
        ),
        (
            b"\x03q",
            &[&[1], COLUMN, b"\x01x"],
            unexpected("the end of column definitions", 1),
        ),
        (b"\x16q", &[b"\x01"], unexpected("the reply to prepare", 1)),
        (
            b"\x16q",
            &[prepared, EOF],
            unexpected("a prepared statement's definitions", 0xFE),
        ),
        (
            b"\x16q",
            &[prepared, COLUMN, COLUMN],
            unexpected("the end of a prepared statement's definitions", 3),
        ),
    ] {
        assert_eq!(refused(PLAIN, payload, reply), error);
    }
}

#[test]
fn counts_that_no_server_can_mean_are_refused() {
    for (header, kind) in [
        (&[0xFC, 0x00, 0x00][..], DecodeErrorKind::BadValue),
        (&[0xFE, 0, 0, 0, 0, 1, 0, 0, 0], DecodeErrorKind::BadValue),
        (
            &[0xFE, 0, 0, 0, 0, 0, 0, 0, 0x80],
            DecodeErrorKind::BadValue,
        ),
        (&[1, 1], DecodeErrorKind::Trailing),
        (&[0xFC, 1], DecodeErrorKind::Truncated),
    ] {
        let error = refused(PLAIN, b"\x03q", &[header]);
        let RelayError::Decode { side, error } = error else {
            panic!("{error:?}");
        };
        assert_eq!((side, error.kind), (Side::Server, kind), "{header:02x?}");
    }
}

#[test]
fn what_tells_the_status_must_be_whole() {
    for reply in [
        &[&[0, 0, 0, 2][..]][..],
        &[&[0]],
        &[&[0xFE, 0, 0, 2]],
        &[&[1], COLUMN, EOF, &[0xFE, 0, 0, 2, 0, 0]],
        &[&[1], COLUMN, &[0xFE]],
    ] {
        let error = refused(PLAIN, b"\x03q", reply);
        assert!(matches!(error, RelayError::Decode { .. }), "{error:?}");
    }
    let prepared: &[u8] = &[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = refused(PLAIN, b"\x16q", &[prepared]);
    assert!(matches!(error, RelayError::Decode { .. }), "{error:?}");
}

#[test]
fn an_empty_packet_ends_the_session() {
    for (reply, expected) in [
        (&[&b""[..]][..], "a reply"),
        (&[&[1], COLUMN, EOF, b""], "rows"),
        (&[&[1], b""], "column definitions"),
    ] {
        let side = Side::Server;
        let error = RelayError::Empty { side, expected };
        assert_eq!(refused(PLAIN, b"\x03q", reply), error);
    }
    let mut relay = Relay::new(PLAIN);
    let side = Side::Client;
    let expected = "a command";
    let error = RelayError::Empty { side, expected };
    assert_eq!(relay.client(&packet(0, b"")), Err(error));
}

#[test]
fn a_server_that_speaks_without_being_asked_is_not_followed() {
    let mut relay = Relay::new(PLAIN);
    assert_eq!(
        relay.server(&packet(0, OK)),
        Err(RelayError::Unsolicited { byte: 0 })
    );
    // A second reply to one command.
    let twice = [packet(1, OK), packet(2, OK)].concat();
    let mut followed = Followed::new(PLAIN);
    followed.read(Side::Client, &packet(0, b"\x0e")).unwrap();
    let error = followed.read(Side::Server, &twice).unwrap_err();
    assert_eq!(error, RelayError::Unsolicited { byte: 0 });
    assert_eq!(
        followed.seen.last(),
        Some(&(11, done(0x0E))),
        "the first one passed"
    );
}

/// Packets whose few deciding bytes are likely ones, and some that are none at all.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let likely =
        prop_oneof![
            Just(OK.to_vec()),
            Just(ERR.to_vec()),
            Just(EOF.to_vec()),
            Just(COLUMN.to_vec()),
            Just(vec![0xFE, 0, 0, 0x4A, 0]),
            Just(b"\xFFx\xFF\xFF\x01".to_vec()),
            Just(vec![0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
            (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..12))
                .prop_map(|(first, rest)| [&[first], &rest[..]].concat()),
            (0..=0x20_u8).prop_map(|byte| vec![byte]),
            Just(Vec::new()),
        ];
    let packets = proptest::collection::vec((any::<u8>(), likely), 0..12);
    let tail = proptest::collection::vec(any::<u8>(), 0..6);
    (packets, tail).prop_map(|(payloads, tail)| {
        let packets = payloads.iter().map(|(id, payload)| packet(*id, payload));
        packets.chain([tail]).flatten().collect()
    })
}

/// Each side's next bytes, turn by turn.
fn turns(bits: u8, turns: &[(Vec<u8>, Vec<u8>)], most: usize) -> (Vec<Seen>, Option<RelayError>) {
    let capabilities = [
        Capabilities::DEPRECATE_EOF,
        Capabilities::MARIADB_CACHE_METADATA,
        Capabilities::OPTIONAL_RESULTSET_METADATA,
        Capabilities::MARIADB_PROGRESS,
    ];
    let agreed = (0..)
        .zip(capabilities)
        .filter(|(bit, _)| bits >> bit & 1 == 1);
    let agreed = agreed.fold(PLAIN, |all, (_, one)| all | one);
    let mut followed = Followed::new(agreed);
    for (client, server) in turns {
        for (side, bytes) in [(Side::Client, client), (Side::Server, server)] {
            if let Err(error) = followed.feed(side, bytes, most) {
                return (followed.seen, Some(error));
            }
        }
    }
    (followed.seen, None)
}

proptest! {
    #[test]
    fn any_bytes_come_to_the_same_however_they_are_cut(
        bits in 0..16_u8,
        bytes in proptest::collection::vec((noise(), noise()), 1..5),
        most in 1..9_usize,
    ) {
        let whole = turns(bits, &bytes, usize::MAX);
        let cut = turns(bits, &bytes, most);
        prop_assert_eq!(whole, cut);
    }
}

#[test]
fn what_is_right_before_an_error_passes() {
    let mut followed = Followed::new(PLAIN);
    followed.read(Side::Client, &packet(0, b"\x03q")).unwrap();
    let right = packets(1, &[&[1], COLUMN]);
    let all = [&right[..], &packet(3, b"\x01x")].concat();
    let error = followed.read(Side::Server, &all).unwrap_err();
    assert_eq!(error, unexpected("the end of column definitions", 1));
    assert_eq!(followed.passed[1], right.len());
    assert_eq!(followed.relay.error_sequence(), Some(3));
}
