use onecopy_wire::BufferConfig;

use super::*;
use crate::server::testing::Link;

fn buffers() -> Buffers {
    Buffers::new(BufferConfig::default())
}

/// The next frame of `bytes`, that come `most` at a time.
fn next(
    reader: &mut FrameReader,
    buffers: &mut Buffers,
    link: &mut Link,
    contiguous: usize,
) -> Result<Frame, FrameError> {
    loop {
        match reader.next(buffers, contiguous)? {
            Frame::Missing(n) => {
                assert!(n > 0 && buffers.needed() == n, "what is missing is told");
                if link.deliver(buffers) == 0 {
                    return Ok(Frame::Missing(n));
                }
            }
            frame => return Ok(frame),
        }
    }
}

fn link(bytes: &[u8], most: usize) -> Link {
    let mut link = Link::new(most, 3);
    link.push(bytes);
    link
}

#[test]
fn whole_payloads_come_in_order_however_they_are_cut() {
    const BYTES: &[u8] = b"\x03\0\0\x05abc\0\0\0\x06\x01\0\0\x07d";
    for most in 0..BYTES.len() {
        let (mut reader, mut buffers, mut link) =
            (FrameReader::default(), buffers(), link(BYTES, most));
        reader.restart(5);
        for payload in [&b"abc"[..], b"", b"d"] {
            let Ok(Frame::Whole(span)) = next(&mut reader, &mut buffers, &mut link, 100) else {
                panic!("not whole");
            };
            assert_eq!(buffers.bytes(span), payload);
        }
        assert_eq!(reader.sequence(), 8);
    }
}

#[test]
fn a_header_says_how_much_is_missing() {
    for (bytes, missing) in [
        (&b""[..], 4),
        (b"\x09", 3),
        (b"\x09\0\0", 1),
        (b"\x09\0\0\0", 9),
        (b"\x09\0\0\0abcd", 5),
    ] {
        let (mut reader, mut buffers) = (FrameReader::default(), buffers());
        let frame = next(&mut reader, &mut buffers, &mut link(bytes, 0), 100);
        assert_eq!(frame, Ok(Frame::Missing(missing)));
    }
}

#[test]
fn a_payload_over_the_limit_or_of_a_full_packet_is_handed_over_by_its_head() {
    for (bytes, known, is_last) in [
        (&b"\x65\0\0\0a"[..], 101, true),
        (b"\xff\xff\xff\0a", 0xFF_FFFF, false),
    ] {
        let (mut reader, mut buffers) = (FrameReader::default(), buffers());
        let frame = next(&mut reader, &mut buffers, &mut link(bytes, 1), 100);
        let Ok(Frame::Large(large)) = frame else {
            panic!("not large: {frame:?}");
        };
        assert_eq!((large.known(), large.is_last()), (known, is_last));
        assert_eq!(buffers.pending(), b"a", "its header is consumed");
        assert_eq!(large.available(0), 1);
    }
}

#[test]
fn sequence_ids_are_checked_and_wrap_but_an_err_has_any() {
    for (bytes, due, found) in [
        (b"\x01\0\0\x01a", 1, None),
        (b"\x01\0\0\xffa", 255, None),
        (b"\x01\0\0\x02a", 1, Some(2)),
        (b"\x01\0\0\0a", 1, Some(0)),
        (b"\x01\0\0\x07\xff", 1, None),
    ] {
        let (mut reader, mut buffers) = (FrameReader::default(), buffers());
        reader.restart(due);
        let frame = next(&mut reader, &mut buffers, &mut link(bytes, 0), 100);
        match found {
            None => {
                assert!(matches!(frame, Ok(Frame::Whole(_))));
                assert_eq!(reader.sequence(), bytes[3].wrapping_add(1));
            }
            Some(found) => {
                let expected = due;
                assert_eq!(frame, Err(FrameError::Sequence { expected, found }));
            }
        }
    }
}

/// Nothing behind its header is waited for: there may be nothing more to come.
#[test]
fn the_head_of_an_empty_packet_is_refused_at_once() {
    let (mut reader, mut buffers) = (FrameReader::default(), buffers());
    let mut link = link(b"\0\0\0\0", 0);
    assert_eq!(reader.head(&mut buffers), Ok(Frame::Missing(5)));
    link.deliver(&mut buffers);
    assert_eq!(reader.peek(&mut buffers), Some((0, 0)));
    assert_eq!(reader.head(&mut buffers), Err(FrameError::Empty));
}

#[test]
fn a_peek_consumes_nothing() {
    let (reader, mut buffers) = (FrameReader::default(), buffers());
    let mut link = link(b"\x02\0\0\0ab", 1);
    for missing in (1..=5).rev() {
        assert_eq!(reader.peek(&mut buffers), None);
        assert_eq!(buffers.needed(), missing);
        link.deliver(&mut buffers);
    }
    assert_eq!(reader.peek(&mut buffers), Some((b'a', 2)));
    assert_eq!(buffers.pending(), b"\x02\0\0\0a");
}

/// A payload of one full packet and three more bytes, in which the second header is cut out.
#[test]
fn a_continuation_is_cut_out_and_its_order_checked() {
    for (sequence, good) in [(1, true), (2, false)] {
        let (mut reader, mut buffers) = (FrameReader::default(), buffers());
        let mut link = link(b"\xff\xff\xff\0", 0);
        link.push(&vec![b'x'; MAX_BODY]);
        link.push(&[3, 0, 0, sequence]);
        link.push(b"end+");
        let Ok(Frame::Large(mut large)) = next(&mut reader, &mut buffers, &mut link, 100) else {
            panic!("not large");
        };
        let mut taken = 0;
        let error = loop {
            if let Err(error) = large.update(&mut buffers, &mut reader) {
                break Some(error);
            }
            let mine = usize::try_from(large.available(taken)).expect("small");
            let span = buffers.consume(mine.min(buffers.pending().len()));
            taken += u64::try_from(span.len()).expect("small");
            if large.is_complete() && taken == large.known() {
                assert_eq!(buffers.bytes(span.after(span.len() - 3)), b"end");
                break None;
            }
            buffers.need(1, large.until_end());
            assert!(link.deliver(&mut buffers) > 0);
        };
        let (expected, found) = (1, sequence);
        let wrong = FrameError::Sequence { expected, found };
        assert_eq!(error, (!good).then_some(wrong));
        assert!(!good || taken == 0xFF_FFFF + 3 && buffers.pending() == b"+");
    }
}

#[test]
fn a_message_over_the_limit_is_large_however_much_of_it_has_come() {
    // An ERR packet too, which is else waited for whatever its length.
    for first in [0x00, 0xFE, 0xFF] {
        let bytes = [&[9, 0, 0, 0, first][..], b"12345678"].concat();
        for len in 5..=bytes.len() {
            let (mut reader, mut buffers) = (FrameReader::default(), buffers());
            let mut link = link(&bytes[..len], 0);
            while link.deliver(&mut buffers) > 0 {}
            let Ok(Frame::Large(large)) = reader.message(&mut buffers, 8) else {
                panic!("{first:#x} of {len} bytes is not refused");
            };
            assert_eq!(large.known(), 9);
        }
    }
}

#[test]
fn an_empty_packet_is_not_excused_by_the_first_byte_of_the_next() {
    let (mut reader, mut buffers) = (FrameReader::default(), buffers());
    let mut link = link(b"\0\0\0\x07\xff\0\0\x01", 0);
    let (expected, found) = (0, 7);
    assert_eq!(
        next(&mut reader, &mut buffers, &mut link, 100),
        Err(FrameError::Sequence { expected, found })
    );
}
