//! A client's stream to the server's core.
//!
//! | bytes | field                       |
//! |-------|-----------------------------|
//! | 1     | how the stream is cut       |
//! | 1     | bits 0 to 2: the limits     |
//! | rest  | the stream                  |
//!
//! Held: the same outcome, byte for byte and at the same offset, whole, byte by byte and cut at random, with homes for
//! large arguments and without; no request is over a limit; a request that is written again is read the same; memory and
//! moved bytes stay within their bounds.

use std::io::IoSlice;

use onecopy_resp_proto::{Request, RequestLimits, RequestWriter, Server, ServerMessage};
use onecopy_wire::WriteQueue;

use crate::delivery::Pieces;
use crate::input::Input;
use crate::resp::{Outcome, check_buffers, feed};

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let pieces = Pieces::new(input.byte());
    let flags = input.byte();
    let stream = input.rest();
    let limits = RequestLimits {
        max_bulk: if flags & 1 == 0 { 4 << 10 } else { 20 },
        max_arguments: if flags & 2 == 0 { 4 << 10 } else { 3 },
        max_total: if flags & 8 == 0 { 1 << 20 } else { 40 },
        max_inline: if flags & 4 == 0 { 4 << 10 } else { 12 },
        large: usize::MAX,
    };
    let whole = outcome(stream, Pieces::WHOLE, limits);
    for large in [usize::MAX, 16, 1] {
        let limits = RequestLimits { large, ..limits };
        for pieces in [pieces, Pieces::SINGLE] {
            assert_eq!(outcome(stream, pieces, limits), whole);
        }
    }
}

fn outcome(stream: &[u8], pieces: Pieces, limits: RequestLimits) -> Outcome {
    let mut server = Server::new(limits);
    let (outcome, buffers) = feed(&mut server, stream, pieces, |server, message, buffers| {
        let ServerMessage::Request(frame) = message else {
            panic!("{message:?}")
        };
        let request = server.request(frame, buffers);
        assert!(request.len() > 0 && request.len() <= limits.max_arguments);
        for argument in request.arguments() {
            let most = limits.max_bulk.max(limits.max_inline as u64);
            assert!(argument.len() as u64 <= most);
        }
        let shown = format!("{request:?}");
        assert_eq!(again(request), shown);
        Some(shown)
    });
    check_buffers(&buffers, 0, 2 * (stream.len() + 4096));
    outcome
}

/// The request written and read again.
fn again(request: Request<'_>) -> String {
    let mut queue = WriteQueue::new();
    let mut writer = RequestWriter::new(&mut queue);
    writer.array(request.len());
    request
        .arguments()
        .for_each(|argument| writer.bulk(argument));
    writer.end().expect("little memory");
    let mut slices = [IoSlice::new(&[]); 64];
    let count = queue.slices(&(), &mut slices);
    let slices: Vec<&[u8]> = slices[..count].iter().map(|slice| &**slice).collect();
    let mut server = Server::new(RequestLimits::default());
    let bytes = slices.concat();
    let ((mut shown, _), _) = feed(
        &mut server,
        &bytes,
        Pieces::WHOLE,
        |server, message, buffers| {
            let ServerMessage::Request(frame) = message else {
                panic!("{message:?}")
            };
            Some(format!("{:?}", server.request(frame, buffers)))
        },
    );
    assert_eq!(shown.len(), 1);
    shown.remove(0)
}
