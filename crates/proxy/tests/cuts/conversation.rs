//! What a client and a server of a few words say to each other, and how one of them dies in the middle of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

/// The longest payload of one packet.
const MAX_PAYLOAD: usize = 0xFF_FFFF;

/// Neither TLS nor compression, so that a login passes byte for byte.
const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::LOCAL_FILES);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Bytes that one side sends before it hears the other.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    pub(crate) bytes: Vec<u8>,
}

/// Where one side dies: so many bytes into a step, its own or the other's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) side: Side,
    pub(crate) step: usize,
    pub(crate) at: usize,
}

/// What one side saw.
pub(crate) struct Seen {
    /// Bytes of the other side's, which were as they should be.
    pub(crate) received: usize,
    /// What came instead of the rest.
    pub(crate) tail: Vec<u8>,
    /// When it was over.
    pub(crate) at: Instant,
}

/// A greeting, a login, rows, a file, a command and a row of more than 16 MiB.
pub(crate) fn conversation() -> Vec<Step> {
    use Side::{Client, Server};
    let ok = [0, 0, 0, 2, 0, 0, 0];
    let end = [0xFE, 0, 0, 2, 0];
    let step = |name, side, first, payloads: &[&[u8]]| Step {
        name,
        side,
        bytes: packets(first, payloads),
    };
    let large = vec![b'l'; MAX_PAYLOAD + 100];
    let command = [&[0x03], &large[..]].concat();
    let [a, b, c, ..] = large.len().to_le_bytes();
    let row = [&[0xFD, a, b, c], &large[..]].concat();
    let piece = vec![b'f'; 40_000];
    vec![
        step("greeting", Server, 0, &[&greeting()]),
        step("response", Client, 1, &[&response()]),
        step("OK of the login", Server, 2, &[&ok]),
        step("query", Client, 0, &[b"\x03SELECT 1"]),
        step(
            "rows",
            Server,
            1,
            &[&[1], COLUMN, &end, b"\x03row", b"\x05row 2", &end],
        ),
        step("query for a file", Client, 0, &[b"\x03LOAD DATA"]),
        step("request of the file", Server, 1, &[b"\xFBfile"]),
        step("file", Client, 2, &[&piece, &piece, &piece, b""]),
        step("OK of the file", Server, 6, &[&ok]),
        step("large command", Client, 0, &[&command]),
        step("large row", Server, 2, &[&[1], COLUMN, &end, &row, &end]),
        step("quit", Client, 0, &[b"\x01"]),
    ]
}

/// Plays one side's part, until its cut, the other's end, or its own.
pub(crate) fn play(side: Side, mut stream: TcpStream, steps: &[Step], cut: Cut) -> Seen {
    let own_cut = |index: usize| (cut.side == side && cut.step == index).then_some(cut.at);
    let mut received = 0;
    let mut tail = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let until = own_cut(index).unwrap_or(step.bytes.len());
        let bytes = &step.bytes[..until];
        let goes_on = if step.side == side {
            // A side that can't be written to may have sent the reason.
            let _ = stream.write_all(bytes);
            true
        } else {
            hear(&mut stream, bytes, &mut received, &mut tail)
        };
        if !goes_on && side == Side::Server && !tail.is_empty() {
            // The proxy has ended the login by itself, and is refused.
            let _ = stream.write_all(&packets(2, &[b"\xFF\x15\x04#28000no"]));
        }
        if !goes_on || own_cut(index).is_some() {
            break;
        }
    }
    if cut.side == side {
        drop(stream);
        let at = Instant::now();
        return Seen { received, tail, at };
    }
    // An end by a reset is an end.
    let _ = stream.read_to_end(&mut tail);
    let at = Instant::now();
    Seen { received, tail, at }
}

/// Reads what is expected; `false` where something else comes, or nothing more.
fn hear(
    stream: &mut TcpStream,
    mut expected: &[u8],
    received: &mut usize,
    tail: &mut Vec<u8>,
) -> bool {
    let mut buffer = vec![0; 64 << 10];
    while !expected.is_empty() {
        let most = buffer.len().min(expected.len());
        let n = match stream.read(&mut buffer[..most]) {
            Ok(0) | Err(_) => return false,
            Ok(n) => n,
        };
        let (head, rest) = expected.split_at(n);
        expected = rest;
        if head == &buffer[..n] {
            *received += n;
            continue;
        }
        // Byte by byte only where it matters: these are megabytes, and a reader that takes its time slows the proxy down.
        let same = head.iter().zip(&buffer).take_while(|(a, b)| a == b);
        let same = same.count();
        *received += same;
        tail.extend(&buffer[same..n]);
        return false;
    }
    true
}

/// Payloads as packets, with sequence ids from `sequence` on.
fn packets(mut sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        let mut rest = *payload;
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            let [a, b, c, ..] = piece.len().to_le_bytes();
            bytes.extend([a, b, c, sequence]);
            bytes.extend(piece);
            sequence = sequence.wrapping_add(1);
            rest = behind;
            if piece.len() < MAX_PAYLOAD {
                break;
            }
        }
    }
    bytes
}

/// A column `a` of text.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0C\x21\0\x00\x01\0\0\xFD\0\0\0\0\0";

fn greeting() -> Vec<u8> {
    let mut payload = Vec::new();
    Greeting {
        server_version: b"8.0.0-scripted",
        connection_id: 7,
        nonce_head: *b"12345678",
        nonce_tail: b"abcdefghijkl",
        capabilities: CAPABILITIES,
        collation: 45,
        status_flags: StatusFlags(2),
        auth_plugin: Some(b"mysql_native_password"),
    }
    .encode(&mut payload)
    .unwrap();
    payload
}

fn response() -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        capabilities: CAPABILITIES,
        max_packet_bytes: 1 << 24,
        collation: 45,
        user: b"app",
        auth_response: &[7; 20],
        database: None,
        auth_plugin: Some(b"mysql_native_password"),
        attributes: Default::default(),
        zstd_level: None,
    }
    .encode(&mut payload)
    .unwrap();
    payload
}
