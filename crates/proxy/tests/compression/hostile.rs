//! Frames that lie, on either side.

use std::io::{Read, Write};
use std::net::TcpListener;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Encoder};
use onecopy_mysql_proto::packet::HandshakeResponse;
use onecopy_proxy::config::Offered;

use crate::common::{method, port, server_port, start, until};
use crate::packed::{Packed, packet, stored};
use crate::sessions::account;

/// The beginning of an ERR packet of code 1835.
const BROKEN: &[u8] = b"\xFF\x2B\x07";

/// A frame with this header and content.
fn frame(sequence: u8, before: usize, content: &[u8]) -> Vec<u8> {
    let mut frame = stored(sequence, content);
    let [a, b, c, ..] = before.to_le_bytes();
    frame[4..7].copy_from_slice(&[a, b, c]);
    frame
}

/// What the encoder makes of `content`, without the header.
fn body(algorithm: Algorithm, content: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let (frame, _) = encoder.frame(method(algorithm), 0, content).unwrap();
    frame[7..].to_vec()
}

/// Frames that end a session, with what is said of them; `first` is the id that is due.
fn bad(algorithm: Algorithm, first: u8, content: &[u8]) -> Vec<(Vec<u8>, &'static str)> {
    let body = body(algorithm, content);
    let length = content.len();
    let wrong_id = frame(first.wrapping_add(3), length, &body);
    let trailing = [&body[..], b"more"].concat();
    vec![
        (wrong_id, "out of order"),
        (frame(first, length - 1, &body), "holds more than"),
        (frame(first, length + 1, &body), "holds"),
        (frame(first, 0xFF_FFFF, &body), "holds"),
        (frame(first, length, &trailing), "behind the end"),
        (frame(first, length, b"no stream"), "not valid"),
        (frame(first, length, &body[..body.len() - 1]), "holds"),
        (frame(first, length, b""), "holds"),
    ]
}

#[test]
fn a_client_whose_frames_lie_is_told_so_and_let_go() {
    account("packed_i");
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let command = packet(0, &[b"\x03SELECT ", &b"1+".repeat(100)[..], b"1"].concat());
        for (bytes, _) in bad(algorithm, 0, &command) {
            for most in [1, usize::MAX] {
                let proxy = start(server_port(), Offered::Both, None);
                let mut client = Packed::log_in(port(&proxy), "packed_i", algorithm);
                client.ask("SELECT 1").unwrap();
                for piece in bytes.chunks(most) {
                    // It may have been let go before the last byte.
                    let _ = client.stream.write_all(piece);
                }
                // Where the command is whole before the lie is, its reply may come first, or the beginning of it.
                client.takes_any_id = true;
                while !client.hear_packet().unwrap().starts_with(BROKEN) {}
                let mut rest = Vec::new();
                client.stream.read_to_end(&mut rest).unwrap();
                assert_eq!(rest, b"");
                until("the end of the session", || proxy.sessions() == 0);
                assert_eq!(proxy.snapshot(false).buffers_in_use, 0);
            }
        }
    }
}

#[test]
fn a_server_whose_frames_lie_is_named_to_the_client() {
    let reply = packet(1, &[b"\xFF\x28\x04#42000", &b"no".repeat(100)[..]].concat());
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for (bytes, why) in bad(algorithm, 1, &reply) {
            for most in [1, usize::MAX] {
                let (backend, thread) = server(algorithm, bytes.clone(), most);
                let proxy = start(backend, Offered::Off, Some(method(algorithm)));
                let last = start(port(&proxy), Offered::Zlib, None);
                let mut client = Packed::log_in(port(&last), "anybody", Algorithm::Zlib);
                client.command(b"\x03SELECT 1");
                let error = client.hear().unwrap();
                let code = u16::from_le_bytes([error[1], error[2]]);
                let said = String::from_utf8_lossy(&error[9..]);
                assert_eq!(code, 2027, "{said}");
                assert!(said.contains(why), "{said} does not say {why}");
                thread.join().unwrap();
                until("the end of the session", || proxy.sessions() == 0);
                assert_eq!(proxy.snapshot(false).buffers_in_use, 0);
            }
        }
    }
}

/// A server that lets everybody in and answers the first command by these bytes.
fn server(
    algorithm: Algorithm,
    answer: Vec<u8>,
    most: usize,
) -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(&packet(0, &greeting(algorithm))).unwrap();
        let mut room = [0; 4096];
        let mut response = Vec::new();
        while response.len() < 4 || response.len() < 4 + usize::from(response[0]) {
            let n = stream.read(&mut room).unwrap();
            response.extend_from_slice(&room[..n]);
        }
        let asked = HandshakeResponse::decode(&response[4..]).unwrap();
        assert!(asked.capabilities.contains(algorithm.capability()));
        stream
            .write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0]))
            .unwrap();
        // The command comes in a frame of its own.
        let n = stream.read(&mut room).unwrap();
        assert_eq!(room[..n], stored(0, &packet(0, b"\x03SELECT 1")));
        for piece in answer.chunks(most) {
            let _ = stream.write_all(piece);
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (port, thread)
}

/// HandshakeV10 of a server that offers compression and no TLS.
fn greeting(algorithm: Algorithm) -> Vec<u8> {
    let capabilities = Capabilities::PROTOCOL_41
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH
        | Capabilities::CONNECT_WITH_DB
        | Capabilities::LONG_PASSWORD
        | Capabilities::MULTI_RESULTS
        | algorithm.capability();
    let [a, b, c, d] = capabilities.mysql().to_le_bytes();
    let mut greeting = b"\x0A8.0.0\0\x2A\0\0\0twenty b\0".to_vec();
    greeting.extend([a, b, 45, 2, 0, c, d, 21]);
    greeting.extend([0; 10]);
    greeting.extend(b"ytes of salt\0mysql_native_password\0");
    greeting
}
