//! A client and a backend of single packets.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::HandshakeResponse;
use onecopy_proxy::config::BackendConfig;

use crate::common::loopback;

/// No answer takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// What clients ask for here, beside what a test is about.
pub(crate) const USUAL: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::MULTI_RESULTS);

pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = payload.len().to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// One end of a connection, and the sequence id that is next.
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    pub(crate) sequence: u8,
}

impl Raw {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            sequence: 0,
        }
    }

    /// A client that was greeted.
    pub(crate) fn connect(port: u16) -> (Self, Vec<u8>) {
        let mut client = Self::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
        let greeting = client.hear().unwrap();
        (client, greeting)
    }

    /// A client that is logged in as one without a password.
    pub(crate) fn log_in(port: u16, user: &str, capabilities: Capabilities) -> Self {
        let (mut client, _) = Self::connect(port);
        client.say(&response(user, capabilities)).unwrap();
        let mut answer = client.hear().unwrap();
        if answer[0] == 0xFE {
            let is_sha2 = answer[1..].starts_with(b"caching_sha2_password");
            client.say(if is_sha2 { b"\0" } else { b"" }).unwrap();
            answer = client.hear().unwrap();
        }
        assert_eq!(answer[0], 0, "{}", answer.escape_ascii());
        client
    }

    pub(crate) fn say(&mut self, payload: &[u8]) -> io::Result<()> {
        let packet = packet(self.sequence, payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&packet)
    }

    /// A command; its answers are for [`hear`](Self::hear).
    pub(crate) fn command(&mut self, payload: &[u8]) {
        self.sequence = 0;
        self.say(payload).unwrap();
    }

    /// The next payload, whose sequence id is the one that is next.
    pub(crate) fn hear(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        assert_eq!(header[3], self.sequence, "the sequence id");
        self.sequence = self.sequence.wrapping_add(1);
        let [a, b, c, _] = header;
        let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    /// The code of the error that is next, behind which the connection ends.
    pub(crate) fn last_error(mut self) -> u16 {
        let payload = self.hear().unwrap();
        assert_eq!(payload[0], 0xFF, "{}", payload.escape_ascii());
        assert_eq!(self.rest(), b"");
        u16::from_le_bytes([payload[1], payload[2]])
    }

    /// Everything that still comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("it continues"),
            _ => rest,
        }
    }
}

/// The response of a client without a password.
pub(crate) fn response(user: &str, capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        capabilities,
        max_packet_bytes: 1 << 30,
        collation: 45,
        user: user.as_bytes(),
        auth_response: b"",
        database: Some(b"test"),
        auth_plugin: Some(b"mysql_native_password"),
        attributes: Default::default(),
        zstd_level: None,
    }
    .encode(&mut payload)
    .unwrap();
    payload
}

/// A backend for one client, and what it comes to.
pub(crate) fn backend<T: Send + 'static>(
    talk: impl FnOnce(Raw) -> T + Send + 'static,
) -> (BackendConfig, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || talk(Raw::new(listener.accept().unwrap().0)));
    (BackendConfig::new(loopback(port)), thread)
}

/// HandshakeV10 of a server without TLS, of `mysql_native_password`.
pub(crate) fn greeting() -> Vec<u8> {
    let mut greeting = b"\x0A8.0.0\0\x2A\0\0\0twenty b\0".to_vec();
    // CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION; utf8mb4, AUTOCOMMIT; MULTI_RESULTS, PLUGIN_AUTH.
    greeting.extend([0x08, 0x82, 45, 2, 0, 0x0A, 0, 21]);
    greeting.extend([0; 10]);
    greeting.extend(b"ytes, a salt\0mysql_native_password\0");
    greeting
}
