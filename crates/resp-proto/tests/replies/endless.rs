//! What does not end: values inside each other, and lines.

use onecopy_resp_proto::{Client, ErrorKind, Limits};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use super::play::{Event, Player, play, replies, reply};

/// The error that a stream ends in and its offset, the most memory that was held by the buffers and for the nodes, and the
/// bytes that were read.
fn refused(stream: &[u8]) -> (ErrorKind, u64, u64, u64) {
    let mut client = Client::new(Limits::default());
    client.expect(1);
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut rest = stream;
    loop {
        match client.advance(&mut buffers) {
            Err(error) => {
                // What the client holds only grows until it is told to give back.
                let peak = buffers.meter().peak_capacity + client.capacity() as u64;
                return (
                    error.kind(),
                    error.offset(),
                    peak,
                    buffers.meter().bytes_read,
                );
            }
            Ok(Step::NeedInput(_)) => {
                buffers.prepare().unwrap();
                let n = std::io::Read::read_vectored(&mut rest, buffers.targets().as_mut());
                buffers.commit(n.unwrap());
            }
            Ok(step) => panic!("{step:?}"),
        }
    }
}

#[test]
fn arrays_nested_ten_million_deep_are_an_error_at_the_depth_limit() {
    let kind = ErrorKind::TooDeep { max: 128 };
    let stream = b"*1\r\n".repeat(10_000_000);
    let (refused, offset, peak, read) = refused(&stream);
    assert_eq!((refused, offset), (kind, 128 * 4));
    // One read, as what is behind the limit is never asked for, and 28 bytes for each that is open, doubled up to.
    assert!(read <= 16 << 10, "{read}");
    assert!(peak <= (16 << 10) + 256 * 28, "{peak}");
}

#[test]
fn aggregates_nested_for_ever_are_an_error_at_the_same_byte_however_they_are_cut() {
    for header in [b"*1\r\n", b"*?\r\n", b"|1\r\n", b"%1\r\n", b"~1\r\n"] {
        let stream = header.repeat(1000);
        let events = play(&stream, Limits::default(), |player| player.client.expect(1));
        let kind = ErrorKind::TooDeep { max: 128 };
        assert_eq!(events, [Event::Error(kind, 128 * 4)]);
    }
}

#[test]
fn arrays_nested_to_the_limit_are_fine() {
    let stream = [b"*1\r\n".repeat(128), b":1\r\n".to_vec()].concat();
    let expected = format!("{}Integer(1){}", "Array [".repeat(128), "]".repeat(128));
    assert_eq!(replies(&stream)[0], reply(&expected));
}

#[test]
fn an_unterminated_line_is_an_error_at_64_kib() {
    let max = 64 << 10;
    for kind in [b'+', b'-', b',', b'('] {
        for end in ["", "\r\n"] {
            let mut stream = vec![b'1'; max + 2];
            stream[0] = kind;
            stream.extend_from_slice(end.as_bytes());
            let error = Event::Error(ErrorKind::LineTooLong { max }, 0);
            // Whole, byte by byte, in pieces of some sizes; in two at some places, all of those around the limit among them.
            let sizes = [stream.len(), 1, max, max + 1, 1000];
            let mut ways: Vec<Vec<_>> = sizes.map(|size| stream.chunks(size).collect()).into();
            let cuts = (1..17).chain((1009..max).step_by(1009));
            let cuts = cuts.chain(max - 16..stream.len());
            ways.extend(cuts.map(|at| vec![&stream[..at], &stream[at..]]));
            for parts in ways {
                let mut player = Player::new(Limits::default());
                player.client.expect(1);
                parts.into_iter().for_each(|part| player.feed(part));
                player.end();
                assert_eq!(player.events(), std::slice::from_ref(&error));
            }
        }
    }
    // At every cut where the limit is lower.
    for max in [0, 1, 30, 200] {
        let limits = Limits {
            max_line: max,
            ..Limits::default()
        };
        for kind in [b'+', b'-', b',', b'('] {
            let stream = [&[kind], vec![b'1'; max + 1].as_slice()].concat();
            for end in [b"".as_slice(), b"\r\n", b"11111\r\n"] {
                let stream = [b"+\r\n", stream.as_slice(), end].concat();
                let events = play(&stream, limits, |player| player.client.expect(2));
                let error = Event::Error(ErrorKind::LineTooLong { max }, 3);
                assert_eq!(events, [reply("SimpleString()"), error]);
            }
        }
    }
    let longest = [b"+".as_slice(), &vec![b'a'; max], b"\r\n"].concat();
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    longest.chunks(1).for_each(|part| player.feed(part));
    let expected = format!("SimpleString({})", "a".repeat(max));
    assert_eq!(player.events(), [reply(&expected)]);
}
