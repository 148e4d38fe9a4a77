//! Clients of the control listeners that keep their places and say nothing: others are served all the same.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;

use crate::common::{loopback, start, until};
use crate::page::get;

/// More than there may be of either kind.
const MANY: usize = 80;

fn proxy() -> Proxy {
    start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.admin.listen = Some(loopback(0));
        config.admin.password = Secret::new("a");
    })
}

fn connect(address: Option<&Address>) -> TcpStream {
    let Some(Address::Tcp(address)) = address else {
        panic!("over TCP");
    };
    let stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).unwrap();
    stream
}

fn all_pages_are_served(proxy: &Proxy) {
    for _ in 0..3 {
        assert_eq!(get(proxy, "/health"), (200, "ok\n".to_owned()));
        assert_eq!(get(proxy, "/ready").0, 200);
        assert!(get(proxy, "/metrics").1.contains("onecopy_workers 1\n"));
    }
}

#[test]
fn pages_are_served_beside_any_number_of_silent_clients() {
    let proxy = proxy();
    for begins in ["", "GET /health HTTP/1.1\r\n", "x"] {
        let silent: Vec<_> = (0..MANY)
            .map(|_| {
                let mut stream = connect(proxy.metrics_address());
                // The oldest ones may have gone already.
                let _ = stream.write_all(begins.as_bytes());
                stream
            })
            .collect();
        all_pages_are_served(&proxy);
        drop(silent);
    }
}

#[test]
fn pages_are_served_beside_clients_that_do_not_take_their_answers() {
    let proxy = proxy();
    let greedy: Vec<_> = (0..MANY)
        .map(|_| {
            let mut stream = connect(proxy.metrics_address());
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            stream
        })
        .collect();
    all_pages_are_served(&proxy);
    // Those that were there when theirs was ready have it.
    let mut answers = 0;
    for mut stream in greedy {
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        answers += usize::from(read.is_ok() && answer.contains("onecopy_workers 1\n"));
    }
    assert!(answers >= 16, "{answers}");
}

#[test]
fn an_administrator_comes_in_beside_any_number_of_silent_clients() {
    let proxy = proxy();
    let Some(Address::Tcp(address)) = proxy.admin_address() else {
        panic!("over TCP");
    };
    let url = format!("mysql://admin:a@{address}/");
    let mut inside = Connection::connect(&url).unwrap();
    let mut silent: Vec<_> = (0..MANY).map(|_| connect(proxy.admin_address())).collect();
    for _ in 0..3 {
        Connection::connect(&url).unwrap().ping().unwrap();
    }
    inside.ping().unwrap();
    // The oldest have gone, and the newest are there.
    until("the end of the oldest", || {
        silent[0].set_nonblocking(true).unwrap();
        let mut greeting = [0; 1000];
        loop {
            match silent[0].read(&mut greeting) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    });
}
