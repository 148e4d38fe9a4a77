//! What a client must not send.

use onecopy_resp_proto::{ErrorKind, RequestLimits};

use super::play::{Event, play, request};

fn error_of(stream: &[u8]) -> Event {
    let events = play(stream, RequestLimits::default());
    assert_eq!(events.len(), 1, "{events:?}");
    events.into_iter().next().unwrap()
}

#[test]
fn an_array_of_anything_but_bulk_strings_is_no_request() {
    for byte in b"+-:*_#,(!=%~>|.x" {
        let stream = [b"*2\r\n$1\r\nk\r\n".as_slice(), &[*byte], b"1\r\n"].concat();
        assert_eq!(
            error_of(&stream),
            Event::Error(ErrorKind::ExpectedBulk(*byte), 11)
        );
    }
}

#[test]
fn a_length_that_is_none_is_an_error() {
    for (stream, offset) in [
        (b"*1\r\n$-1\r\n".as_slice(), 4),
        (b"*1\r\n$?\r\n", 4),
        (b"*1\r\n$+1\r\nk\r\n", 4),
        (b"*x\r\n", 0),
        (b"*?\r\n", 0),
        (b"*-2\r\n", 0),
    ] {
        let expected = Event::Error(ErrorKind::InvalidLength, offset);
        assert_eq!(error_of(stream), expected, "{}", stream.escape_ascii());
    }
}

#[test]
fn each_limit_holds_at_the_header() {
    let limits = RequestLimits {
        max_bulk: 4,
        max_arguments: 2,
        max_total: 20 + 3 * 16,
        max_inline: 8,
        ..RequestLimits::default()
    };
    for (stream, kind, offset) in [
        (
            b"*1\r\n$5\r\n".as_slice(),
            ErrorKind::BulkTooLarge { len: 5, max: 4 },
            4,
        ),
        (
            b"*3\r\n",
            ErrorKind::TooManyElements { claimed: 3, max: 2 },
            0,
        ),
        (
            b"*2\r\n$4\r\nkeys\r\n$3\r\n",
            ErrorKind::TotalTooLarge {
                claimed: 14 + 4 + 3 + 3 * 16,
                max: 20 + 3 * 16,
            },
            14,
        ),
        (
            b"a b c\r\n",
            ErrorKind::TooManyElements { claimed: 3, max: 2 },
            0,
        ),
        (b"aaaaaaaaa", ErrorKind::LineTooLong { max: 8 }, 0),
    ] {
        assert_eq!(
            play(stream, limits),
            [Event::Error(kind, offset)],
            "{}",
            stream.escape_ascii()
        );
    }
    let events = play(b"*2\r\n$4\r\nkeys\r\n$1\r\n*\r\nkeys *\r\n", limits);
    assert_eq!(
        events[..2],
        [request(&[b"keys", b"*"]), request(&[b"keys", b"*"])]
    );
}

#[test]
fn an_argument_without_its_line_end_is_an_error() {
    let expected = Event::Error(ErrorKind::MissingLineEnd, 4);
    assert_eq!(error_of(b"*1\r\n$4\r\nabcdXX"), expected);
}

#[test]
fn a_request_of_http_is_refused() {
    let expected = Event::Error(ErrorKind::CrossProtocol, 0);
    assert_eq!(error_of(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"), expected);
    let events = play(b"GET / HTTP/1.1\r\nHost: x\r\n", RequestLimits::default());
    assert_eq!(events[1], Event::Error(ErrorKind::CrossProtocol, 16));
}

#[test]
fn a_request_of_http_that_is_too_long_is_one_of_http_however_it_is_cut() {
    for (max_inline, kind) in [
        (12, ErrorKind::CrossProtocol),
        (4, ErrorKind::LineTooLong { max: 4 }),
    ] {
        let limits = RequestLimits {
            max_inline,
            ..RequestLimits::default()
        };
        assert_eq!(
            play(b"POST / HTTP/1.1\r\n", limits),
            [Event::Error(kind, 0)]
        );
    }
}

#[test]
fn an_end_in_a_request_is_no_clean_end() {
    for stream in [
        b"*1\r\n$4\r\nPI".as_slice(),
        b"PIN",
        b"*1\r\n",
        b"*1\r\n$4\r\nPING",
    ] {
        assert_eq!(
            error_of(stream),
            Event::Error(ErrorKind::ClosedInRequest, 0)
        );
    }
    assert_eq!(error_of(b""), Event::Error(ErrorKind::Closed, 0));
}
