//! Strings and aggregates whose length is not told before them.

use onecopy_resp_proto::{ErrorKind, Limits};

use super::play::{Event, play, play_anyhow, replies, reply};

#[test]
fn chunks_are_joined() {
    let stream = b"$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;1\r\nd\r\n;0\r\n+OK\r\n";
    assert_eq!(
        replies(stream)[..2],
        [reply("BulkString(Hello word)"), reply("SimpleString(OK)")]
    );
    let stream =
        b"*3\r\n$?\r\n;0\r\n$?\r\n;12\r\naaaaaaaaaaaa\r\n;12\r\nbbbbbbbbbbbb\r\n;0\r\n$1\r\nx\r\n";
    assert_eq!(
        replies(stream)[0],
        reply("Array [BulkString(), BulkString(aaaaaaaaaaaabbbbbbbbbbbb), BulkString(x)]")
    );
}

#[test]
fn aggregates_of_unknown_length_end_with_a_point() {
    let stream = b"*?\r\n:1\r\n*2\r\n:2\r\n:3\r\n~?\r\n+a\r\n.\r\n%?\r\n+k\r\n*?\r\n.\r\n.\r\n.\r\n%?\r\n.\r\n";
    assert_eq!(
        replies(stream)[..2],
        [
            reply(
                "Array [Integer(1), Array [Integer(2), Integer(3)], Set [SimpleString(a)], Map [SimpleString(k), Array []]]"
            ),
            reply("Map []")
        ]
    );
}

#[test]
fn attributes_inside_do_not_count() {
    let stream = b"%?\r\n|1\r\n+a\r\n:1\r\n+k\r\n|0\r\n:2\r\n.\r\n";
    assert_eq!(
        replies(stream)[0],
        reply(
            "Map [Attribute [SimpleString(a), Integer(1)], SimpleString(k), Attribute [], Integer(2)]"
        )
    );
}

#[test]
fn an_end_or_a_part_out_of_place_is_an_error() {
    let streams: [(&[u8], ErrorKind, u64); 11] = [
        (b".\r\n", ErrorKind::InvalidStream, 0),
        (b"*1\r\n.\r\n", ErrorKind::InvalidStream, 4),
        (b";4\r\nabcd\r\n", ErrorKind::UnknownType(b';'), 0),
        // A key without its value.
        (b"%?\r\n+k\r\n.\r\n", ErrorKind::InvalidStream, 8),
        // An attribute without its value.
        (
            b"*?\r\n|1\r\n+a\r\n:1\r\n.\r\n",
            ErrorKind::InvalidStream,
            16,
        ),
        (b"*?\r\n|0\r\n.\r\n", ErrorKind::InvalidStream, 8),
        (b"$?\r\n$4\r\nabcd\r\n", ErrorKind::InvalidStream, 4),
        (b"$?\r\n;4\r\nabcd\r\n+x\r\n", ErrorKind::InvalidStream, 14),
        (b"$?\r\n;4\r\nabcdX\n", ErrorKind::MissingLineEnd, 4),
        (b"$?\r\n;-1\r\n", ErrorKind::InvalidLength, 4),
        (b"*?\r\n.x", ErrorKind::LoneLineEnd, 4),
    ];
    for (stream, kind, offset) in streams {
        assert_eq!(
            replies(stream),
            [Event::Error(kind, offset)],
            "{}",
            stream.escape_ascii()
        );
    }
}

#[test]
fn the_limits_are_the_same() {
    let limits = Limits {
        max_bulk: 8,
        max_elements: 3,
        ..Limits::default()
    };
    let expect = |player: &mut super::play::Player| player.client.expect(1);
    let kind = ErrorKind::BulkTooLarge { len: 9, max: 8 };
    let stream = b"$?\r\n;4\r\nabcd\r\n;5\r\nabcde\r\n;0\r\n";
    assert_eq!(
        play_anyhow(stream, limits, expect),
        [Event::Error(kind, 14)]
    );
    let kind = ErrorKind::TooManyElements { claimed: 4, max: 3 };
    let stream = b"*?\r\n:1\r\n:2\r\n:3\r\n:4\r\n.\r\n";
    assert_eq!(
        play_anyhow(stream, limits, expect),
        [Event::Error(kind, 20)]
    );
    let stream = b"*?\r\n:1\r\n:2\r\n:3\r\n.\r\n";
    assert_eq!(
        play_anyhow(stream, limits, expect)[0],
        reply("Array [Integer(1), Integer(2), Integer(3)]")
    );
}

#[test]
fn joining_moves_each_byte_once() {
    let mut stream = b"$?\r\n".to_vec();
    for _ in 0..1000 {
        stream.extend_from_slice(b";100\r\n");
        stream.extend_from_slice(&[b'x'; 100]);
        stream.extend_from_slice(b"\r\n");
    }
    stream.extend_from_slice(b";0\r\n");
    let mut player = super::play::Player::new(Limits::default());
    player.client.expect(1);
    stream.chunks(4096).for_each(|part| player.feed(part));
    assert_eq!(
        player.events(),
        [reply(&format!("BulkString({})", "x".repeat(100_000)))]
    );
    let meter = player.meter();
    // What else is moved is moved by the read buffer, within its own bound.
    let bound = 100_000 + stream.len() as u64 / 4 + (meter.reads << 10);
    assert!(
        (100_000..=bound).contains(&meter.bytes_moved),
        "{}",
        meter.bytes_moved
    );
    let _ = play(&stream[..300], Limits::default(), |player| {
        player.client.expect(1)
    });
}
