//! A session that is followed while its bytes pass, whatever the two say.
//!
//! | bytes | field                                                                 |
//! |-------|-----------------------------------------------------------------------|
//! | 1     | capabilities, see [`reply_capabilities`]                              |
//! | 1     | how both streams are cut; odd where ends of results are told          |
//! | rest  | what they say in turns, the client first: groups of packets as chunks |
//!
//! Held: what was seen, and where, is the same however the bytes are cut; a look passes no more than it is given, waits
//! for more than there is, and stays with its first error; no more commands are open than were sent.

use onecopy_mysql_proto::relay::{Event, Passage, Relay, RelayError};

use crate::delivery::Pieces;
use crate::input::Input;
use crate::packets::check_line;
use crate::session::reply_capabilities;
use crate::stream::groups;

/// Follows one input twice, its bytes whole and in pieces.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let relay = || {
        let mut relay = Relay::new(reply_capabilities(
            data.first().copied().unwrap_or_default(),
        ));
        if data.get(1).is_some_and(|how| how % 2 == 1) {
            relay.tell_results();
        }
        relay
    };
    input.byte();
    let pieces = Pieces::new(input.byte());
    let turns = groups(&mut input, 0);
    let whole = Follower::new(relay()).follow(&turns, Pieces::WHOLE);
    let cut = Follower::new(relay()).follow(&turns, pieces);
    assert_eq!(whole, cut);
}

type Look = fn(&mut Relay, &[u8]) -> Result<Passage, RelayError>;

/// One direction.
#[derive(Default)]
struct Way {
    /// What has not passed.
    bytes: Vec<u8>,
    passed: usize,
}

struct Follower {
    relay: Relay,
    ways: [Way; 2],
    seen: Vec<(usize, Event)>,
}

impl Follower {
    fn new(relay: Relay) -> Self {
        Self {
            relay,
            ways: Default::default(),
            seen: Vec::new(),
        }
    }

    fn follow(
        mut self,
        turns: &[Vec<u8>],
        mut pieces: Pieces,
    ) -> (Vec<(usize, Event)>, Option<RelayError>) {
        for (number, turn) in turns.iter().enumerate() {
            let mut left = &turn[..];
            while !left.is_empty() {
                let (piece, rest) = left.split_at(pieces.take(left.len()));
                left = rest;
                if let Err(error) = self.read(number % 2, piece) {
                    check_line(&error);
                    assert_eq!(self.relay.client(b""), Err(error));
                    assert_eq!(self.relay.server(b"\0"), Err(error));
                    return (self.seen, Some(error));
                }
            }
        }
        (self.seen, None)
    }

    fn read(&mut self, way: usize, piece: &[u8]) -> Result<(), RelayError> {
        let look: Look = [Relay::client, Relay::server][way];
        let Way { bytes, passed } = &mut self.ways[way];
        bytes.extend_from_slice(piece);
        loop {
            let passage = look(&mut self.relay, bytes)?;
            let before = *passed;
            bytes.drain(..passage.pass);
            *passed += passage.pass;
            let outstanding = u64::try_from(self.relay.outstanding()).expect("a few");
            assert!(outstanding <= self.relay.commands());
            assert!(self.relay.statements() <= self.seen.len());
            match passage.event {
                None => {
                    if passage.need == 0 {
                        // The next call gives an error.
                        assert!(look(&mut self.relay, bytes).is_err());
                        continue;
                    }
                    assert!(passage.need > bytes.len());
                    return Ok(());
                }
                Some(Event::Command { at, command }) => {
                    let event = Event::Command { at: 0, command };
                    self.seen.push((before + at, event));
                }
                Some(event) => self.seen.push((*passed, event)),
            }
        }
    }
}
