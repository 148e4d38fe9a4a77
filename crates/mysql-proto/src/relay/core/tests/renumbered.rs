//! Sides whose bytes were compressed: their packets' ids mean nothing.

use super::*;
use crate::frame::{HEADER_BYTES, MAX_BODY, split_header};

/// All headers' ids of what passed.
fn ids(bytes: &[u8]) -> Vec<u8> {
    let (mut ids, mut at) = (Vec::new(), 0);
    while let Some(header) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let (length, id) = split_header(*header);
        ids.push(id);
        at += HEADER_BYTES + length;
    }
    ids
}

/// Two sides that number their packets as they like.
struct Sides {
    relay: Relay,
    passed: [Vec<u8>; 2],
}

impl Sides {
    fn new() -> Self {
        let relay = Relay::new(PLAIN);
        Self {
            relay,
            passed: Default::default(),
        }
    }

    /// What one side says, in pieces of at most `most` bytes.
    fn say(&mut self, side: Side, bytes: &[u8], most: usize) {
        let mut pending = Vec::new();
        for piece in bytes.chunks(most) {
            pending.extend_from_slice(piece);
            loop {
                let (seen, passed) = match side {
                    Side::Client => {
                        let seen = self.relay.client_renumbered(&mut pending);
                        (seen, &mut self.passed[0])
                    }
                    Side::Server => {
                        let seen = self.relay.server_renumbered(&mut pending);
                        (seen, &mut self.passed[1])
                    }
                };
                let seen = seen.unwrap();
                passed.extend(pending.drain(..seen.pass));
                if seen.need > 0 {
                    break;
                }
            }
        }
        assert_eq!(pending, b"");
    }

    fn client(&mut self, bytes: &[u8], most: usize) {
        self.say(Side::Client, bytes, most);
    }

    fn server(&mut self, bytes: &[u8], most: usize) {
        self.say(Side::Server, bytes, most);
    }
}

const PIECES: [usize; 5] = [1, 2, 5, 7, usize::MAX];

#[test]
fn a_reply_is_numbered_from_its_command_whatever_the_server_counts() {
    for most in PIECES {
        let mut sides = Sides::new();
        for _ in 0..2 {
            sides.client(&packet(0, b"\x03select"), most);
            // From 7 on, and from 3 on behind a flush.
            let reply = [
                packets(7, &[&[1], COLUMN, EOF]),
                packets(3, &[b"\x01a", b"\x01b", EOF]),
            ];
            sides.server(&reply.concat(), most);
            assert!(sides.relay.is_idle());
        }
        assert_eq!(ids(&sides.passed[1]), [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn commands_begin_with_0_and_files_go_on_from_what_the_server_said() {
    for most in PIECES {
        let mut sides = Sides::new();
        sides.client(&packet(9, b"\x03load"), most);
        sides.server(&packet(5, b"\xFBfile"), most);
        sides.client(&packets(77, &[b"one", b"two", b""]), most);
        sides.server(&packet(200, OK), most);
        sides.client(&packet(4, b"\x0e"), most);
        sides.server(&packet(0, OK), most);
        assert_eq!(ids(&sides.passed[0]), [0, 2, 3, 4, 0]);
        assert_eq!(ids(&sides.passed[1]), [1, 5, 1]);
        assert!(sides.relay.is_idle());
    }
}

#[test]
fn a_change_of_user_counts_both_sides_packets() {
    for most in PIECES {
        let mut sides = Sides::new();
        sides.client(&packet(0, b"\x11user"), most);
        sides.server(&packet(8, b"\xFEplugin\0nonce"), most);
        sides.client(&packet(3, b"answer"), most);
        sides.server(&packet(9, OK), most);
        assert_eq!(ids(&sides.passed[0]), [0, 2]);
        assert_eq!(ids(&sides.passed[1]), [1, 3]);
    }
}

#[test]
fn commands_that_are_sent_ahead_are_answered_each_from_its_own_number() {
    for most in PIECES {
        let mut sides = Sides::new();
        let commands = [
            packet(4, b"\x03a"),
            packet(5, b"\x19close"),
            packet(6, b"\x03b"),
        ];
        sides.client(&commands.concat(), most);
        sides.server(&[packet(9, OK), packet(10, OK)].concat(), most);
        assert_eq!(ids(&sides.passed[0]), [0, 0, 0]);
        assert_eq!(ids(&sides.passed[1]), [1, 1]);
        assert!(sides.relay.is_idle());
    }
}

#[test]
fn the_parts_of_a_large_payload_are_numbered_on_both_sides() {
    let part = vec![b'x'; MAX_BODY - 1];
    for most in [usize::MAX, 1 << 20, 131_071] {
        let mut sides = Sides::new();
        // One with a reply, one that is sent ahead, one without a reply.
        for (first, has_reply) in [(3_u8, true), (3, true), (0x18, false)] {
            let mut command = packet(5, &[&[first], &part[..]].concat());
            command.extend(packet(9, b"rest"));
            sides.client(&command, most);
            assert_eq!(sides.relay.outstanding() > 0, has_reply || first != 3);
        }
        let row = [packet(8, &[&[3], &part[..]].concat()), packet(1, b"rest")].concat();
        let reply = [packets(4, &[&[1], COLUMN, EOF]), row, packet(0, EOF)].concat();
        sides.server(&reply, most);
        sides.server(&packet(1, OK), most);
        assert!(sides.relay.is_idle());
        assert_eq!(ids(&sides.passed[0]), [0, 1, 0, 1, 0, 1]);
        assert_eq!(ids(&sides.passed[1]), [2, 3, 4, 5, 6, 7, 2]);
    }
}

#[test]
fn ends_of_results_are_told_where_they_are_asked_for() {
    // Two results and an OK packet, captured from MariaDB 10.11.19.
    let (more, row): (&[u8], &[u8]) = (&[0xFE, 0, 0, 0x0A, 0], b"\x011");
    let reply = [
        packets(1, &[&[1], COLUMN, more, row, more]),
        packets(2, &[&[0, 0, 0, 0x0A, 0, 0, 0]]),
        packets(3, &[&[1], COLUMN, more, row, EOF]),
    ];
    let ends = [reply[0].len(), reply[0].len() + reply[1].len()];
    let reply = reply.concat();
    for most in PIECES.into_iter().chain([ends[0], ends[1]]) {
        let mut relay = Relay::new(PLAIN);
        relay.tell_results();
        relay.client(&packet(0, b"\x03select")).unwrap();
        let (mut pending, mut passed, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for piece in reply.chunks(most) {
            pending.extend_from_slice(piece);
            loop {
                let passage = relay.server_renumbered(&mut pending).unwrap();
                passed.extend(pending.drain(..passage.pass));
                match passage.event {
                    Some(event) => seen.push((passed.len(), event)),
                    None => break,
                }
            }
        }
        let expected = [
            (ends[0], Event::Result),
            (ends[1], Event::Result),
            (reply.len(), done(3)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(ids(&passed), (1..=11).collect::<Vec<_>>());
        assert!(relay.is_idle());
    }
}

#[test]
fn a_replicas_acknowledgement_keeps_its_number() {
    let mut sides = Sides::new();
    sides.client(&packet(0, b"\x12dump"), 3);
    sides.server(&packet(6, b"\x00event"), 3);
    sides.client(&packet(0, b"\xEFacknowledged"), 3);
    sides.server(&packet(7, b"\x00event"), 3);
    assert_eq!(ids(&sides.passed[0]), [0, 0]);
    assert_eq!(ids(&sides.passed[1]), [1, 2]);
}

/// COM_BINLOG_DUMP; an event that is acknowledged and one that is not; an acknowledgement.
const DUMP: &[u8] = b"\x12\x04\0\0\0\0\0\x02\0\0\0";
const SYNCED: &[u8] = b"\x00\xEF\x01event";
const UNSYNCED: &[u8] = b"\x00\xEF\x00event";
const ACKNOWLEDGEMENT: &[u8] = b"\xEF\xE6\x01\0\0\0\0\0\0a-bin.000001";

#[test]
fn a_binary_log_is_numbered_from_1_again_behind_an_event_that_is_acknowledged() {
    // The ids that MariaDB's packets have over compression, and those that a replica without it expects.
    let events = [
        (UNSYNCED, 1, 1),
        (UNSYNCED, 2, 2),
        // Frames have jumped.
        (UNSYNCED, 2, 3),
        (SYNCED, 3, 4),
        (UNSYNCED, 1, 1),
        (SYNCED, 2, 2),
        (SYNCED, 1, 1),
        (UNSYNCED, 1, 1),
        // No event was acknowledged: the count has wrapped around.
        (UNSYNCED, 1, 2),
    ];
    // However little comes at once.
    for cut in [usize::MAX, 7, 5, 1] {
        let mut relay = Relay::new(PLAIN);
        relay.client(&packet(0, DUMP)).unwrap();
        for (payload, theirs, ours) in events {
            let mut bytes = packet(theirs, payload);
            let (mut at, mut end) = (0, cut.min(bytes.len()));
            while at < bytes.len() {
                let passage = relay.server_renumbered(&mut bytes[at..end]).unwrap();
                at += passage.pass;
                end = bytes.len().min(end.max(at + passage.need.max(1)));
            }
            assert_eq!(bytes[3], ours, "{payload:?} cut at {cut}");
            let acknowledgement = packet(0, ACKNOWLEDGEMENT);
            let passage = relay.client(&acknowledgement).unwrap();
            assert_eq!(passage.pass, acknowledgement.len());
            assert_eq!(passage.event, Some(Event::Acknowledgement { at: 0 }));
        }
    }
}
