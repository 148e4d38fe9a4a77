//! A server's part written by hand, and the packets that the client makes of a file.

use onecopy_wire::{BufferConfig, Core};

use super::*;
use crate::Capabilities;
use crate::client::{Limits, Session};

struct Client {
    core: ClientCore,
    buffers: Buffers,
}

impl Client {
    fn new() -> Self {
        let session = Session::with(Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF);
        Self {
            core: ClientCore::new(session, Limits::default()),
            buffers: Buffers::new(BufferConfig::default()),
        }
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<Step<Reply>, Error> {
        let mut left = bytes;
        loop {
            let step = self.core.advance(&mut self.buffers)?;
            if left.is_empty() || !matches!(step, Step::NeedInput(_)) {
                return Ok(step);
            }
            self.buffers.prepare().unwrap();
            let n =
                std::io::Read::read_vectored(&mut left, self.buffers.targets().as_mut()).unwrap();
            self.buffers.commit(n);
        }
    }

    /// What the client has queued; parts by reference are in `borrowed`.
    fn said(&mut self, borrowed: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        while self.buffers.has_output() {
            let mut slices = [std::io::IoSlice::new(&[]); 8];
            let count = self.buffers.output_slices(borrowed, &mut slices);
            let before = said.len();
            said.extend(slices[..count].iter().flat_map(|slice| slice.iter()));
            self.buffers.commit_output(said.len() - before);
        }
        said
    }

    /// Up to the server's request for "f".
    fn requested() -> Self {
        let mut client = Self::new();
        client
            .core
            .query_with_local_infile(&mut client.buffers, b"LOAD")
            .unwrap();
        assert_eq!(client.said(&[]), b"\x05\0\0\0\x03LOAD");
        let Ok(Step::Message(Reply::LocalInfile(name))) = client.hear(b"\x02\0\0\x01\xfbf") else {
            panic!("a request");
        };
        assert_eq!(client.buffers.bytes(name), b"f");
        client
    }
}

#[test]
fn pieces_go_on_from_the_requests_id_and_an_empty_packet_ends_them() {
    let mut client = Client::requested();
    let large = vec![7; 20_000];
    client
        .core
        .send_local_infile(&mut client.buffers, b"")
        .unwrap();
    assert_eq!(client.said(&[]), b"", "no bytes are no packet");
    client
        .core
        .send_local_infile(&mut client.buffers, b"ab")
        .unwrap();
    assert_eq!(client.said(&[]), b"\x02\0\0\x02ab");
    client
        .core
        .send_local_infile(&mut client.buffers, &large)
        .unwrap();
    assert_eq!(
        client.said(&large),
        [b"\x20\x4e\0\x03", &large[..]].concat()
    );
    client.core.end_local_infile(&mut client.buffers).unwrap();
    assert_eq!(client.said(&[]), b"\0\0\0\x04");
    // OK: 2 rows.
    let heard = client.hear(b"\x07\0\0\x05\0\x02\0\x02\0\0\0");
    assert_eq!(heard, Ok(Step::Message(Reply::Ok)));
    assert_eq!(client.core.ok().affected_rows, 2);
    assert!(client.core.is_idle());
}

#[test]
fn a_piece_never_fills_a_packet_whose_empty_tail_would_end_the_file() {
    let mut client = Client::requested();
    let full = vec![0; MAX_BODY];
    let refused = client.core.send_local_infile(&mut client.buffers, &full);
    assert!(matches!(
        refused,
        Err(Error::Wire(WireError::LimitExceeded { .. }))
    ));
    assert_eq!(client.said(&full), b"");
    client
        .core
        .send_local_infile(&mut client.buffers, &full[1..])
        .unwrap();
    assert_eq!(client.said(&full[1..]).len(), 4 + MAX_BODY - 1);
}

#[test]
fn without_a_request_nothing_is_sent() {
    let mut client = Client::new();
    for sent in [
        client.core.send_local_infile(&mut client.buffers, b"ab"),
        client.core.end_local_infile(&mut client.buffers),
    ] {
        assert_eq!(sent, Err(Error::LocalInfileOver));
    }
    client.core.query(&mut client.buffers, b"SELECT").unwrap();
    let heard = client.hear(b"\x02\0\0\x01\xfbf");
    assert_eq!(heard, Err(Error::LocalInfileRefused));
}

#[test]
fn the_permission_is_one_commands_and_holds_for_all_its_results() {
    let mut client = Client::requested();
    client.core.end_local_infile(&mut client.buffers).unwrap();
    // OK, more results; then another request.
    client.hear(b"\x07\0\0\x03\0\0\0\x0a\0\0\0").unwrap();
    let heard = client.hear(b"\x02\0\0\x04\xfbg");
    assert!(matches!(heard, Ok(Step::Message(Reply::LocalInfile(_)))));
    client.core.end_local_infile(&mut client.buffers).unwrap();
    client.hear(b"\x07\0\0\x06\0\0\0\x02\0\0\0").unwrap();
    client.said(&[]);
    client.core.query(&mut client.buffers, b"SELECT").unwrap();
    let heard = client.hear(b"\x02\0\0\x01\xfbf");
    assert_eq!(heard, Err(Error::LocalInfileRefused));
}

#[test]
fn while_data_is_sent_the_server_may_break_off_with_an_error_and_say_nothing_else() {
    for sequence in [2, 9] {
        let mut client = Client::requested();
        let packet = [b"\x03\0\0", &[sequence][..], b"\xff\x87\x07"].concat();
        let heard = client.hear(&packet);
        assert!(
            matches!(heard, Ok(Step::Message(Reply::Err(_)))),
            "{heard:?}"
        );
        assert_eq!(client.hear(b""), Err(Error::LocalInfileBroken));
        let sent = client.core.send_local_infile(&mut client.buffers, b"ab");
        assert_eq!(sent, Err(Error::LocalInfileBroken));
    }
    let mut client = Client::requested();
    let heard = client.hear(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    assert!(
        matches!(heard, Err(Error::Unexpected { byte: 0, .. })),
        "{heard:?}"
    );
}
