//! A server's stream to the client's core.
//!
//! | bytes | field                                                             |
//! |-------|-------------------------------------------------------------------|
//! | 1     | how the stream is cut                                             |
//! | 1     | bits 0 to 3: the limits; bit 4: the first reply is to be streamed; bit 5: two are passed over |
//! | rest  | the stream                                                        |
//!
//! Held: the same outcome, byte for byte and at the same offset, whole, byte by byte and cut at random, with homes for
//! large bulks and without; what is detached is what was borrowed; no reply is over a limit; memory and moved bytes stay
//! within their bounds.

use onecopy_resp_proto::{Client, Kind, Limits, Message, Reply};

use crate::delivery::Pieces;
use crate::input::Input;
use crate::resp::{Outcome, check_buffers, feed};

/// Replies that are waited for: more than an input holds.
const EXPECTED: u64 = 1 << 20;

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let pieces = Pieces::new(input.byte());
    let flags = input.byte();
    let stream = input.rest();
    let limits = Limits {
        max_bulk: if flags & 1 == 0 { 4 << 10 } else { 20 },
        max_depth: if flags & 2 == 0 { 128 } else { 2 },
        max_elements: if flags & 4 == 0 { 4 << 10 } else { 6 },
        max_total: if flags & 64 == 0 { 1 << 20 } else { 40 },
        max_line: if flags & 8 == 0 { 1 << 10 } else { 12 },
        large: usize::MAX,
    };
    let whole = outcome(stream, Pieces::WHOLE, limits, flags);
    for large in [usize::MAX, 16, 1] {
        let limits = Limits { large, ..limits };
        for pieces in [pieces, Pieces::SINGLE] {
            assert_eq!(outcome(stream, pieces, limits, flags), whole);
        }
    }
}

fn outcome(stream: &[u8], pieces: Pieces, limits: Limits, flags: u8) -> Outcome {
    let mut client = Client::new(limits);
    if flags & 32 != 0 {
        client.expect(2);
        client.abandon();
    }
    client.expect(EXPECTED);
    if flags & 16 != 0 {
        client.stream_next();
    }
    let mut streamed = Vec::new();
    let (outcome, buffers) =
        feed(
            &mut client,
            stream,
            pieces,
            |client, message, buffers| match message {
                Message::Reply(frame) | Message::Push(frame) => {
                    let reply = client.reply(frame, buffers);
                    check(reply, &limits);
                    let shown = format!("{} {reply:?}", frame.is_push());
                    let copy = reply.detach().expect("little memory");
                    let attribute = reply.attribute().map(|attribute| format!("{attribute:?}"));
                    let owned = client.detach(frame, buffers).expect("little memory");
                    assert_eq!(owned, copy);
                    assert_eq!(format!("{owned:?}"), format!("{copy:?}"));
                    Some(shown + &attribute.unwrap_or_default())
                }
                Message::Piece(piece) => {
                    streamed.extend_from_slice(buffers.bytes(piece));
                    None
                }
                Message::Bulk(len) => Some(format!("bulk of {len}")),
                Message::BulkEnd => Some(format!("end {}", streamed.escape_ascii())),
                other => panic!("{other:?}"),
            },
        );
    // Of a bulk that is cut short the pieces count as well.
    let (mut shown, error) = outcome;
    shown.push(streamed.escape_ascii().to_string());
    // Homes of one reply: as many elements as the limit, all of them together no longer than the stream.
    let in_homes = 2 * (stream.len() + 4096);
    check_buffers(&buffers, stream.len() as u64, in_homes);
    ((shown), error)
}

/// A reply within the limits; every view of it can be asked for.
fn check(reply: Reply<'_>, limits: &Limits) {
    let mut open = vec![(reply, 1)];
    let mut elements = 0;
    while let Some((reply, depth)) = open.pop() {
        assert!(reply.bytes().len() as u64 <= limits.max_bulk.max(limits.max_line as u64));
        assert!(reply.children().len() == reply.len() && reply.pairs().count() == reply.len() / 2);
        let _ = (
            reply.as_i64(),
            reply.as_f64(),
            reply.as_bool(),
            reply.as_str(),
            reply.format(),
            reply.as_error(),
        );
        assert!(reply.kind() != Kind::Map || reply.len() % 2 == 0);
        assert!(
            reply.is_empty() || depth <= limits.max_depth,
            "{depth} deep"
        );
        elements += reply.len();
        open.extend(reply.children().map(|child| (child, depth + 1)));
    }
    assert!(elements <= limits.max_elements, "{elements} elements");
}
