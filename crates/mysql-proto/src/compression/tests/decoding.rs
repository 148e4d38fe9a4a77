//! Frames that are as they should be, however they are cut.

use super::*;

/// What MySQL's documentation has of the protocol: `select "012345678901234567890123456789012345"`.
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html>
pub(super) const QUERY_FRAME: &[u8] = &[
    0x22, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00, // 34 bytes, sequence id 0, 50 bytes before
    0x78, 0x9C, 0xD3, 0x63, 0x60, 0x60, 0x60, 0x2E, 0x4E, 0xCD, 0x49, 0x4D, 0x2E, 0x51, 0x50, 0x32,
    0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0xC4, 0xCD, 0x52, 0x02, 0x00, 0x0C, 0xD1,
    0x0A, 0x6C,
];

pub(super) const QUERY: &[u8] =
    b"\x2E\x00\x00\x00\x03select \"012345678901234567890123456789012345\"";

#[test]
fn a_documented_frame_is_read() {
    let (content, ids) = read(Algorithm::Zlib, QUERY_FRAME, usize::MAX, 4096).unwrap();
    assert_eq!(content, QUERY);
    assert_eq!(ids, [0]);
}

#[test]
fn frames_are_read_however_they_are_cut_and_however_little_room_there_is() {
    for algorithm in algorithms() {
        let (stream, expected) = stream(algorithm);
        for most in (1..64).chain([stream.len() - 1, stream.len()]) {
            for room in [1, 2, 7, 49, 50, 51, 300, 1 << 20] {
                let read = read(algorithm, &stream, most, room).unwrap();
                assert_eq!(read, expected, "{most} at a time into {room}");
            }
        }
    }
}

#[test]
fn a_frame_that_is_cut_once_anywhere_is_read() {
    for algorithm in algorithms() {
        let (stream, expected) = stream(algorithm);
        for cut in 0..=stream.len() {
            let mut decoder = Decoder::new(algorithm);
            let mut inflaters = Inflaters::new();
            let mut content = Vec::new();
            for mut piece in [&stream[..cut], &stream[cut..]] {
                loop {
                    let mut output = [0; 4096];
                    let decoded = decoder.decode(piece, &mut output, &mut inflaters);
                    let decoded = decoded.unwrap();
                    piece = &piece[decoded.taken..];
                    content.extend_from_slice(&output[..decoded.put]);
                    if decoded.event.is_none() && decoded.put < output.len() {
                        break;
                    }
                }
            }
            assert_eq!(content, expected.0, "cut at {cut}");
        }
    }
}

#[test]
fn nothing_is_borrowed_before_a_compressed_byte_has_come_and_all_is_given_back() {
    for algorithm in algorithms() {
        let mut encoder = Encoder::new();
        let method = Method::new(algorithm, 1);
        let content = b"x".repeat(1000);
        let frame = encoder.frame(method, 0, &content).unwrap().0.to_vec();
        let mut decoder = Decoder::new(algorithm);
        let mut inflaters = Inflaters::new();
        let mut output = [0; 2000];
        let header = decoder.decode(&frame[..7], &mut output, &mut inflaters);
        assert!(header.unwrap().event.is_some());
        assert!(!decoder.is_between_frames());
        decoder.decode(&[], &mut output, &mut inflaters).unwrap();
        assert_eq!((decoder.memory(), inflaters.memory()), (0, 0));
        let part = decoder.decode(&frame[7..8], &mut output, &mut inflaters);
        assert_eq!(part.unwrap().taken, 1);
        assert!(decoder.memory() > 0);
        let rest = decoder.decode(&frame[8..], &mut output, &mut inflaters);
        assert_eq!(rest.unwrap().event, Some(FrameEvent::Ended));
        assert_eq!(decoder.memory(), 0);
        assert!(inflaters.memory() > 0);
        inflaters.release();
        assert_eq!(inflaters.memory(), 0);
        // A stream that ends in the middle of a frame.
        decoder
            .decode(&frame[..7], &mut output, &mut inflaters)
            .unwrap();
        decoder
            .decode(&frame[7..8], &mut output, &mut inflaters)
            .unwrap();
        decoder.give_up(&mut inflaters);
        assert_eq!(decoder.memory(), 0);
        assert!(inflaters.memory() > 0);
        // What was given back in the middle is as good as new.
        let mut decoder = Decoder::new(algorithm);
        let header = decoder.decode(&frame, &mut output, &mut inflaters).unwrap();
        let rest = decoder.decode(&frame[header.taken..], &mut output, &mut inflaters);
        assert_eq!(rest.unwrap().put, 1000);
    }
}

/// A small one, a compressed one, an empty one, one that is larger than what is made at once, and a stored one.
fn stream(algorithm: Algorithm) -> (Vec<u8>, Read) {
    let mut encoder = Encoder::new();
    let method = Method::new(algorithm, 6);
    let contents = [b"ping".to_vec(), b"abc".repeat(100), Vec::new(), noise(60)];
    let (mut stream, mut all) = (Vec::new(), Vec::new());
    for (sequence, content) in (0..).zip(&contents) {
        let (frame, taken) = encoder.frame(method, sequence, content).unwrap();
        assert_eq!(taken, content.len());
        stream.extend_from_slice(frame);
        all.extend_from_slice(content);
    }
    (stream, (all, vec![0, 1, 2, 3]))
}
