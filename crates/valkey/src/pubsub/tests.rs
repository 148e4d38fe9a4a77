use bytes::Bytes;

use super::*;
use crate::testing::with_reply;

fn notice(bytes: &str, check: impl FnOnce(Notice<'_>)) {
    with_reply(bytes.as_bytes(), |reply| check(Notice::read(reply)));
}

#[test]
fn pushes_are_read_by_their_first_word() {
    notice(">3\r\n+message\r\n$1\r\nc\r\n$2\r\nhi\r\n", |notice| {
        let Notice::Message(message) = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(message.kind(), ChannelKind::Channel);
        assert_eq!(
            (message.channel(), message.payload()),
            (&b"c"[..], &b"hi"[..])
        );
        assert_eq!(message.pattern(), None);
    });
    notice("*4\r\n+pmessage\r\n+p*\r\n+pc\r\n:7\r\n", |notice| {
        let Notice::Message(message) = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(message.pattern(), Some(&b"p*"[..]));
        assert_eq!(
            (message.channel(), message.as_str()),
            (&b"pc"[..], Some("7"))
        );
    });
    notice(">3\r\n+ssubscribe\r\n+c\r\n:1\r\n", |notice| {
        assert_eq!(notice, Notice::Subscribed(ChannelKind::Shard, b"c"));
    });
    notice(">3\r\n+punsubscribe\r\n+c\r\n:1\r\n", |notice| {
        assert_eq!(notice, Notice::Unsubscribed(ChannelKind::Pattern, b"c"));
    });
    notice("*2\r\n+pong\r\n$0\r\n\r\n", |notice| {
        assert_eq!(notice, Notice::Pong)
    });
    for other in [
        "+message\r\n",
        "*0\r\n",
        "*-1\r\n",
        ">1\r\n+message\r\n",
        ">2\r\n+message\r\n+c\r\n",
        ">3\r\n+message\r\n*0\r\n+x\r\n",
        ">3\r\n+pmessage\r\n+p\r\n+c\r\n",
        ">1\r\n+subscribe\r\n",
        ">3\r\n+unsubscribe\r\n_\r\n:0\r\n",
        ">3\r\n+Message\r\n+c\r\n+x\r\n",
        ">2\r\n+invalidate\r\n*1\r\n+k\r\n",
    ] {
        notice(other, |notice| {
            assert_eq!(notice, Notice::Other, "{other:?}")
        });
    }
}

#[test]
fn events_of_keys_are_read() {
    let read = |channel: &str, payload: &str| {
        let bytes = format!(
            ">3\r\n+message\r\n${}\r\n{channel}\r\n${}\r\n{payload}\r\n",
            channel.len(),
            payload.len()
        );
        with_reply(bytes.as_bytes(), |reply| {
            let Notice::Message(message) = Notice::read(reply) else {
                panic!("no message");
            };
            let event = message.key_event()?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            Some((event.database(), text(event.event()), text(event.key())))
        })
    };
    let expected = |database, event: &str, key: &str| Some((database, event.into(), key.into()));
    assert_eq!(read("__keyspace@0__:k", "set"), expected(0, "set", "k"));
    assert_eq!(read("__keyevent@15__:del", "k"), expected(15, "del", "k"));
    assert_eq!(read("__keyspace@0__:", "set"), expected(0, "set", ""));
    assert_eq!(
        read("__keyspace@3__:a__:b", "expired"),
        expected(3, "expired", "a__:b")
    );
    for other in [
        "news",
        "__keyspace@__:k",
        "__keyspace@+1__:k",
        "__keyspace@x__:k",
        "__keyspace@0_:k",
        "__keyspace@0",
        "__keyevent@99999999999999999999__:del",
    ] {
        assert_eq!(read(other, "set"), None, "{other}");
    }
}

/// A message of so many bytes, whose number is in its first byte.
fn message(number: u8, len: usize) -> OwnedMessage {
    let bytes = format!(
        ">3\r\n+message\r\n+c\r\n${len}\r\n{}\r\n",
        char::from(number).to_string().repeat(len)
    );
    let mut buffers = onecopy_wire::Buffers::new(onecopy_wire::BufferConfig::default());
    let mut core = onecopy_resp_proto::Client::new(onecopy_resp_proto::Limits::default());
    let mut bytes = bytes.as_bytes();
    loop {
        use onecopy_wire::{Core, Step};
        match core.advance(&mut buffers).unwrap() {
            Step::Message(onecopy_resp_proto::Message::Push(frame)) => {
                let topic = Bytes::from_static(b"c");
                let message = OwnedMessage::detach(&core, &mut buffers, frame, Some(&topic));
                return message.unwrap();
            }
            Step::NeedInput(_) => {
                buffers.prepare().unwrap();
                let n = std::io::Read::read_vectored(&mut bytes, buffers.targets().as_mut());
                buffers.commit(n.unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
}

fn options(max_messages: usize, max_bytes: usize, slow_reader: SlowReader) -> SubscriptionOptions {
    SubscriptionOptions {
        max_messages,
        max_bytes,
        slow_reader,
    }
}

/// What is read, as one character each: a message's first byte, `g` for a gap, a number for an overflow.
fn read(backlog: &mut Backlog) -> String {
    let mut read = String::new();
    while let Some(next) = backlog.pop() {
        match next {
            Delivery::Message(message) => read.push(char::from(message.payload()[0])),
            Delivery::Gap(Gap::Overflow { messages }) => read.push_str(&messages.to_string()),
            Delivery::Gap(_) => read.push('g'),
        }
    }
    assert_eq!((backlog.len(), backlog.bytes()), (0, 0));
    read
}

#[test]
fn old_messages_make_room_and_are_counted() {
    let mut backlog = Backlog::new(options(3, usize::MAX, SlowReader::DropOldest));
    for number in b'a'..=b'f' {
        backlog.push(message(number, 1)).unwrap();
    }
    assert_eq!((backlog.len(), backlog.dropped_in_all()), (3, 3));
    assert_eq!(read(&mut backlog), "3def");
    assert_eq!(read(&mut backlog), "");
}

#[test]
fn a_gap_keeps_its_place_and_is_never_dropped() {
    let mut backlog = Backlog::new(options(2, usize::MAX, SlowReader::DropOldest));
    backlog.push_gap(Gap::ConnectionLost);
    backlog.push_gap(Gap::ConnectionLost);
    backlog.push(message(b'a', 1)).unwrap();
    backlog.push_gap(Gap::ConnectionLost);
    backlog.push_gap(Gap::Renewed);
    backlog.push(message(b'b', 1)).unwrap();
    assert_eq!(read(&mut backlog), "gagb");
    for number in b'a'..=b'b' {
        backlog.push(message(number, 1)).unwrap();
        backlog.push_gap(Gap::ConnectionLost);
    }
    backlog.push(message(b'c', 1)).unwrap();
    backlog.push(message(b'd', 1)).unwrap();
    // The gaps behind a and b are before c now.
    assert_eq!(read(&mut backlog), "2gcd");
}

#[test]
fn bytes_are_bounded_except_for_one_message() {
    let one = message(b'a', 1000).memory();
    let mut backlog = Backlog::new(options(usize::MAX, 2 * one, SlowReader::DropOldest));
    for number in b'a'..=b'c' {
        backlog.push(message(number, 1000)).unwrap();
        assert!(backlog.bytes() <= 2 * one);
    }
    backlog.push(message(b'd', 100_000)).unwrap();
    assert_eq!(backlog.len(), 1);
    assert_eq!(read(&mut backlog), "3d");
}

#[test]
fn a_full_queue_may_end_its_reader() {
    let mut backlog = Backlog::new(options(1, usize::MAX, SlowReader::Disconnect));
    backlog.push(message(b'a', 1)).unwrap();
    let overflow = backlog.push(message(b'b', 1)).unwrap_err();
    assert_eq!(overflow.messages, 1);
    assert_eq!(read(&mut backlog), "a");
}

#[test]
fn messages_of_an_ended_subscription_are_forgotten() {
    let mut backlog = Backlog::new(options(9, usize::MAX, SlowReader::DropOldest));
    for number in b'a'..=b'd' {
        backlog.push(message(number, 1)).unwrap();
    }
    backlog.forget(|message| message.payload()[0] % 2 == 0);
    assert_eq!(backlog.len(), 2);
    assert_eq!(read(&mut backlog), "ac");
}

#[test]
fn a_large_payload_is_moved_and_shared() {
    let large = message(b'x', 100_000);
    let clone = large.clone();
    assert_eq!(large.payload().len(), 100_000);
    assert_eq!(large.payload().as_ptr(), clone.payload().as_ptr());
    assert_eq!(clone.into_payload().len(), 100_000);
}
