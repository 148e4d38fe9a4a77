//! Frames of the compressed protocol, whatever is in them.
//!
//! | bytes | field                                                             |
//! |-------|-------------------------------------------------------------------|
//! | 1     | lowest bit: zstd instead of zlib; the rest: a level                |
//! | 1     | how the stream is cut                                              |
//! | 1     | how little room there is                                           |
//! | rest  | frames                                                             |
//!
//! Held: the content, the frames and the error are the same however the stream is cut and however little room there is; no more
//! is put than there is room for, and no more than a header claims; between frames and behind an error nothing is borrowed.
//! And what is no frame, put into frames, comes out again.

use onecopy_mysql_proto::compression::{
    Algorithm, CompressionError, Decoder, Encoder, FrameEvent, Inflaters, Method,
};

use crate::delivery::Pieces;
use crate::input::Input;

/// The most that is taken out of one input: bombs are of 16 MiB, and a thousand of them fit in one.
const MOST: usize = 1 << 20;

/// What a stream comes to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    content: Vec<u8>,
    events: Vec<(usize, FrameEvent)>,
    error: Option<CompressionError>,
}

/// Reads one input three ways, and takes it there and back.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.byte();
    let (pieces, room) = (Pieces::new(input.byte()), Pieces::new(input.byte()));
    let algorithm = match kind & 1 {
        0 => Algorithm::Zlib,
        _ => Algorithm::Zstd,
    };
    let stream = input.rest();
    let whole = read(algorithm, stream, Pieces::WHOLE, Pieces::WHOLE);
    assert_eq!(read(algorithm, stream, pieces, Pieces::WHOLE), whole);
    if whole.content.len() < 64 << 10 {
        assert_eq!(read(algorithm, stream, pieces, room), whole);
    }
    let packed = pack(Method::new(algorithm, kind >> 1 & 7), stream);
    let back = read(algorithm, &packed, pieces, room);
    assert_eq!((&back.content[..], back.error), (stream, None));
}

fn pack(method: Method, mut bytes: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let mut packed = Vec::new();
    while !bytes.is_empty() {
        let (frame, taken) = encoder.frame(method, 0, bytes).expect("memory");
        packed.extend_from_slice(frame);
        bytes = &bytes[taken..];
    }
    packed
}

fn read(algorithm: Algorithm, stream: &[u8], mut pieces: Pieces, mut room: Pieces) -> Read {
    let (mut decoder, mut inflaters) = (Decoder::new(algorithm), Inflaters::new());
    let mut output = vec![0; 4 << 10];
    let mut read = Read::default();
    let (mut come, mut taken) = (0, 0);
    while read.content.len() < MOST {
        let room = room.take(output.len());
        let decoded = decoder.decode(&stream[taken..come], &mut output[..room], &mut inflaters);
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                assert_eq!(decoder.memory(), 0);
                let again = decoder.decode(&[0], &mut output, &mut inflaters);
                assert_eq!(again, Err(error));
                read.error = Some(error);
                break;
            }
        };
        assert!(decoded.put <= room);
        taken += decoded.taken;
        read.content.extend_from_slice(&output[..decoded.put]);
        if let Some(event) = decoded.event {
            assert!(event != FrameEvent::Ended || decoder.memory() == 0);
            read.events.push((read.content.len(), event));
        } else if decoded.put < room && !decoder.may_go_on() {
            assert_eq!(taken, come, "it wants more and has not taken what there is");
            if come == stream.len() {
                break;
            }
            come += pieces.take(stream.len() - come);
        }
    }
    // What a broken frame gives before its error depends on the room.
    if read.error.is_some() {
        read.content.clear();
        read.events.retain(|(_, event)| *event == FrameEvent::Ended);
        read.events.iter_mut().for_each(|(at, _)| *at = 0);
    }
    read
}
