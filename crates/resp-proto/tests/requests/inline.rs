//! Requests as one types them.

use onecopy_resp_proto::{ErrorKind, RequestLimits};

use super::play::{Event, play, request};

fn words(line: &str) -> Event {
    let stream = format!("{line}\r\n");
    play(stream.as_bytes(), RequestLimits::default()).remove(0)
}

#[test]
fn words_stand_between_spaces() {
    assert_eq!(words("PING"), request(&[b"PING"]));
    assert_eq!(words("  SET  k\tv "), request(&[b"SET", b"k", b"v"]));
    assert_eq!(
        play(b"PING\n", RequestLimits::default())[0],
        request(&[b"PING"])
    );
}

#[test]
fn quotes_hold_words_together() {
    assert_eq!(words(r#"SET k "a b""#), request(&[b"SET", b"k", b"a b"]));
    assert_eq!(words(r#"SET k "" ''"#), request(&[b"SET", b"k", b"", b""]));
    assert_eq!(
        words(r#"SET k "\n\r\t\b\a\\\"\x00\xfF\q\xg1""#),
        request(&[b"SET", b"k", b"\n\r\t\x08\x07\\\"\x00\xffqxg1"])
    );
    assert_eq!(
        words(r"SET k 'a\n\'b' c"),
        request(&[b"SET", b"k", br"a\n'b", b"c"])
    );
    assert_eq!(
        words(r#"SET pre"fix" v"#),
        request(&[b"SET", b"prefix", b"v"])
    );
}

#[test]
fn a_quote_that_is_not_closed_is_an_error() {
    for line in [
        r#"SET k "v"#,
        r"SET k 'v",
        r#"SET k "v"x"#,
        r"SET k 'v'x",
        "SET k \"v\\",
        r#"SET k "\x""#,
    ] {
        if line == r#"SET k "\x""# {
            assert_eq!(words(line), request(&[b"SET", b"k", b"x"]));
            continue;
        }
        assert_eq!(
            words(line),
            Event::Error(ErrorKind::UnbalancedQuotes, 0),
            "{line}"
        );
    }
}

#[test]
fn nothing_is_passed_over() {
    let stream = b"\r\n\n  \r\n*0\r\n*-1\r\nPING\r\n*1\r\n$4\r\nPING\r\n";
    let events = play(stream, RequestLimits::default());
    let end = Event::Error(ErrorKind::Closed, stream.len() as u64);
    assert_eq!(events, [request(&[b"PING"]), request(&[b"PING"]), end]);
}
