use super::*;
use crate::relay::{Event, Side};

mod conversation;
mod cores;
mod guarded;
mod hostile;
mod large;
mod left_out;
mod observed;
mod renumbered;
mod reply;

/// What an event says, with its place in all that its side has sent.
type Seen = (usize, Event);

/// A packet of 16 MiB at most.
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = u32::try_from(payload.len()).expect("short").to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// Packets one after the other, from `sequence` on.
fn packets(sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let ids = (0..=255).cycle().skip(usize::from(sequence));
    let numbered = payloads.iter().zip(ids);
    numbered
        .flat_map(|(payload, id)| packet(id, payload))
        .collect()
}

/// A relay and the bytes that it has not let pass.
#[derive(Debug)]
struct Followed {
    relay: Relay,
    client: Vec<u8>,
    server: Vec<u8>,
    passed: [usize; 2],
    seen: Vec<Seen>,
}

impl Followed {
    fn new(capabilities: Capabilities) -> Self {
        Self {
            relay: Relay::new(capabilities),
            client: Vec::new(),
            server: Vec::new(),
            passed: [0; 2],
            seen: Vec::new(),
        }
    }

    /// More bytes of one side, in pieces of at most `most`.
    fn feed(&mut self, side: Side, bytes: &[u8], most: usize) -> Result<(), RelayError> {
        for piece in bytes.chunks(most) {
            self.read(side, piece)?;
        }
        Ok(())
    }

    /// One read, and everything that is known about it.
    fn read(&mut self, side: Side, piece: &[u8]) -> Result<(), RelayError> {
        let Self { relay, .. } = self;
        let (bytes, passed) = match side {
            Side::Client => (&mut self.client, &mut self.passed[0]),
            Side::Server => (&mut self.server, &mut self.passed[1]),
        };
        bytes.extend_from_slice(piece);
        loop {
            let passage = match side {
                Side::Client => relay.client(bytes)?,
                Side::Server => relay.server(bytes)?,
            };
            let behind = bytes.len() - passage.pass;
            let before = *passed;
            *passed += passage.pass;
            let Some(event) = passage.event else {
                if passage.need == 0 {
                    bytes.drain(..passage.pass);
                    continue;
                }
                assert!(passage.need > behind, "{passage:?}: it could have gone on");
                bytes.drain(..passage.pass);
                return Ok(());
            };
            assert_eq!(passage.need, 0, "the next call may be made at once");
            bytes.drain(..passage.pass);
            self.seen.push(match event {
                Event::Command { at, command } => (before + at, Event::Command { at: 0, command }),
                Event::Acknowledgement { at } => (before + at, Event::Acknowledgement { at: 0 }),
                event => (*passed, event),
            });
        }
    }

    /// Whether all that came has passed.
    fn all_passed(&self) -> bool {
        self.client.is_empty() && self.server.is_empty()
    }
}

fn command(byte: u8) -> Event {
    Event::Command {
        at: 0,
        command: CommandByte(byte),
    }
}

fn done(byte: u8) -> Event {
    Event::Done {
        command: CommandByte(byte),
        failed: false,
        status: StatusFlags::AUTOCOMMIT,
    }
}

fn failed(byte: u8) -> Event {
    Event::Done {
        command: CommandByte(byte),
        failed: true,
        status: StatusFlags::AUTOCOMMIT,
    }
}

/// OK with AUTOCOMMIT.
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// ERR 1064.
const ERR: &[u8] = b"\xFF\x28\x04#42000no";
/// EOF with AUTOCOMMIT.
const EOF: &[u8] = &[0xFE, 0, 0, 2, 0];
/// OK of the same status behind rows.
const OK_EOF: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
/// How a column definition begins; nothing else of it is looked at.
const COLUMN: &[u8] = b"\x03def\x00\x00\x00\x01a";

const PLAIN: Capabilities = Capabilities::PROTOCOL_41;
const DEPRECATE: Capabilities = PLAIN.union(Capabilities::DEPRECATE_EOF);

/// Plays steps in every way that two streams can be cut; gives what was seen, the same for all, and the relay at the
/// end of one.
fn play(capabilities: Capabilities, steps: &[(Side, Vec<u8>)]) -> (Vec<Event>, Relay) {
    let whole = run(capabilities, steps, |followed, side, bytes| {
        followed.feed(side, bytes, usize::MAX)
    });
    for most in 1..=7 {
        let cut = run(capabilities, steps, |followed, side, bytes| {
            followed.feed(side, bytes, most)
        });
        assert_eq!(cut.seen, whole.seen, "in pieces of {most}");
    }
    let longest = steps.iter().map(|(_, bytes)| bytes.len()).max();
    for place in 1..longest.unwrap_or_default() {
        let cut = run(capabilities, steps, |followed, side, bytes| {
            let (head, tail) = bytes.split_at(place.min(bytes.len()));
            followed.read(side, head)?;
            followed.read(side, tail)
        });
        assert_eq!(cut.seen, whole.seen, "cut at {place}");
    }
    let seen = whole.seen.into_iter().map(|(_, event)| event).collect();
    (seen, whole.relay)
}

fn run(
    capabilities: Capabilities,
    steps: &[(Side, Vec<u8>)],
    feed: impl Fn(&mut Followed, Side, &[u8]) -> Result<(), RelayError>,
) -> Followed {
    let mut followed = Followed::new(capabilities);
    for (side, bytes) in steps {
        feed(&mut followed, *side, bytes).expect("an honest conversation");
        assert!(followed.all_passed(), "{bytes:02x?} is whole");
    }
    followed
}

/// The client's part of a conversation.
fn c(payload: &[u8]) -> (Side, Vec<u8>) {
    (Side::Client, packet(0, payload))
}

/// The server's, as a reply.
fn s(payloads: &[&[u8]]) -> (Side, Vec<u8>) {
    (Side::Server, packets(1, payloads))
}

#[test]
fn a_session_takes_little_memory() {
    assert!(size_of::<Relay>() <= 232, "{}", size_of::<Relay>());
}

#[test]
fn a_new_session_is_idle() {
    let relay = Relay::new(PLAIN);
    assert!(relay.is_idle() && !relay.in_transaction() && !relay.reply_begun());
    assert_eq!(relay.error_sequence(), Some(0));
    assert_eq!((relay.outstanding(), relay.commands()), (0, 0));
    assert_eq!(relay.command(), None);
    let relay = relay.with_status(StatusFlags::IN_TRANS);
    assert!(relay.in_transaction());
}

#[test]
fn the_sequence_id_of_an_error_follows_who_spoke_last() {
    let mut relay = Relay::new(PLAIN);
    relay.client(&packet(0, b"\x03select")).unwrap();
    assert_eq!(relay.error_sequence(), Some(1));
    assert!(!relay.reply_begun());
    let reply = packets(1, &[&[1], COLUMN, EOF, b"\x01x", EOF]);
    // The count and the first byte of a definition.
    let passage = relay.server(&reply[..10]).unwrap();
    assert_eq!(passage.pass, 10);
    assert_eq!(passage.until_end, COLUMN.len() - 1);
    assert_eq!(relay.error_sequence(), None, "in the middle of a packet");
    assert!(relay.reply_begun());
    let count = reply.len() - 9;
    let passage = relay.server(&reply[10..count]).unwrap();
    assert_eq!((passage.pass, passage.need), (count - 10, 4));
    assert_eq!(relay.error_sequence(), Some(5));
    relay.server(&reply[count..]).unwrap();
    assert_eq!(relay.error_sequence(), Some(0));
    assert!(!relay.reply_begun());
}

#[test]
fn a_header_alone_does_not_pass_and_says_what_is_missing() {
    let mut relay = Relay::new(PLAIN);
    let ping = packet(0, b"\x0e");
    for (count, need) in [(0, 4), (3, 4), (4, 5)] {
        let passage = relay.client(&ping[..count]).unwrap();
        assert_eq!((passage.pass, passage.need), (0, need));
        assert_eq!(passage.until_end, usize::from(count == 4));
    }
    assert_eq!(relay.client(&ping).unwrap().pass, 5);
}
