//! Each limit at its edge.

use onecopy_resp_proto::{ErrorKind, Limits};

use super::play::{Event, Player, play, play_anyhow, reply};

fn one(stream: &[u8], limits: Limits) -> Event {
    play(stream, limits, |player| player.client.expect(1)).remove(0)
}

#[test]
fn a_bulk_may_be_as_long_as_the_limit() {
    let limits = Limits {
        max_bulk: 3,
        ..Limits::default()
    };
    assert_eq!(one(b"$3\r\nabc\r\n", limits), reply("BulkString(abc)"));
    for header in [b"$4\r\n".as_slice(), b"!4\r\n", b"=4\r\n"] {
        assert_eq!(
            one(header, limits),
            Event::Error(ErrorKind::BulkTooLarge { len: 4, max: 3 }, 0)
        );
    }
}

#[test]
fn a_limit_over_4_gib_is_4_gib() {
    let limits = Limits {
        max_bulk: u64::MAX,
        ..Limits::default()
    };
    let max = u64::from(u32::MAX);
    assert_eq!(
        one(b"$4294967296\r\n", limits),
        Event::Error(ErrorKind::BulkTooLarge { len: max + 1, max }, 0)
    );
}

#[test]
fn a_reply_may_have_as_many_elements_as_the_limit() {
    let limits = Limits {
        max_elements: 4,
        ..Limits::default()
    };
    assert_eq!(
        one(b"*2\r\n:1\r\n*2\r\n:2\r\n:3\r\n", limits),
        reply("Array [Integer(1), Array [Integer(2), Integer(3)]]")
    );
    let kind = ErrorKind::TooManyElements { claimed: 5, max: 4 };
    assert_eq!(one(b"*2\r\n:1\r\n*3\r\n", limits), Event::Error(kind, 8));
    let kind = ErrorKind::TooManyElements { claimed: 6, max: 4 };
    assert_eq!(one(b"%3\r\n", limits), Event::Error(kind, 0));
    // Each reply has the whole of it.
    let events = play(
        b"*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n",
        limits,
        |player| player.client.expect(2),
    );
    assert_eq!(events.len(), 3);
    let limits = Limits {
        max_elements: usize::MAX,
        ..Limits::default()
    };
    let max = i32::MAX as u64;
    let kind = ErrorKind::TooManyElements {
        claimed: 1 << 31,
        max,
    };
    assert_eq!(one(b"*2147483648\r\n", limits), Event::Error(kind, 0));
}

#[test]
fn a_reply_may_have_as_many_bytes_in_all_as_the_limit() {
    // 30 bytes, and what so many values take.
    let limits = |values: usize| Limits {
        max_total: (30 + values * NODE) as u64,
        ..Limits::default()
    };
    let one = |stream: &[u8], values| {
        play_anyhow(stream, limits(values), |player| player.client.expect(1)).remove(0)
    };
    let refused = |claimed: usize, values: usize, at| {
        let kind = ErrorKind::TotalTooLarge {
            claimed: (claimed + values * NODE) as u64,
            max: limits(values).max_total,
        };
        Event::Error(kind, at)
    };
    // 4 of the header, 12 of the first element, 4 of the second's header: 10 are left of it.
    let begun = b"*2\r\n$6\r\nabcdef\r\n";
    let full = [begun.as_slice(), b"$9\r\n123456789\r\n"].concat();
    assert_eq!(
        one(&full, 3),
        reply("Array [BulkString(abcdef), BulkString(123456789)]")
    );
    for header in [b"$11\r\n".as_slice(), b"!11\r\n", b"=11\r\n"] {
        let stream = [begun, header].concat();
        assert_eq!(one(&stream, 3), refused(16 + 5 + 11, 3, 16));
    }
    // Elements of elements, integers and lines between them, attributes in front.
    let stream = b"*3\r\n:123456\r\n*1\r\n+abcde\r\n$5\r\n";
    assert_eq!(one(stream, 5), refused(34, 5, 25));
    let stream = b"|1\r\n$6\r\nabcdef\r\n$11\r\n";
    assert_eq!(one(stream, 4), refused(32, 4, 16));
    let stream = b">2\r\n$6\r\nabcdef\r\n$11\r\n";
    assert_eq!(one(stream, 3), refused(32, 3, 16));
    let stream = b"*2\r\n$?\r\n;6\r\nabcdef\r\n;8\r\n";
    assert_eq!(one(stream, 3), refused(32, 3, 20));
    // One that is a string has a limit of its own, and each reply the whole of this one.
    let long = b"$90\r\n123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\r\n";
    assert!(matches!(one(long, 3), Event::Reply(_)));
    let events = play_anyhow(&full.repeat(2), limits(3), |player| player.client.expect(2));
    assert_eq!(events[0], events[1]);
    assert_eq!(
        events[2],
        Event::Error(ErrorKind::Closed, 2 * full.len() as u64)
    );
}

/// Bytes that tell where a value lies.
const NODE: usize = 16;

#[test]
fn values_count_in_a_replys_bytes_wherever_they_are_announced() {
    let limits = |max_total: usize| Limits {
        max_total: max_total as u64,
        ..Limits::default()
    };
    let refused = |claimed: usize, max: usize, at| {
        let (claimed, max) = (claimed as u64, max as u64);
        Event::Error(ErrorKind::TotalTooLarge { claimed, max }, at)
    };
    let waits = |event| matches!(event, Event::Error(ErrorKind::ClosedInReply, _));
    // The array and its elements are refused at the header, before one has arrived.
    let max = 1001 * NODE;
    assert!(waits(one(b"*1000\r\n", limits(max))));
    assert_eq!(one(b"*1000\r\n", limits(max - 1)), refused(max, max - 1, 0));
    // Those of inner ones at theirs, with the bytes before it.
    let nested = b"*3\r\n:1\r\n%2\r\n";
    let max = 8 + 8 * NODE;
    assert!(waits(one(nested, limits(max))));
    assert_eq!(one(nested, limits(max - 1)), refused(max, max - 1, 8));
    let attribute = b"*1\r\n|1\r\n";
    let max = 4 + 5 * NODE;
    assert!(waits(one(attribute, limits(max))));
    assert_eq!(one(attribute, limits(max - 1)), refused(max, max - 1, 4));
    // Of an aggregate whose length is not told, as they come.
    let streamed = b"*?\r\n:1\r\n:2\r\n";
    let max = 12 + 3 * NODE;
    assert!(waits(one(streamed, limits(max))));
    assert_eq!(one(streamed, limits(max - 1)), refused(max, max - 1, 12));
}

#[test]
fn an_array_of_empty_ones_is_held_to_the_bytes_in_all() {
    let limits = Limits {
        max_total: 1 << 20,
        ..Limits::default()
    };
    let array = |elements: usize| {
        let header = format!("*{elements}\r\n").into_bytes();
        [header, b"*0\r\n".repeat(elements)].concat()
    };
    let (most, header) = ((1 << 20) / (NODE + 4) - 1, 8);
    for (elements, is_allowed) in [(most, true), (most + 2, false)] {
        let mut player = Player::new(limits);
        player.client.expect(1);
        let mut came = 0;
        for part in array(elements).chunks(1000) {
            player.feed(part);
            came += part.len();
            // What a connection holds for it is no more than was allowed.
            let held = player.client.capacity() + came;
            assert!(held <= (1 << 20) + 2000, "{held}");
        }
        let events = player.events();
        if is_allowed {
            assert!(matches!(events[..], [Event::Reply(_)]), "{elements}");
        } else {
            // The first header that is too far.
            let left = (1 << 20) - (elements + 1) * NODE;
            let at = (header + (left - header) / 4 * 4 + 4) as u64;
            let kind = ErrorKind::TotalTooLarge {
                claimed: at + ((elements + 1) * NODE) as u64,
                max: 1 << 20,
            };
            assert_eq!(events, [Event::Error(kind, at)]);
        }
    }
}

#[test]
fn a_long_list_takes_little_more_than_its_values() {
    let elements = 1 << 20;
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.feed(format!("*{elements}\r\n").as_bytes());
    for part in b"*0\r\n".repeat(elements).chunks(1 << 16) {
        player.feed(part);
    }
    assert!(matches!(player.events()[..], [Event::Reply(_)]));
    let bytes = (elements + 1) * NODE;
    let capacity = player.client.capacity();
    assert!(
        (bytes..bytes + bytes / 8 + 1000).contains(&capacity),
        "{capacity}"
    );
}

#[test]
fn what_takes_no_memory_is_not_counted_in_a_replys_bytes() {
    let limits = Limits {
        max_total: 10,
        ..Limits::default()
    };
    let long = b"$40\r\n1234567890123456789012345678901234567890\r\n";
    let events = play_anyhow(long, limits, |player| {
        player.client.expect(1);
        player.client.stream_next();
    });
    assert_eq!(events[0], Event::Bulk(40));
    assert_eq!(events[2], Event::BulkEnd);
    let skipped = [b"*2\r\n".as_slice(), long, long, b"+OK\r\n"].concat();
    let events = play_anyhow(&skipped, limits, |player| {
        player.client.expect(1);
        player.client.abandon();
        player.client.expect(1);
    });
    assert_eq!(events[0], reply("SimpleString(OK)"));
}

#[test]
fn many_large_strings_are_refused_at_the_header_of_the_one_too_many() {
    let limits = Limits {
        max_total: 1 << 20,
        ..Limits::default()
    };
    let large = [b"$262144\r\n".as_slice(), &[b'x'; 256 << 10], b"\r\n"].concat();
    let mut player = Player::new(limits);
    player.client.expect(1);
    player.feed(b"*1000\r\n");
    for _ in 0..3 {
        large.chunks(16 << 10).for_each(|part| player.feed(part));
    }
    player.feed(b"$262144\r\n");
    let at = 7 + 3 * large.len() as u64;
    let kind = ErrorKind::TotalTooLarge {
        claimed: at + 9 + (256 << 10) + 1001 * NODE as u64,
        max: 1 << 20,
    };
    assert_eq!(player.events(), [Event::Error(kind, at)]);
    assert_eq!(player.meter().large_values, 3);
}

#[test]
fn aggregates_may_be_nested_as_deep_as_the_limit() {
    let limits = Limits {
        max_depth: 2,
        ..Limits::default()
    };
    assert_eq!(
        one(b"*1\r\n*1\r\n*0\r\n", limits),
        reply("Array [Array [Array []]]")
    );
    assert_eq!(
        one(b"*1\r\n*1\r\n*1\r\n", limits),
        Event::Error(ErrorKind::TooDeep { max: 2 }, 8)
    );
    assert_eq!(
        one(b"*1\r\n|1\r\n~?\r\n", limits),
        Event::Error(ErrorKind::TooDeep { max: 2 }, 8)
    );
}

#[test]
fn a_line_may_be_as_long_as_the_limit() {
    let limits = Limits {
        max_line: 3,
        ..Limits::default()
    };
    assert_eq!(one(b"+abc\r\n", limits), reply("SimpleString(abc)"));
    assert_eq!(
        one(b"+abcd\r\n", limits),
        Event::Error(ErrorKind::LineTooLong { max: 3 }, 0)
    );
    assert_eq!(
        one(b"-abcd\n", limits),
        Event::Error(ErrorKind::LineTooLong { max: 3 }, 0)
    );
}

#[test]
fn any_depth_that_is_allowed_is_shown_compared_and_dropped_without_recursion() {
    let depth = if std::env::var_os("ONECOPY_SOAK").is_some() {
        10_000_000
    } else {
        1_000_000
    };
    let limits = Limits {
        max_depth: usize::MAX,
        ..Limits::default()
    };
    let stream = [b"*1\r\n".repeat(depth), b"+x\r\n".to_vec()].concat();
    let mut player = Player::new(limits);
    player.client.expect(1);
    stream.chunks(64 << 10).for_each(|part| player.feed(part));
    let events = player.events();
    let [Event::Reply(shown)] = events.as_slice() else {
        panic!("no reply")
    };
    assert_eq!(shown.len(), depth * 8 + "SimpleString(x)".len());
}

#[test]
fn lists_that_have_grown_are_given_back() {
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.feed(&[b"*1000\r\n".to_vec(), b":1\r\n".repeat(1000)].concat());
    player.client.release();
    let shown = format!("{:?}", player.client);
    assert!(shown.len() < 2000, "{shown}");
    assert!(shown.contains("nodes: 0 of 0"), "{shown}");
}
