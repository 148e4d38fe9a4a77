//! What errors say.

use onecopy_resp_proto::Limits;

use super::play::Player;

fn text(stream: &[u8], limits: Limits) -> String {
    let mut player = Player::new(limits);
    player.client.expect(1);
    player.feed(stream);
    player.end();
    player.client.error().unwrap().to_string()
}

#[test]
fn an_error_says_what_was_wrong_where_and_what_to_do() {
    let limits = Limits {
        max_bulk: 10,
        max_elements: 4,
        max_total: 80,
        max_depth: 2,
        max_line: 4,
        ..Limits::default()
    };
    for (stream, expected) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            "no value begins with 'H' at byte 0: \"HTTP/1.1 400 Bad Request\\r\\n\"; an http server answered; check host and port",
        ),
        (
            b"\x15\x03\x03\x00\x02",
            "no value begins with '\\x15' at byte 0: \"\\x15\\x03\\x03\\x00\\x02\"; the server wants tls; connect with tls, or to its port without",
        ),
        (
            b"$11\r\n",
            "a string of 11 bytes where at most 10 are allowed at byte 0: \"$11\\r\\n\"; raise the limit or read it as a stream",
        ),
        (
            b"*5\r\n",
            "a reply of 5 elements where at most 4 are allowed at byte 0: \"*5\\r\\n\"; raise the limit or ask for fewer",
        ),
        (
            b"*2\r\n$9\r\nabcdefghi\r\n$10\r\n",
            "a reply of 82 bytes in all, 16 for each value included, where at most 80 are allowed at byte 19: \"$10\\r\\n\"; raise the limit max-total or ask for fewer",
        ),
        (
            b"*1\r\n*1\r\n*1\r\n",
            "values are nested deeper than 2 at byte 8: \"*1\\r\\n\"",
        ),
        (
            b"+abcde\r\n",
            "a line is longer than 4 bytes at byte 0: \"+abcde\\r\\n\"",
        ),
        (
            b"*-2\r\n",
            "a length is not a number at byte 0: \"*-2\\r\\n\"",
        ),
        (
            b"$2\r\nab",
            "the server closed the connection before a reply was complete at byte 0: \"$2\\r\\nab\"",
        ),
    ] {
        assert_eq!(text(stream, limits), expected);
    }
}

#[test]
fn no_error_is_in_upper_case_or_on_two_lines() {
    let streams: [&[u8]; 12] = [
        b"+a\nb\r\n",
        b"$1\r\naXX",
        b":x\r\n",
        b",x\r\n",
        b"#x\r\n",
        b"_x\r\n",
        b"(x\r\n",
        b"=3\r\n",
        b".\r\n",
        b"*1\r\n>1\r\n",
        b"",
        b"\xff",
    ];
    for stream in streams {
        let text = text(stream, Limits::default());
        let prose = text.split(" at byte").next().unwrap();
        let is_lower = prose.chars().all(|c| !c.is_uppercase());
        assert!(
            is_lower && !text.contains('\n') && prose.len() > 10,
            "{text}"
        );
    }
}
