//! What the encoder makes, and that a decoder gives it back.

use proptest::prelude::*;

use super::*;

/// All frames of these bytes.
fn frames(encoder: &mut Encoder, method: Method, mut bytes: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut sequence = 0;
    while !bytes.is_empty() {
        let (frame, taken) = encoder.frame(method, sequence, bytes).unwrap();
        assert!(taken > 0);
        stream.extend_from_slice(frame);
        bytes = &bytes[taken..];
        sequence = u8::wrapping_add(sequence, 1);
    }
    stream
}

#[test]
fn what_is_short_or_would_not_shrink_is_stored() {
    let mut encoder = Encoder::new();
    for algorithm in algorithms() {
        let method = Method::new(algorithm, 6);
        for (content, is_stored) in [
            (b"x".repeat(49), true),
            (b"x".repeat(50), false),
            (noise(50), true),
            (noise(60_000), true),
        ] {
            let (frame, _) = encoder.frame(method, 7, &content).unwrap();
            assert_eq!(frame[3], 7);
            assert_eq!(frame[4..7] == [0, 0, 0], is_stored);
            assert!(frame.len() <= HEADER_BYTES + content.len());
            if is_stored {
                assert_eq!(&frame[HEADER_BYTES..], content);
            }
        }
    }
}

#[test]
fn large_content_takes_several_frames() {
    let mut encoder = Encoder::new();
    for algorithm in algorithms() {
        for content in [b"abcd".repeat(100_000), noise(400_000)] {
            let stream = frames(&mut encoder, Method::new(algorithm, 1), &content);
            let (back, ids) = read(algorithm, &stream, 1000, 3000).unwrap();
            assert!(back == content);
            assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6]);
        }
    }
    assert!(encoder.memory() > 0);
    encoder.release();
    assert_eq!(encoder.memory(), 0);
}

#[test]
fn every_level_is_read_and_those_out_of_range_are_the_nearest() {
    let mut encoder = Encoder::new();
    for algorithm in algorithms() {
        for level in [0, 1, 2, 5, 6, 9, 10, 22, 23, 255] {
            let method = Method::new(algorithm, level);
            assert!((1..=Method::max_level(algorithm)).contains(&method.level()));
            let content = b"a level, and another level ".repeat(50);
            let stream = frames(&mut encoder, method, &content);
            assert!(stream.len() < content.len() / 5);
            assert!(read(algorithm, &stream, 1 << 20, 1 << 20).unwrap().0 == content);
        }
    }
}

#[test]
fn zlib_is_used_where_both_were_agreed_on() {
    let (zlib, zstd) = (
        Capabilities::COMPRESS,
        Capabilities::ZSTD_COMPRESSION_ALGORITHM,
    );
    assert_eq!(Algorithm::agreed(zlib | zstd), Some(Algorithm::Zlib));
    assert_eq!(Algorithm::agreed(Capabilities::default()), None);
    #[cfg(feature = "zstd")]
    assert_eq!(Algorithm::agreed(zstd), Some(Algorithm::Zstd));
    for algorithm in algorithms() {
        assert_eq!(Algorithm::agreed(algorithm.capability()), Some(algorithm));
    }
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        pieces in prop::collection::vec((any::<u8>(), 0_usize..2000), 0..20),
        random in prop::collection::vec(any::<u8>(), 0..3000),
        level in 1_u8..9,
        most in 1_usize..5000,
        room in 1_usize..5000,
    ) {
        let mut content = random;
        for (byte, len) in pieces {
            content.extend(std::iter::repeat_n(byte, len));
        }
        let mut encoder = Encoder::new();
        for algorithm in algorithms() {
            let stream = frames(&mut encoder, Method::new(algorithm, level), &content);
            let (back, _) = read(algorithm, &stream, most, room).unwrap();
            prop_assert_eq!(&back, &content);
        }
    }
}
