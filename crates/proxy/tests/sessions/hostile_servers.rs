//! Backends that do not keep to the protocol: their clients get a proper error, in bounded memory and within the deadline.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use onecopy_mysql_proto::packet::HandshakeResponse;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::BackendConfig;

use crate::common::{listener, start, until};
use crate::raw::{OK, Raw, USUAL, backend, greeting, packet};

/// `Can't connect`, `Lost connection`, and `does not keep to the protocol`.
const NO_BACKEND: u16 = 1429;
const LOST: u16 = 2013;
const BROKEN: u16 = 2027;

/// `Access denied`.
const DENIED: &[u8] = b"\xFF\x15\x04#28000no";

fn proxy(mut backend: BackendConfig) -> Proxy {
    backend.connect_timeout = Duration::from_secs(2);
    start(|config| {
        config.listeners = vec![listener(vec![backend])];
        config.listeners[0].handshake_timeout = Duration::from_secs(4);
    })
}

fn port(proxy: &Proxy) -> u16 {
    proxy.tcp_address().unwrap().port()
}

/// The proxy holds nothing of a session that is over.
fn is_clean(proxy: &Proxy) {
    until("the end of the session", || proxy.sessions() == 0);
    let snapshot = proxy.snapshot(false);
    assert_eq!(snapshot.buffers_in_use, 0);
    assert!(snapshot.buffer_bytes < 1 << 20, "{snapshot:?}");
    assert_eq!(proxy.servers()[0].1, 0);
}

/// What a client is told that nobody greeted.
fn refusal(proxy: &Proxy) -> Vec<u8> {
    let stream = TcpStream::connect(("127.0.0.1", port(proxy))).unwrap();
    let mut client = Raw::new(stream);
    let payload = client.hear().unwrap();
    assert_eq!(client.rest(), b"");
    payload
}

fn code(payload: &[u8]) -> u16 {
    assert_eq!(payload[0], 0xFF, "{}", payload.escape_ascii());
    u16::from_le_bytes([payload[1], payload[2]])
}

#[test]
fn a_greeting_that_is_none_is_no_backend() {
    let whole = greeting();
    let mut other_protocol = whole.clone();
    other_protocol[0] = 9;
    let no_nul = b"\x0Aeverlasting".to_vec();
    let mut no_nonce = whole.clone();
    no_nonce[27] = 255;
    for (bytes, what) in [
        (packet(0, b""), "empty"),
        (packet(0, &whole[..40]), "truncated"),
        (packet(0, &other_protocol), "of another protocol"),
        (packet(0, &no_nul), "without a NUL"),
        (packet(0, &no_nonce), "with a length of 255"),
        (packet(3, &whole), "out of sequence"),
        (b"\xFF\xFF\xFF\0\x0A".to_vec(), "of 16 MiB"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "of HTTP"),
    ] {
        let (config, thread) = backend(move |mut server| {
            server.stream.write_all(&bytes).unwrap();
            server.rest()
        });
        let proxy = proxy(config);
        assert_eq!(code(&refusal(&proxy)), NO_BACKEND, "{what}");
        assert_eq!(thread.join().unwrap(), b"", "{what}");
        is_clean(&proxy);
    }
}

#[test]
fn a_greeting_that_comes_after_the_deadline_is_answered_without_the_client() {
    for begins in [0, 5] {
        let (told, tells) = channel();
        let (config, thread) = backend(move |mut server| {
            let whole = packet(0, &greeting());
            server.stream.write_all(&whole[..begins]).unwrap();
            tells.recv().unwrap();
            server.stream.write_all(&whole[begins..]).unwrap();
            server.sequence = 1;
            let login = server.hear().unwrap();
            let user = HandshakeResponse::decode(&login).unwrap().user;
            assert_eq!(user, b"onecopy");
            server.say(DENIED).unwrap();
            server.rest()
        });
        let proxy = proxy(config);
        assert_eq!(code(&refusal(&proxy)), NO_BACKEND);
        is_clean(&proxy);
        told.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), b"");
    }
}

#[test]
fn a_refusal_before_the_greeting_comes_word_for_word() {
    for words in [
        &b"\xFF\x10\x04Too many connections"[..],
        b"\xFF\x69\x04Host is blocked",
        b"\xFF\x6A\x04\xE4\xF6 no text",
    ] {
        let (config, thread) = backend(move |mut server| {
            server.say(words).unwrap();
            server.rest()
        });
        let proxy = proxy(config);
        assert_eq!(refusal(&proxy), words);
        thread.join().unwrap();
        is_clean(&proxy);
    }
}

#[test]
fn an_authentication_without_end_is_ended() {
    let (config, thread) = backend(|mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        while server.say(b"\x01and so on").is_ok() {}
    });
    let proxy = proxy(config);
    let (mut client, _) = Raw::connect(port(&proxy));
    client.say(&crate::raw::response("app", USUAL)).unwrap();
    let error = loop {
        match client.hear().unwrap() {
            more if more[0] == 1 => {}
            error => break error,
        }
    };
    assert_eq!(code(&error), BROKEN);
    thread.join().unwrap();
    is_clean(&proxy);
}

#[test]
fn a_login_packet_of_16_mib_is_not_waited_for() {
    let (config, thread) = backend(|mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        server.stream.write_all(b"\xFF\xFF\xFF\x02\x01").unwrap();
        server.rest()
    });
    let proxy = proxy(config);
    let (mut client, _) = Raw::connect(port(&proxy));
    client.say(&crate::raw::response("app", USUAL)).unwrap();
    assert_eq!(client.last_error(), BROKEN);
    thread.join().unwrap();
    is_clean(&proxy);
}

/// A client of a backend that answers its first query with these bytes and closes where `closes`; what it is told.
fn answered(bytes: Vec<u8>, closes: bool) -> (Vec<u8>, Proxy) {
    let (config, thread) = backend(move |mut server| {
        server.say(&greeting()).unwrap();
        server.hear().unwrap();
        server.say(OK).unwrap();
        server.sequence = 0;
        server.hear().unwrap();
        let _ = server.stream.write_all(&bytes);
        if !closes {
            server.rest();
        }
    });
    let proxy = proxy(config);
    let mut client = Raw::log_in(port(&proxy), "app", USUAL);
    client.command(b"\x03SELECT 1");
    let said = client.rest();
    thread.join().unwrap();
    is_clean(&proxy);
    (said, proxy)
}

#[test]
fn a_reply_that_can_not_be_followed_does_not_pass() {
    let count = |bytes: &[u8]| packet(1, bytes);
    let column = packet(2, b"\x03def\0\0\0\x01a\0\x0C\x3F\0\x01\0\0\0\x08\0\0\0\0\0");
    for (bytes, what) in [
        (count(b"\xFE\0\0\0\0\0\0\0\x80"), "2^63 columns"),
        (count(b"\xFC\0\0"), "no columns"),
        (count(b""), "an empty packet"),
        (count(b"\0"), "OK cut short"),
        (count(b"\x01trailing"), "bytes behind the count"),
    ] {
        let (said, _) = answered(bytes, false);
        assert_eq!(said.get(3), Some(&1), "{what}: {}", said.escape_ascii());
        assert_eq!(code(&said[4..]), BROKEN, "{what}");
    }
    // What was right before passes.
    let right = [count(b"\x01"), column].concat();
    let (said, _) = answered([&right[..], &packet(3, b"\x01x")].concat(), false);
    assert_eq!(said[..right.len()], right);
    assert_eq!(said[right.len() + 3], 3, "the sequence id");
    assert_eq!(code(&said[right.len() + 4..]), BROKEN);
}

#[test]
fn a_row_that_ends_too_early_is_not_made_up_for() {
    let column = packet(2, b"\x03def\0\0\0\x01a\0\x0C\x3F\0\x01\0\0\0\x08\0\0\0\0\0");
    let head = [packet(1, b"\x01"), column, packet(3, b"\xFE\0\0\x02\0")].concat();
    // In a row no error can be told, between two it can.
    let cut = [&head[..], b"\xFF\xFF\xFF\x04 and nothing"].concat();
    let (said, _) = answered(cut.clone(), true);
    assert_eq!(said, cut);
    let (said, _) = answered(head.clone(), true);
    assert_eq!(said[..head.len()], head);
    assert_eq!(code(&said[head.len() + 4..]), LOST);
}

#[test]
fn what_a_backend_says_unasked_passes_only_where_it_is_a_farewell() {
    for (unasked, expected) in [
        (packet(0, b"\xFF\xBF\x0F#HY000idle"), 4031),
        (packet(0, OK), BROKEN),
        (packet(0, b"\x01"), BROKEN),
    ] {
        let (config, thread) = backend(move |mut server| {
            server.say(&greeting()).unwrap();
            server.hear().unwrap();
            server.say(OK).unwrap();
            server.stream.write_all(&unasked).unwrap();
        });
        let proxy = proxy(config);
        let mut client = Raw::log_in(port(&proxy), "app", USUAL);
        client.sequence = 0;
        assert_eq!(client.last_error(), expected);
        thread.join().unwrap();
        is_clean(&proxy);
    }
}
