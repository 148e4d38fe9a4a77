//! Limits of the HTTP server: clients that are silent, slow or many, and requests that are large or wrong.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use onecopy_proxy::Proxy;

use crate::http::{connect, get, get_with, post, send, until, with_page};

/// More than there may be.
const MANY: usize = 80;

fn all_is_served(proxy: &Proxy) {
    for path in [
        "/",
        "/sessions",
        "/metrics",
        "/health",
        "/ready",
        "/live",
        "/api/now",
    ] {
        assert_eq!(get(proxy, path).status, 200, "{path}");
    }
}

fn begin(proxy: &Proxy, bytes: &str) -> TcpStream {
    let mut stream = connect(proxy);
    // The oldest ones may have gone already.
    let _ = stream.write_all(bytes.as_bytes());
    stream
}

#[test]
fn pages_are_served_beside_any_number_of_silent_clients() {
    let pooled = with_page(|_| {});
    let form = "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nuser";
    for begins in ["", "GET / HTTP/1.1\r\n", "x", form] {
        let silent: Vec<_> = (0..MANY).map(|_| begin(&pooled.proxy, begins)).collect();
        all_is_served(&pooled.proxy);
        drop(silent);
    }
}

#[test]
fn pages_are_served_beside_clients_that_do_not_read_their_responses() {
    let pooled = with_page(|_| {});
    let request = "GET /metrics HTTP/1.1\r\n\r\n";
    let greedy: Vec<_> = (0..MANY).map(|_| begin(&pooled.proxy, request)).collect();
    all_is_served(&pooled.proxy);
    // Those that were there when theirs was ready have it.
    let mut responses = 0;
    for mut stream in greedy {
        let mut response = String::new();
        let read = stream.read_to_string(&mut response);
        responses += usize::from(read.is_ok() && response.contains("onecopy_workers 2\n"));
    }
    assert!(responses >= 16, "{responses}");
}

#[test]
fn a_request_has_five_seconds() {
    let pooled = with_page(|_| {});
    let began = Instant::now();
    let clients = ["", "GET / HTTP/1.1\r\nHost", "GET / HTTP/1.1\r\nA: b\r\n"];
    let mut streams = clients.map(|bytes| begin(&pooled.proxy, bytes));
    for stream in &mut streams {
        // An end or a reset, and nothing before.
        assert_eq!(stream.read(&mut [0; 100]).unwrap_or(0), 0);
    }
    let time = began.elapsed();
    assert!(time >= Duration::from_secs(4), "{time:?}");
}

#[test]
fn requests_are_of_eight_kib_and_forms_of_four() {
    let pooled = with_page(|_| {});
    let proxy = &pooled.proxy;
    let header = format!("A: {}\r\n", "x".repeat(7 << 10));
    assert_eq!(get_with(proxy, "/", &header).status, 200);
    let header = format!("A: {}\r\n", "x".repeat(9 << 10));
    assert_eq!(get_with(proxy, "/", &header).status, 431);
    assert_eq!(get(proxy, &format!("/{}", "x".repeat(9 << 10))).status, 431);
    assert_eq!(get_with(proxy, "/", &"A: b\r\n".repeat(1_000)).status, 431);
    let form = |len| format!("user={}", "x".repeat(len));
    assert_eq!(post(proxy, "/login", "", &form(4_000)).status, 401);
    assert_eq!(post(proxy, "/login", "", &form(5_000)).status, 413);
    // One that is announced is not waited for.
    let huge = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                Content-Length: 99999999999\r\n\r\n";
    let huge = send(proxy, &format!("{huge}{}", form(5_000)));
    assert_eq!(huge.status, 413);
}

#[test]
fn what_is_no_request_gets_an_error() {
    let pooled = with_page(|_| {});
    let proxy = &pooled.proxy;
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/3\r\n\r\n", 400),
        ("\0\0\0\r\n\r\n", 400),
        ("PUT / HTTP/1.1\r\n\r\n", 405),
        ("DELETE /metrics HTTP/1.1\r\n\r\n", 405),
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        ("GET /../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        ("GET /page HTTP/1.1\r\n\r\n", 404),
        ("GET /session HTTP/1.1\r\n\r\n", 400),
        (
            "GET /session?listener=mysql&id=4294967295 HTTP/1.1\r\n\r\n",
            404,
        ),
        (
            "GET /api/session?listener=mysql&id=4294967295 HTTP/1.1\r\n\r\n",
            404,
        ),
        ("GET /sessions?user=%ff%00&&&=%zz HTTP/1.1\r\n\r\n", 200),
        ("GET / HTTP/1.0\r\n\r\n", 200),
        ("HEAD / HTTP/1.1\r\n\r\n", 200),
        ("HEAD /events HTTP/1.1\r\n\r\n", 200),
    ] {
        let response = send(proxy, request);
        assert_eq!(response.status, status, "{request}: {}", response.body);
        assert!(!request.starts_with("HEAD") || response.body.is_empty());
    }
}

/// One that watches, after its first event.
fn watch(proxy: &Proxy) -> Option<TcpStream> {
    let mut stream = begin(proxy, "GET /events HTTP/1.1\r\n\r\n");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("\ndata: ") {
        let mut some = [0; 4096];
        let n = stream.read(&mut some).unwrap();
        seen.extend_from_slice(&some[..n]);
        if seen.starts_with(b"HTTP/1.1 503") || n == 0 {
            return None;
        }
    }
    Some(stream)
}

#[test]
fn so_many_pages_may_be_watched_and_keep_nobody_out() {
    let pooled = with_page(|_| {});
    let mut watching: Vec<_> = (0..32).map(|_| watch(&pooled.proxy).unwrap()).collect();
    assert!(watch(&pooled.proxy).is_none());
    let silent: Vec<_> = (0..MANY).map(|_| begin(&pooled.proxy, "")).collect();
    all_is_served(&pooled.proxy);
    drop(silent);
    // Those who watch are still there, and one that leaves makes room.
    for stream in &mut watching {
        assert!(stream.read(&mut [0; 100]).unwrap() > 0);
    }
    watching.pop();
    until("a free place", || watch(&pooled.proxy).is_some());
}

#[test]
fn the_end_of_the_proxy_ends_its_clients() {
    let pooled = with_page(|_| {});
    let mut watching = watch(&pooled.proxy).unwrap();
    let mut silent = begin(&pooled.proxy, "GET");
    pooled.proxy.stop();
    for stream in [&mut watching, &mut silent] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
    }
}
