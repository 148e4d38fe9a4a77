//! Replies like the one before, and those that only begin so: each is what it would be by itself.

use onecopy_resp_proto::Limits;

use super::play::{Event, Player, cuts, reply};

/// A bulk of so many bytes.
fn bulk(len: usize) -> Vec<u8> {
    let body = b"0123456789".repeat(len.div_ceil(10));
    [format!("${len}\r\n").as_bytes(), &body[..len], b"\r\n"].concat()
}

/// Replies whose beginnings have much in common.
fn valid() -> Vec<Vec<u8>> {
    let mut replies: Vec<Vec<u8>> = [
        "+\r\n",
        "+O\r\n",
        "+OK\r\n",
        "+OKAY\r\n",
        "+QUEUED\r\n",
        ":1\r\n",
        ":12\r\n",
        ":-1\r\n",
        ":12345\r\n",
        ":123456\r\n",
        "$-1\r\n",
        "_\r\n",
        "#t\r\n",
        "#f\r\n",
        "-ERR x\r\n",
        "=7\r\ntxt:abc\r\n",
        "*0\r\n",
        "*1\r\n:1\r\n",
        ">1\r\n:1\r\n",
        "|1\r\n+a\r\n:1\r\n:5\r\n",
        "$?\r\n;3\r\nabc\r\n;0\r\n",
        "$2\r\n\r\n\r\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    // The last two have headers of 8 bytes and of 9.
    replies.extend([0, 1, 2, 3, 10, 11, 100, 1024, 12_345, 123_456].map(bulk));
    replies
}

/// What is none of them, in its last byte at the latest.
const BROKEN: [&[u8]; 9] = [
    b"+OK\rX",
    b"+OK\n",
    b"$2\r\nabc\r\n",
    b"$3\r\nabc\r\r\n",
    b"$4\r\nabc\r\n\r\n",
    b"$2\rX",
    b"$1x\r\n",
    b":1x\r\n",
    b"!x\r\n",
];

/// What comes of a stream of replies, in one part.
fn whole(stream: &[u8]) -> Vec<Event> {
    let mut player = Player::new(Limits::default());
    player.client.expect(1000);
    player.feed(stream);
    player.events()
}

/// Ways to cut a long stream: whole, and in two around where each reply of these lengths ends.
fn near_headers(stream: &[u8], lens: [usize; 4]) -> Vec<Vec<&[u8]>> {
    let mut cuts = vec![vec![stream]];
    let mut end = 0;
    for len in lens {
        end += len;
        let near = end.saturating_sub(3)..stream.len().min(end + 10);
        cuts.extend(near.map(|at| vec![&stream[..at], &stream[at..]]));
    }
    cuts
}

#[test]
fn each_is_what_it_would_be_by_itself() {
    // Every third: all of them would take three times as long.
    for first in valid().iter().skip(2).step_by(3) {
        for second in &valid() {
            let stream = [first, first, second, first, first]
                .map(Vec::as_slice)
                .concat();
            let alone = [whole(first), whole(second)];
            let expected = [0, 0, 1, 0, 0]
                .map(|index: usize| alone[index].clone())
                .concat();
            let cuts = match stream.len() {
                ..60 => cuts(&stream),
                _ => near_headers(&stream, [first, first, second, first].map(Vec::len)),
            };
            for parts in cuts {
                // With homes for bulks of five bytes and more, and without.
                for large in [5, Limits::default().large] {
                    let mut player = Player::new(Limits {
                        large,
                        ..Limits::default()
                    });
                    player.client.expect(1000);
                    for part in &parts {
                        player.feed(part);
                    }
                    let same = player.events() == expected;
                    assert!(same, "{} bytes first, large {large}", parts[0].len());
                }
            }
        }
    }
}

#[test]
fn what_is_broken_behind_them_is_told_where_it_is() {
    for first in &valid() {
        for broken in BROKEN {
            let [Event::Error(kind, offset)] = whole(broken)[..] else {
                panic!("{broken:?} is no error by itself");
            };
            let one = whole(first);
            let stream = [first, first, broken].concat();
            let error = Event::Error(kind, offset + 2 * first.len() as u64);
            assert_eq!(whole(&stream), [&one[..], &one, &[error]].concat());
        }
    }
}

#[test]
fn memory_may_be_given_back_between_them() {
    let mut player = Player::new(Limits::default());
    player.client.expect(1000);
    for _ in 0..3 {
        player.feed(b"$3\r\nabc\r\n$3\r\nabc\r\n");
        player.client.release();
        player.buffers.release();
    }
    assert_eq!(player.events(), vec![reply("BulkString(abc)"); 6]);
}

#[test]
fn one_that_is_to_be_streamed_is_no_repetition() {
    let mut player = Player::new(Limits::default());
    player.client.expect(4);
    player.feed(b"$3\r\nabc\r\n$3\r\nabc\r\n");
    player.client.stream_next();
    player.feed(b"$3\r\nabc\r\n$3\r\nabc\r\n");
    let borrowed = || reply("BulkString(abc)");
    let streamed = [
        Event::Bulk(3),
        Event::Bytes(b"abc".to_vec()),
        Event::BulkEnd,
    ];
    let [bulk, bytes, end] = streamed;
    assert_eq!(
        player.events(),
        [borrowed(), borrowed(), bulk, bytes, end, borrowed()]
    );
}

#[test]
fn what_nobody_waits_for_is_not_handed_over_for_being_like_the_last() {
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.feed(b"+OK\r\n");
    player.client.expect(2);
    player.client.abandon();
    player.client.expect(1);
    player.feed(b"+OK\r\n+OK\r\n+OK\r\n");
    assert_eq!(player.events(), vec![reply("SimpleString(OK)"); 2]);
    // Nor what answers nothing.
    player.feed(b"+OK\r\n+OK\r\n");
    let events = player.events();
    assert!(matches!(events[..], [Event::Error(..)]), "{events:?}");
}
