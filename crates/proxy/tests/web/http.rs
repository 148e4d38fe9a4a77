//! Requests, as bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Config, Mode};
use serde_json::Value;

use crate::common::{Pooled, loopback};

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Response {
    fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// The page's address.
pub(crate) fn address(proxy: &Proxy) -> std::net::SocketAddr {
    let Some(Address::Tcp(address)) = proxy.web_address() else {
        panic!("there is no page over TCP");
    };
    *address
}

pub(crate) fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(address(proxy)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream
}

/// What these bytes get.
pub(crate) fn send(proxy: &Proxy, request: &str) -> Response {
    let mut stream = connect(proxy);
    stream.write_all(request.as_bytes()).unwrap();
    Response::read(&mut stream)
}

/// What a request with more headers gets.
pub(crate) fn get_with(proxy: &Proxy, path: &str, headers: &str) -> Response {
    let host = address(proxy);
    send(
        proxy,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n"),
    )
}

pub(crate) fn get(proxy: &Proxy, path: &str) -> Response {
    get_with(proxy, path, "")
}

/// JSON of `/api`.
pub(crate) fn json(proxy: &Proxy, path: &str) -> Value {
    let response = get(proxy, path);
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    serde_json::from_str(&response.body).unwrap()
}

/// A form that is sent, with more headers.
pub(crate) fn post(proxy: &Proxy, path: &str, headers: &str, form: &str) -> Response {
    let (host, len) = (address(proxy), form.len());
    send(
        proxy,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {len}\r\n{headers}\r\n{form}"
        ),
    )
}

/// A pooled listener with the page and the admin listener, with the password `secret`.
pub(crate) fn with_page(change: impl FnOnce(&mut Config)) -> Pooled {
    Pooled::start_with(Mode::Transaction, 4, |config| {
        config.web.listen = Some(loopback(0));
        config.admin.listen = Some(loopback(0));
        config.admin.password = onecopy_proxy::config::Secret::new("secret");
        change(config);
    })
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
