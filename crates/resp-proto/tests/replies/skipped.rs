//! Replies that nobody waits for, and strings in pieces: in constant memory, at any cut.

use onecopy_resp_proto::{ErrorKind, Limits};

use super::play::{Event, Player, cuts, play_anyhow, reply};

const REPLIES: &[u8] = b"*3\r\n:1\r\n$8\r\nabcdefgh\r\n$?\r\n;6\r\nabcdef\r\n;0\r\n";

#[test]
fn what_was_abandoned_is_passed_over_wherever_the_stream_was_cut() {
    let replies: [&[u8]; 6] = [
        REPLIES,
        b"|1\r\n+a\r\n$7\r\nabcdefg\r\n%?\r\n+k\r\n$9\r\nabcdefghi\r\n.\r\n",
        b"$20\r\nabcdefghijklmnopqrst\r\n",
        b"=10\r\ntxt:abcdef\r\n",
        b"+OK\r\n",
        b"-ERR x\r\n",
    ];
    for first in replies {
        let stream = [first, b"$5\r\nhello\r\n"].concat();
        for large in [5, 64 << 10] {
            for parts in cuts(&stream) {
                for given_up in 0..parts.len().min(30) {
                    let came: usize = parts[..given_up].iter().map(|part| part.len()).sum();
                    // What is asked behind it is not answered before.
                    if came > first.len() {
                        continue;
                    }
                    let mut player = Player::new(Limits {
                        large,
                        ..Limits::default()
                    });
                    player.client.expect(1);
                    for (index, part) in parts.iter().enumerate() {
                        if index == given_up {
                            player.client.abandon();
                            player.client.expect(1);
                        }
                        player.feed(part);
                    }
                    // Either it had arrived before, or nobody hears of it.
                    let events = player.events();
                    let next = reply("BulkString(hello)");
                    let is_before = came == first.len();
                    assert_eq!(events.len(), 1 + usize::from(is_before), "{events:?}");
                    assert_eq!(events.last(), Some(&next));
                    assert_eq!(player.client.in_flight(), 0);
                }
            }
        }
    }
}

#[test]
fn a_push_among_what_is_passed_over_is_handed_over() {
    let stream = b":1\r\n>1\r\n+a\r\n|1\r\n+x\r\n:1\r\n>1\r\n+b\r\n$6\r\nabcdef\r\n>1\r\n$7\r\nabcdefg\r\n+OK\r\n";
    let events = play_anyhow(stream, Limits::default(), |player| {
        player.client.expect(2);
        player.client.abandon();
        player.client.expect(1);
    });
    let push = |text: &str| Event::Push(text.to_owned());
    assert_eq!(
        events,
        [
            push("Push [SimpleString(a)]"),
            push("Push [SimpleString(b)]"),
            push("Push [BulkString(abcdefg)]"),
            reply("SimpleString(OK)"),
            Event::Error(ErrorKind::Closed, stream.len() as u64),
        ]
    );
}

#[test]
fn what_is_wrong_in_what_is_passed_over_is_an_error_where_it_is() {
    let streams: [(&[u8], ErrorKind, u64); 7] = [
        (b"+OK\r\n$9\r\nabcdefghiXX", ErrorKind::MissingLineEnd, 5),
        (
            b"+OK\r\n*2\r\n$9\r\nabcdefghi\rX",
            ErrorKind::MissingLineEnd,
            9,
        ),
        (b"+OK\r\n*2\r\n:1\r\n>1\r\n", ErrorKind::PushInside, 13),
        (b"+OK\r\n*2\r\n:x\r\n", ErrorKind::InvalidInteger, 9),
        (
            b"+OK\r\n*1\r\n$536870913\r\n",
            ErrorKind::BulkTooLarge {
                len: 536_870_913,
                max: 512 << 20,
            },
            9,
        ),
        (
            b"+OK\r\n*2\r\n$5\r\nabcde\r\n$?\r\n;3\r\nabcX",
            ErrorKind::MissingLineEnd,
            24,
        ),
        (b"+OK\r\n*2\r\n:1\r\n", ErrorKind::ClosedInReply, 5),
    ];
    for (stream, kind, offset) in streams {
        let events = play_anyhow(stream, Limits::default(), |player| {
            player.client.expect(2);
            player.client.abandon();
        });
        assert_eq!(
            events,
            [Event::Error(kind, offset)],
            "{}",
            stream.escape_ascii()
        );
    }
}

/// A bulk's header and its bytes, fed in chunks of 16 KiB; gives the largest sum of the buffers.
fn feed_bulk(player: &mut Player, len: usize) -> u64 {
    player.feed(format!("${len}\r\n").as_bytes());
    let chunk = [b'x'; 16 << 10];
    let mut left = len;
    while left > 0 {
        let n = left.min(chunk.len());
        player.feed(&chunk[..n]);
        left -= n;
    }
    player.feed(b"\r\n");
    player.meter().peak_capacity
}

#[test]
fn a_large_bulk_is_passed_over_in_constant_memory() {
    const LEN: usize = 64 << 20;
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.client.abandon();
    player.client.expect(1);
    let peak = feed_bulk(&mut player, LEN);
    assert!(peak <= 512 << 10, "{peak}");
    player.feed(b"+OK\r\n");
    assert_eq!(player.events(), [reply("SimpleString(OK)")]);
    assert_eq!(player.meter().large_values, 0);
    // Inside an array, and an array of many small ones.
    player.client.expect(2);
    player.client.abandon();
    player.feed(b"*2\r\n");
    let _ = feed_bulk(&mut player, LEN);
    player.feed(b":1\r\n*1000000\r\n");
    for _ in 0..1000 {
        player.feed(&b"$3\r\nabc\r\n".repeat(1000));
    }
    assert_eq!(player.client.in_flight(), 0);
    let peak = player.meter().peak_capacity;
    assert!(peak <= 512 << 10, "{peak}");
    assert!(
        format!("{:?}", player.client).len() < 20_000,
        "nodes were kept"
    );
}

#[test]
fn a_string_is_streamed_in_pieces() {
    for (stream, len, bytes) in [
        (
            b"$10\r\nabcdefghij\r\n+OK\r\n".as_slice(),
            10,
            b"abcdefghij".as_slice(),
        ),
        (b"=14\r\ntxt:abcdefghij\r\n+OK\r\n", 10, b"abcdefghij"),
        (b"=4\r\nmkd:\r\n+OK\r\n", 0, b""),
        (b"$0\r\n\r\n+OK\r\n", 0, b""),
    ] {
        let events = play_anyhow(stream, Limits::default(), |player| {
            player.client.expect(2);
            player.client.stream_next();
        });
        let mut expected = vec![Event::Bulk(len)];
        if len > 0 {
            expected.push(Event::Bytes(bytes.to_vec()));
        }
        let end = stream.len() as u64;
        expected.extend([
            Event::BulkEnd,
            reply("SimpleString(OK)"),
            Event::Error(ErrorKind::Closed, end),
        ]);
        assert_eq!(events, expected);
    }
}

#[test]
fn what_is_no_string_is_borrowed_though_it_was_to_be_streamed() {
    for (stream, shown) in [
        (b"$-1\r\n".as_slice(), "Null"),
        (b"-ERR x\r\n", "SimpleError(ERR x)"),
        (b"*1\r\n$3\r\nabc\r\n", "Array [BulkString(abc)]"),
        (b"$?\r\n;3\r\nabc\r\n;0\r\n", "BulkString(abc)"),
        (b"|1\r\n+a\r\n:1\r\n$3\r\nabc\r\n", "BulkString(abc)"),
        (b"!3\r\nabc\r\n", "BulkError(abc)"),
    ] {
        let whole = [stream, b"$1\r\nx\r\n"].concat();
        let events = play_anyhow(&whole, Limits::default(), |player| {
            player.client.expect(2);
            player.client.stream_next();
        });
        // It was for that reply only.
        assert_eq!(events[..2], [reply(shown), reply("BulkString(x)")]);
    }
}

#[test]
fn a_push_before_the_string_is_handed_over() {
    let events = play_anyhow(b">1\r\n+a\r\n$3\r\nabc\r\n", Limits::default(), |player| {
        player.client.expect(1);
        player.client.stream_next();
    });
    let bytes = Event::Bytes(b"abc".to_vec());
    let push = Event::Push("Push [SimpleString(a)]".to_owned());
    assert_eq!(events[..4], [push, Event::Bulk(3), bytes, Event::BulkEnd]);
}

#[test]
fn what_is_wrong_with_a_streamed_string_is_an_error() {
    let streams: [(&[u8], ErrorKind); 5] = [
        (b"$3\r\nabcX", ErrorKind::MissingLineEnd),
        (b"$3\r\nab", ErrorKind::ClosedInReply),
        (b"=7\r\ntxt-abc\r\n", ErrorKind::InvalidVerbatim),
        (b"=3\r\ntxt\r\n", ErrorKind::InvalidVerbatim),
        (
            b"$9223372036854775808\r\n",
            ErrorKind::BulkTooLarge {
                len: 1 << 63,
                max: i64::MAX as u64,
            },
        ),
    ];
    for (stream, kind) in streams {
        let events = play_anyhow(stream, Limits::default(), |player| {
            player.client.expect(1);
            player.client.stream_next();
        });
        assert_eq!(events.last(), Some(&Event::Error(kind, 0)), "{events:?}");
    }
}

#[test]
fn a_string_of_2_to_the_63_bytes_begins_to_be_streamed_and_to_be_passed_over() {
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.client.stream_next();
    player.feed(b"$9223372036854775807\r\nabc");
    assert_eq!(
        player.events(),
        [Event::Bulk(i64::MAX as u64), Event::Bytes(b"abc".to_vec())]
    );
    assert_eq!(player.client.bulk_left(), i64::MAX as u64 - 3);
    player.client.abandon();
    player.feed(&[b'x'; 1 << 20]);
    assert_eq!(player.events(), []);
    assert!(player.meter().peak_capacity <= 512 << 10);
}

#[test]
fn the_rest_of_a_streamed_string_is_passed_over() {
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.client.stream_next();
    assert!(!player.client.is_in_bulk());
    player.feed(b"$10\r\nabc");
    assert!(player.client.is_in_bulk());
    player.client.skip_bulk();
    assert!(!player.client.is_in_bulk());
    player.client.expect(1);
    player.feed(b"defghij\r\n:5\r\n");
    let events = player.events();
    assert_eq!(
        events,
        [
            Event::Bulk(10),
            Event::Bytes(b"abc".to_vec()),
            reply("Integer(5)")
        ]
    );
    assert!(player.client.is_idle());
}

#[test]
fn a_streamed_string_is_read_straight_into_the_callers_slice() {
    let stream = [
        b"$100000\r\n".to_vec(),
        vec![b'x'; 100_000],
        b"\r\n+OK\r\n".to_vec(),
    ]
    .concat();
    let mut player = Player::new(Limits::default());
    player.client.expect(2);
    player.client.stream_next();
    player.feed(&stream[..1009]);
    let mut rest = &stream[1009..];
    let mut value = vec![0; 99_000];
    let mut filled = 0;
    while player.client.can_read_direct(&mut player.buffers) {
        let left = usize::try_from(player.client.bulk_left()).unwrap();
        let into = &mut value[filled..];
        let len = into.len().min(16 << 10).min(left);
        player.buffers.prepare_into(len, left - len).unwrap();
        let targets = &mut player.buffers.targets_into(&mut into[..len]);
        let n = std::io::Read::read_vectored(&mut rest, targets.as_mut()).unwrap();
        let there = player.buffers.commit(n);
        player.client.direct_read(there);
        filled += there;
    }
    assert_eq!(filled, 99_000);
    player.feed(rest);
    assert_eq!(
        player.events()[2..],
        [Event::BulkEnd, reply("SimpleString(OK)")]
    );
    assert!(value.iter().all(|&byte| byte == b'x'));
    assert_eq!(player.meter().copied(), 0);
}

#[test]
fn requests_are_counted() {
    let mut player = Player::new(Limits::default());
    player.client.expect(3);
    player.client.withdraw(1);
    player.client.abandon();
    player.client.expect(1);
    assert_eq!((player.client.in_flight(), player.client.awaited()), (3, 1));
    player.feed(b":1\r\n:2\r\n:3\r\n");
    assert_eq!(player.events(), [reply("Integer(3)")]);
    assert_eq!((player.client.in_flight(), player.client.awaited()), (0, 0));
}
