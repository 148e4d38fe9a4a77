//! A server's part written by hand, in pieces of any size.

use onecopy_wire::{BufferConfig, Core};

use super::*;
use crate::Capabilities;
use crate::client::{Limits, Session};

/// OK, with which another result is announced.
const OK_MORE: &[u8] = b"\x07\0\0\x01\0\0\0\x0A\0\0\0";
const TEXT_PACKET: &[u8] = b"\x15\0\0\x01Uptime: 7  Threads: 1";

struct Client {
    core: ClientCore,
    buffers: Buffers,
    /// The server's bytes come in pieces of so many.
    piece: usize,
}

impl Client {
    /// Up to the first OK, with `COM_STATISTICS` behind it.
    fn asking(piece: usize) -> Self {
        let session = Session::with(Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF);
        let mut client = Self {
            core: ClientCore::new(session, Limits::default()),
            buffers: Buffers::new(BufferConfig::default()),
            piece,
        };
        client
            .core
            .query(&mut client.buffers, b"DO 1; DO 2; DO 3")
            .unwrap();
        client.sent();
        assert_eq!(client.hear(OK_MORE), [Reply::Ok]);
        assert!(client.core.ask_for_rest(&mut client.buffers).unwrap());
        // Once.
        assert!(!client.core.ask_for_rest(&mut client.buffers).unwrap());
        assert_eq!(client.sent(), b"\x01\0\0\0\x09");
        client
    }

    fn sent(&mut self) -> Vec<u8> {
        let mut slices = [std::io::IoSlice::new(&[]); 8];
        let count = self.buffers.output_slices(&(), &mut slices);
        let sent: Vec<u8> = slices[..count]
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        self.buffers.commit_output(sent.len());
        sent
    }

    /// All replies that come of it.
    fn hear(&mut self, mut bytes: &[u8]) -> Vec<Reply> {
        let mut replies = Vec::new();
        loop {
            match self.core.advance(&mut self.buffers).unwrap() {
                Step::Message(reply) => replies.push(reply),
                _ if bytes.is_empty() => return replies,
                _ => {
                    self.buffers.prepare().unwrap();
                    let (mut now, later) = bytes.split_at(self.piece.min(bytes.len()));
                    let targets = &mut self.buffers.targets();
                    let n = std::io::Read::read_vectored(&mut now, targets.as_mut()).unwrap();
                    self.buffers.commit(n);
                    assert!(now.is_empty());
                    bytes = later;
                }
            }
        }
    }
}

#[test]
fn the_text_in_place_of_a_result_ends_the_reply() {
    for piece in [1, 3, 64] {
        let mut client = Client::asking(piece);
        assert_eq!(client.hear(TEXT_PACKET), [Reply::Err(Span::EMPTY)]);
        assert!(client.core.is_idle());
    }
}

#[test]
fn the_text_behind_a_reply_is_passed_over() {
    let ok = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    let err = b"\x09\0\0\x02\xFF\x25\x05#70100";
    for piece in [1, 3, 64] {
        let mut client = Client::asking(piece);
        let both = [&ok[..], TEXT_PACKET].concat();
        assert_eq!(client.hear(&both), [Reply::Ok, Reply::Ok]);
        assert!(client.core.is_idle());
        let mut client = Client::asking(piece);
        let replies = client.hear(&[&err[..], TEXT_PACKET].concat());
        assert!(matches!(replies[..], [Reply::Err(span), Reply::Ok] if !span.is_empty()));
        assert!(client.core.is_idle());
    }
}

#[test]
fn results_before_the_one_that_is_left_out_come() {
    for piece in [1, 3, 64] {
        let mut client = Client::asking(piece);
        let ok_more = [&OK_MORE[..3], b"\x02", &OK_MORE[4..]].concat();
        let replies = client.hear(&[&ok_more[..], TEXT_PACKET].concat());
        assert_eq!(replies, [Reply::Ok, Reply::Err(Span::EMPTY)]);
        assert!(client.core.is_idle());
    }
}

#[test]
fn a_count_of_columns_that_begins_like_the_text_is_none() {
    let mut client = Client::asking(1);
    // 85 columns, the first byte of the text.
    assert_eq!(client.hear(b"\x01\0\0\x02U"), []);
    assert_eq!(client.core.state, State::Definitions { left: 85 });
}

#[test]
fn nothing_is_asked_where_the_server_may_want_a_file() {
    let mut client = Client::asking(64);
    client.hear(TEXT_PACKET);
    let Client { core, buffers, .. } = &mut client;
    assert!(!core.ask_for_rest(buffers).unwrap());
    core.query_with_local_infile(buffers, b"LOAD").unwrap();
    assert!(!core.ask_for_rest(buffers).unwrap());
}
