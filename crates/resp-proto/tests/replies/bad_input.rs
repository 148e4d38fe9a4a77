//! What a server must not send, and what comes of it: one error, at the same byte however the stream is cut.

use onecopy_resp_proto::{ErrorKind, LikelyCause, Limits};

use super::play::{Event, Player, play, replies, reply};

/// What comes of a stream that begins with a good reply.
fn error_behind_ok(bad: &[u8]) -> ErrorKind {
    let stream = [b"+OK\r\n", bad].concat();
    let events = replies(&stream);
    match events.as_slice() {
        [ok, Event::Error(kind, 5)] if *ok == reply("SimpleString(OK)") => *kind,
        events => panic!("{:?}: {events:?}", bad.escape_ascii().to_string()),
    }
}

fn assert_all(inputs: &[&[u8]], kind: ErrorKind) {
    for input in inputs {
        let shown = input.escape_ascii();
        assert_eq!(error_behind_ok(input), kind, "{shown}");
    }
}

#[test]
fn only_minus_one_of_a_bulk_or_an_array_is_null() {
    let below_zero: [&[u8]; 9] = [
        b"$-2\r\n",
        b"*-2\r\n",
        b"%-1\r\n",
        b">-1\r\n",
        b"~-1\r\n",
        b"|-1\r\n",
        b"=-1\r\n",
        b"!-1\r\n",
        b"$-10\r\n",
    ];
    assert_all(&below_zero, ErrorKind::InvalidLength);
    assert_eq!(
        replies(b"$-1\r\n*-1\r\n")[..2],
        [reply("Null"), reply("Null")]
    );
}

#[test]
fn a_length_that_is_no_number_is_an_error() {
    let lengths: [&[u8]; 12] = [
        b"$\r\n",
        b"$ 1\r\na\r\n",
        b"$+1\r\na\r\n",
        b"$1 \r\n",
        b"$0x1\r\n",
        b"*a\r\n",
        b"*1\n",
        b"$--1\r\n",
        b"$1\rx",
        b"$99999999999999999999\r\n",
        b">?\r\n",
        b"!?\r\n",
    ];
    assert_all(&lengths, ErrorKind::InvalidLength);
}

#[test]
fn a_huge_claim_is_refused_at_its_header_and_nothing_is_allocated_for_it() {
    let max = Limits::default().max_bulk;
    for (header, kind) in [
        (
            "$9223372036854775807\r\n",
            ErrorKind::BulkTooLarge {
                len: i64::MAX as u64,
                max,
            },
        ),
        (
            "!536870913\r\n",
            ErrorKind::BulkTooLarge {
                len: 536_870_913,
                max,
            },
        ),
        (
            "*4000000000\r\n",
            ErrorKind::TooManyElements {
                claimed: 4_000_000_000,
                max: 16 << 20,
            },
        ),
        (
            "%2147483648\r\n",
            ErrorKind::TooManyElements {
                claimed: 1 << 32,
                max: 16 << 20,
            },
        ),
        (
            "%9223372036854775808\r\n",
            ErrorKind::TooManyElements {
                claimed: u64::MAX,
                max: 16 << 20,
            },
        ),
    ] {
        assert_eq!(error_behind_ok(header.as_bytes()), kind, "{header}");
    }
    // Each is within the limit, and all of them together are not.
    let stream = b"*16000000\r\n*700000\r\n*100000\r\n";
    let kind = ErrorKind::TooManyElements {
        claimed: 16_800_000,
        max: 16 << 20,
    };
    assert_eq!(replies(stream), [Event::Error(kind, 20)]);
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    // Claims within the limits: nothing is allocated for them but what the first read takes.
    player.feed(b"*16000000\r\n*700000\r\n$100\r\n");
    assert_eq!(player.meter().peak_capacity, 16 << 10);
    assert!(player.client.capacity() < 1 << 10);
}

#[test]
fn an_integer_has_64_bits_and_nothing_else() {
    let integers: [&[u8]; 9] = [
        b":9223372036854775808\r\n",
        b":-9223372036854775809\r\n",
        b":\r\n",
        b": 1\r\n",
        b":1 \r\n",
        b":-\r\n",
        b":+\r\n",
        b":1.5\r\n",
        b":99999999999999999999\r\n",
    ];
    assert_all(&integers, ErrorKind::InvalidInteger);
    let good = b":+5\r\n:-5\r\n:9223372036854775807\r\n:-9223372036854775808\r\n";
    assert_eq!(
        replies(good)[..4],
        [
            reply("Integer(+5)"),
            reply("Integer(-5)"),
            reply("Integer(9223372036854775807)"),
            reply("Integer(-9223372036854775808)")
        ]
    );
}

#[test]
fn a_bulk_without_its_line_end_is_an_error() {
    let bulks: [&[u8]; 4] = [
        b"$3\r\nabcXX",
        b"$3\r\nabc\rX",
        b"$3\r\nabc\n\n",
        b"$9\r\nabcdefghi+OK\r\n",
    ];
    assert_all(&bulks, ErrorKind::MissingLineEnd);
}

#[test]
fn a_line_feed_or_carriage_return_alone_is_an_error() {
    let lines: [&[u8]; 8] = [
        b"+a\nb\r\n",
        b"+a\rb\r\n",
        b"+a\n\r\n",
        b"-ERR\rx\r\n",
        b":1\n",
        b":1\rx",
        b"_\rx",
        b"+a\r\r\n",
    ];
    assert_all(&lines, ErrorKind::LoneLineEnd);
}

#[test]
fn another_protocol_is_named() {
    let causes: [(&[u8], LikelyCause); 5] = [
        (
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
            LikelyCause::Http,
        ),
        // An alert: unexpected message, fatal.
        (b"\x15\x03\x03\x00\x02\x02\x0a", LikelyCause::Tls),
        // MariaDB's greeting: 95 bytes, sequence id 0, protocol 10.
        (
            b"\x5f\0\0\0\x0a5.5.5-10.11.6-MariaDB\0\x1f\0\0\0",
            LikelyCause::Mysql,
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n", LikelyCause::Text),
        (b"220 mail.example ESMTP\r\n", LikelyCause::Text),
    ];
    for (stream, cause) in causes {
        let mut player = Player::new(Limits::default());
        player.client.expect(1);
        player.feed(stream);
        let error = player.client.error().unwrap();
        assert_eq!(error.likely_cause(), Some(cause));
        let text = error.to_string();
        assert!(text.contains(&cause.to_string()), "{text}");
        assert!(
            text.contains("check host and port") || text.contains("connect with tls"),
            "{text}"
        );
        // One error at the first byte, wherever the stream is cut.
        let events = play(stream, Limits::default(), |player| player.client.expect(1));
        assert_eq!(events, [Event::Error(error.kind(), 0)]);
    }
    // Behind a reply it is no other protocol.
    let mut player = Player::new(Limits::default());
    player.client.expect(2);
    player.feed(b"+OK\r\nHTTP/1.1 200 OK\r\n");
    assert_eq!(player.client.error().unwrap().likely_cause(), None);
}

#[test]
fn an_error_shows_at_most_64_escaped_bytes() {
    for stream in [
        b"\x01\x02\x03\x04\xff".repeat(100),
        b"HTTP/1.1 ".repeat(100),
    ] {
        let mut player = Player::new(Limits::default());
        player.client.expect(1);
        player.feed(&stream);
        let error = player.client.error().unwrap();
        let escaped = error.context().escape_ascii().to_string();
        assert!(escaped.len() <= 64 && escaped.len() > 60, "{escaped}");
        assert!(stream.starts_with(error.context()));
        let text = error.to_string();
        assert!(text.contains(&escaped) && !text.contains('\u{1}'), "{text}");
    }
}

#[test]
fn a_value_that_is_none_of_its_type_is_an_error() {
    assert_all(
        &[b"#\0\r\n", b"#\r\n", b"#tt\r\n", b"#T\r\n", b"#1\r\n"],
        ErrorKind::InvalidBoolean,
    );
    assert_all(
        &[b"(\r\n", b"(-\r\n", b"(1a\r\n", b"(+-1\r\n"],
        ErrorKind::InvalidBigNumber,
    );
    assert_all(&[b"_x\r\n", b"_ \r\n"], ErrorKind::InvalidNull);
    assert_all(
        &[b"=3\r\ntxt\r\n", b"=0\r\n\r\n", b"=5\r\ntxt-a\r\n"],
        ErrorKind::InvalidVerbatim,
    );
    let doubles: [&[u8]; 10] = [
        b",\r\n",
        b",x\r\n",
        b",1e\r\n",
        b",1e+\r\n",
        b",.\r\n",
        b",--1\r\n",
        b",Inf\r\n",
        b",infinity\r\n",
        b",1.2.3\r\n",
        b",0x10\r\n",
    ];
    assert_all(&doubles, ErrorKind::InvalidDouble);
}

#[test]
fn a_byte_that_begins_no_value_is_an_error() {
    for byte in 0..=u8::MAX {
        if !b"+-:$*_#,(!=%~>|.".contains(&byte) {
            assert_eq!(
                error_behind_ok(&[byte, b'1', b'\r', b'\n']),
                ErrorKind::UnknownType(byte)
            );
        }
    }
}

#[test]
fn a_blob_error_is_an_error_value() {
    let events = replies(b"!5\r\nERR x\r\n:1\r\n");
    assert_eq!(
        events[..2],
        [reply("BulkError(ERR x)"), reply("Integer(1)")]
    );
}

#[test]
fn an_attribute_belongs_to_the_next_value_and_is_neither_a_reply_nor_an_element() {
    let stream = b"|1\r\n+ttl\r\n:9\r\n*3\r\n:1\r\n|1\r\n+a\r\n*1\r\n:5\r\n:2\r\n:3\r\n+OK\r\n";
    let mut player = Player::new(Limits::default());
    player.client.expect(2);
    player.feed(stream);
    assert_eq!(player.client.in_flight(), 0);
    assert_eq!(
        player.events(),
        [
            reply(
                "Array [Integer(1), Attribute [SimpleString(a), Array [Integer(5)]], Integer(2), Integer(3)]"
            ),
            reply("SimpleString(OK)")
        ]
    );
    assert_eq!(replies(stream).len(), 3);
}

#[test]
fn attributes_without_end_are_held_to_the_limit_of_elements() {
    let limits = Limits {
        max_elements: 10,
        ..Limits::default()
    };
    let stream = [b"|0\r\n".repeat(11), b"+OK\r\n".to_vec()].concat();
    let events = play(&stream, limits, |player| player.client.expect(1));
    let kind = ErrorKind::TooManyElements {
        claimed: 11,
        max: 10,
    };
    assert_eq!(events, [Event::Error(kind, 40)]);
}

#[test]
fn a_push_between_replies_is_out_of_band_and_in_order() {
    let stream = b">2\r\n+a\r\n:1\r\n+OK\r\n>1\r\n+b\r\n|1\r\n+x\r\n:1\r\n>1\r\n+c\r\n:7\r\n";
    let push = |text: &str| Event::Push(text.to_owned());
    let events = play(stream, Limits::default(), |player| player.client.expect(2));
    assert_eq!(
        events,
        [
            push("Push [SimpleString(a), Integer(1)]"),
            reply("SimpleString(OK)"),
            push("Push [SimpleString(b)]"),
            push("Push [SimpleString(c)]"),
            reply("Integer(7)"),
            Event::Error(ErrorKind::Closed, stream.len() as u64),
        ]
    );
}

#[test]
fn a_push_comes_also_where_nothing_is_asked() {
    let events = play(b">1\r\n+a\r\n>1\r\n+b\r\n", Limits::default(), |_| {});
    assert_eq!(events.len(), 3, "{events:?}");
}

#[test]
fn a_push_inside_an_aggregate_is_an_error() {
    let events = replies(b"*2\r\n:1\r\n>1\r\n+a\r\n");
    assert_eq!(events, [Event::Error(ErrorKind::PushInside, 8)]);
}

#[test]
fn text_that_is_not_utf8_keeps_its_bytes() {
    let mut player = Player::new(Limits::default());
    player.client.expect(3);
    let stream = b"+\xff\xfe\0\r\n-ERR \x80\r\n$3\r\n\xc3\x28\x00\r\n";
    player.feed(stream);
    assert_eq!(
        player.events(),
        [
            reply(r"SimpleString(\xff\xfe\x00)"),
            reply(r"SimpleError(ERR \x80)"),
            reply(r"BulkString(\xc3(\x00)")
        ]
    );
    assert_eq!(replies(stream).len(), 4);
}

#[test]
fn a_reply_to_nothing_is_an_error_at_its_first_byte() {
    let events = play(b"+OK\r\n$5\r\nhello\r\n", Limits::default(), |player| {
        player.client.expect(1)
    });
    assert_eq!(
        events,
        [
            reply("SimpleString(OK)"),
            Event::Error(ErrorKind::Unexpected, 5)
        ]
    );
    // Nothing is waited for of it, and no memory taken.
    let mut player = Player::new(Limits::default());
    player.feed(b"$");
    assert_eq!(player.events(), [Event::Error(ErrorKind::Unexpected, 0)]);
    let events = play(b"|1\r\n+a\r\n:1\r\n+OK\r\n", Limits::default(), |_| {});
    assert_eq!(events, [Event::Error(ErrorKind::Unexpected, 0)]);
}

#[test]
fn an_end_in_a_reply_is_no_clean_end() {
    for cut in [
        b"+O".as_slice(),
        b"$3\r\nab",
        b"*2\r\n:1\r\n",
        b"|1\r\n+a\r\n:1\r\n",
        b"$",
        b"$300000\r\nabc",
    ] {
        let events = replies(cut);
        assert_eq!(
            events,
            [Event::Error(ErrorKind::ClosedInReply, 0)],
            "{}",
            cut.escape_ascii()
        );
    }
    // Asked and not answered.
    assert_eq!(
        replies(b"")[..],
        [Event::Error(ErrorKind::ClosedInReply, 0)]
    );
    let events = play(b"+OK\r\n", Limits::default(), |player| {
        player.client.expect(1)
    });
    assert_eq!(
        events,
        [
            reply("SimpleString(OK)"),
            Event::Error(ErrorKind::Closed, 5)
        ]
    );
    let mut player = Player::new(Limits::default());
    player.end();
    assert!(player.client.error().unwrap().is_clean_end());
    let mut player = Player::new(Limits::default());
    player.client.expect(1);
    player.end();
    assert!(!player.client.error().unwrap().is_clean_end());
}
