//! Each limit at its edge.

use onecopy_resp_proto::{ErrorKind, Limits};

use super::play::{Event, Player, play, reply};

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
