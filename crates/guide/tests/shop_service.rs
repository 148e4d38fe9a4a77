//! The example `shop_service` on a private server, asked over HTTP.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use onecopy_testkit::server::Server;

struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(url: &str) -> Self {
        let tests = std::env::current_exe().unwrap();
        let program = tests
            .ancestors()
            .nth(2)
            .unwrap()
            .join("examples/shop_service");
        let mut child = Command::new(program)
            .args([url, "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        Self {
            address: address.to_owned(),
            child,
        }
    }

    /// Returns the status and the body.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut reply = BufReader::new(stream);
        let mut line = String::new();
        reply.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut is_chunked = false;
        loop {
            line.clear();
            reply.read_line(&mut line).unwrap();
            is_chunked |= line.eq_ignore_ascii_case("transfer-encoding: chunked\r\n");
            if line == "\r\n" {
                break;
            }
        }
        let mut body = Vec::new();
        if !is_chunked {
            reply.read_to_end(&mut body).unwrap();
            return (status, body);
        }
        loop {
            line.clear();
            reply.read_line(&mut line).unwrap();
            let len = u64::from_str_radix(line.trim(), 16).unwrap();
            if len == 0 {
                return (status, body);
            }
            (&mut reply).take(len).read_to_end(&mut body).unwrap();
            reply.read_line(&mut line).unwrap();
        }
    }

    /// Returns the largest amount of memory, in KiB, that the service has had resident.
    fn peak_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.unwrap().split_ascii_whitespace().nth(1);
        kib.unwrap().parse().unwrap()
    }

    fn text(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let (status, body) = self.ask(method, path, body.as_bytes());
        (status, String::from_utf8(body).unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_service_migrates_answers_and_passes_photos_through() {
    let server = Server::start().unwrap();
    let service = Service::start(&server.url());
    // A second instance finds the schema.
    drop(Service::start(&server.url()));

    let add = |text| service.text("POST", "/products", text);
    assert_eq!(add(r#"{"name": "cup", "price": 7}"#), (200, "1".into()));
    assert_eq!(add(r#"{"name": "table", "price": 700}"#), (200, "2".into()));
    let (status, text) = service.text("GET", "/products?max_price=10", "");
    assert_eq!(
        (status, text.as_str()),
        (200, r#"[{"id":1,"name":"cup","price":7.0}]"#)
    );

    let order = |count| {
        service.text(
            "POST",
            "/orders",
            &format!(r#"{{"product": 1, "count": {count}}}"#),
        )
    };
    assert_eq!(order(8), (200, "1".into()));
    assert_eq!(order(8), (409, "not in stock".into()));
    assert_eq!(order(2).0, 200);

    let photo: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (status, _) = service.ask("PUT", "/products/1/photo", &photo);
    assert_eq!(status, 200);
    let (status, copy) = service.ask("GET", "/products/1/photo", b"");
    assert!(
        status == 200 && copy == photo,
        "{status}, {} bytes",
        copy.len()
    );
    assert_eq!(service.ask("GET", "/products/2/photo", b"").0, 404);
    let (status, stats) = service.text("GET", "/pool", "");
    assert!(status == 200 && stats.contains("in_use: 0"), "{stats}");
}

#[test]
fn a_photo_of_64_mib_passes_through_in_constant_memory() {
    let server = Server::builder()
        .argument("--max-allowed-packet=256M")
        .start()
        .unwrap();
    let service = Service::start(&server.url());
    let small = vec![7; 1 << 20];
    assert_eq!(service.ask("PUT", "/products/1/photo", &small).0, 200);
    assert!(service.ask("GET", "/products/1/photo", b"").1 == small);
    let before = service.peak_kib();
    let large = vec![8; 64 << 20];
    assert_eq!(service.ask("PUT", "/products/1/photo", &large).0, 200);
    let stored = service.peak_kib();
    assert!(service.ask("GET", "/products/1/photo", b"").1 == large);
    let fetched = service.peak_kib();
    println!("peak: {before} KiB, after the upload {stored}, after the download {fetched}");
    assert!(
        fetched < before + (8 << 10),
        "{before}, {stored}, {fetched} KiB"
    );
}
