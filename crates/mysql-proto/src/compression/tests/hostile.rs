//! Frames that lie, whole and byte by byte.

use super::decoding::{QUERY, QUERY_FRAME};
use super::*;

/// The same error however it comes, and again with each further call.
fn refused(algorithm: Algorithm, stream: &[u8]) -> CompressionError {
    let error = fail(algorithm, stream, usize::MAX, 1 << 16);
    for (most, room) in [(1, 1), (1, 1 << 16), (usize::MAX, 1), (5, 3)] {
        assert_eq!(fail(algorithm, stream, most, room), error, "{most}, {room}");
    }
    error
}

fn fail(algorithm: Algorithm, stream: &[u8], most: usize, room: usize) -> CompressionError {
    let mut decoder = Decoder::new(algorithm);
    let mut inflaters = Inflaters::new();
    let mut output = vec![0; room];
    for mut piece in stream.chunks(most) {
        loop {
            match decoder.decode(piece, &mut output, &mut inflaters) {
                Ok(decoded) => {
                    piece = &piece[decoded.taken..];
                    if decoded.event.is_none() && decoded.put < room {
                        break;
                    }
                }
                Err(error) => {
                    let again = decoder.decode(&[0], &mut output, &mut inflaters);
                    assert_eq!(again, Err(error));
                    assert_eq!(decoder.memory(), 0);
                    return error;
                }
            }
        }
    }
    panic!("it was taken");
}

/// What the encoder makes of `content`, without its header.
fn packed(algorithm: Algorithm, content: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let (frame, taken) = encoder
        .frame(Method::new(algorithm, 6), 0, content)
        .unwrap();
    assert_eq!(taken, content.len());
    frame[HEADER_BYTES..].to_vec()
}

#[test]
fn lengths_that_lie_either_way_are_errors() {
    let body = &QUERY_FRAME[HEADER_BYTES..];
    let of = |before| refused(Algorithm::Zlib, &frame(body.len(), 0, before, body));
    assert_eq!(of(49), CompressionError::Longer { claimed: 49 });
    assert_eq!(of(1), CompressionError::Longer { claimed: 1 });
    let (claimed, found) = (51, 50);
    assert_eq!(of(51), CompressionError::Shorter { claimed, found });
    let claimed = 0xFF_FFFF;
    let shorter = CompressionError::Shorter { claimed, found };
    assert_eq!(of(MAX_CONTENT), shorter);
}

#[test]
fn lengths_that_lie_are_errors_of_every_algorithm() {
    for algorithm in algorithms() {
        let body = packed(algorithm, &b"abcdef".repeat(100));
        let of = |before| refused(algorithm, &frame(body.len(), 0, before, &body));
        assert_eq!(of(599), CompressionError::Longer { claimed: 599 });
        let (claimed, found) = (601, 600);
        assert_eq!(of(601), CompressionError::Shorter { claimed, found });
    }
}

#[test]
fn what_ends_too_early_is_an_error() {
    for algorithm in algorithms() {
        let body = packed(algorithm, &b"abcdef".repeat(100));
        for end in 0..body.len() {
            let error = refused(algorithm, &frame(end, 0, 600, &body[..end]));
            let is_shorter = matches!(error, CompressionError::Shorter { claimed: 600, .. });
            assert!(is_shorter, "cut at {end}: {error:?}");
        }
    }
}

#[test]
fn bytes_behind_the_end_of_what_is_compressed_are_an_error() {
    for algorithm in algorithms() {
        let body = [packed(algorithm, &b"abcdef".repeat(100)), vec![0; 3]].concat();
        let error = refused(algorithm, &frame(body.len(), 0, 600, &body));
        assert_eq!(error, CompressionError::Trailing { bytes: 3 });
        // Nor may another stream follow.
        let one = packed(algorithm, &b"abcdef".repeat(100));
        let twice = [&one[..], &one].concat();
        let error = refused(algorithm, &frame(twice.len(), 0, 1200, &twice));
        let found = (1200, 600);
        let (claimed, found) = found;
        assert_eq!(error, CompressionError::Shorter { claimed, found });
    }
}

#[test]
fn bytes_of_no_algorithm_and_wrong_checksums_are_errors() {
    let algorithm = Algorithm::Zlib;
    let malformed = CompressionError::Malformed { algorithm };
    assert_eq!(refused(algorithm, &frame(4, 0, 9, b"none")), malformed);
    let mut wrong = QUERY_FRAME.to_vec();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(refused(algorithm, &wrong), malformed);
    // A dictionary is asked for: FLEVEL 2, FDICT.
    let dictionary = b"\x78\xBB\x00\x00\x00\x01\x4B\x04\x00";
    assert_eq!(refused(algorithm, &frame(9, 0, 9, dictionary)), malformed);
}

#[cfg(feature = "zstd")]
#[test]
fn bytes_that_are_no_zstd_are_an_error() {
    let algorithm = Algorithm::Zstd;
    let malformed = CompressionError::Malformed { algorithm };
    assert_eq!(refused(algorithm, &frame(4, 0, 9, b"none")), malformed);
    assert_eq!(refused(algorithm, QUERY_FRAME), malformed);
    // A window of 32 MiB, twice as large as any content: exponent 15 behind 1 KiB, no content size; then a raw block.
    let window = b"\x28\xB5\x2F\xFD\x00\x78\x09\x00\x00x";
    assert_eq!(refused(algorithm, &frame(10, 0, 1, window)), malformed);
    // And one of 16 MiB is read.
    let window = b"\x28\xB5\x2F\xFD\x00\x70\x09\x00\x00x";
    let (content, _) = read(algorithm, &frame(10, 0, 1, window), 1, 1).unwrap();
    assert_eq!(content, b"x");
}

#[test]
fn a_bomb_costs_no_more_than_the_room_that_is_given() {
    for algorithm in algorithms() {
        // 16 MiB of nothing in some kilobytes, made by hand: the encoder makes no frame as large.
        let zeros = vec![0; MAX_CONTENT];
        let bomb = bomb(algorithm, &zeros);
        assert!(bomb.len() < 64 << 10, "{}", bomb.len());
        let stream = frame(bomb.len(), 0, zeros.len(), &bomb);
        let (content, _) = read(algorithm, &stream, usize::MAX, 16 << 10).unwrap();
        assert!(content == zeros);
        // Where it claims less it stops there.
        let stream = frame(bomb.len(), 0, 100, &bomb);
        let error = refused(algorithm, &stream);
        assert_eq!(error, CompressionError::Longer { claimed: 100 });
    }
}

fn bomb(algorithm: Algorithm, content: &[u8]) -> Vec<u8> {
    let mut room = vec![0; 1 << 20];
    let len = match algorithm {
        Algorithm::Zlib => {
            let mut zlib = zlib_rs::Deflate::new(9, true, 15);
            let finish = zlib_rs::DeflateFlush::Finish;
            let status = zlib.compress(content, &mut room, finish);
            assert_eq!(status, Ok(zlib_rs::Status::StreamEnd));
            usize::try_from(zlib.total_out()).unwrap()
        }
        #[cfg(feature = "zstd")]
        Algorithm::Zstd => zstd_safe::compress(&mut room[..], content, 3).unwrap(),
    };
    room.truncate(len);
    room
}

#[test]
fn a_frame_of_nothing_is_no_error_and_one_that_claims_something_is() {
    for algorithm in algorithms() {
        let stream = [frame(0, 0, 0, b""), frame(4, 1, 0, b"ping")].concat();
        for most in [1, 7, 8, usize::MAX] {
            let (content, ids) = read(algorithm, &stream, most, 8).unwrap();
            assert_eq!((content, ids), (b"ping".to_vec(), vec![0, 1]));
        }
        let empty = [frame(0, 0, 5, b""), frame(4, 1, 0, b"ping")].concat();
        let (claimed, found) = (5, 0);
        let error = refused(algorithm, &empty);
        assert_eq!(error, CompressionError::Shorter { claimed, found });
    }
}

#[test]
fn what_an_error_says_names_the_frame_and_not_its_bytes() {
    let error = refused(Algorithm::Zlib, &frame(QUERY.len(), 0, 1, QUERY));
    let said = error.to_string();
    assert_eq!(said, "a compressed frame's bytes are not valid zlib");
}
