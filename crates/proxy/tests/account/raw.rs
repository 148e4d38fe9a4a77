//! A client of a few words: it sends what it is told to, and reads replies to their end.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

const OK: u8 = 0x00;
const FILE: u8 = 0xFB;
const EOF: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// A connection whose user has no password.
pub(crate) struct Raw {
    stream: TcpStream,
    sequence: u8,
    plugin: Vec<u8>,
    pub(crate) capabilities: Capabilities,
    pub(crate) id: u32,
    /// What it serves when a file is asked for.
    pub(crate) file: Vec<u8>,
    /// The number of the last ERR.
    pub(crate) last_error: u16,
    /// How many rows the last result with columns had.
    pub(crate) last_rows: usize,
}

impl Raw {
    /// Logs in as root, with all of `wanted` that the server has.
    pub(crate) fn connect(port: u16, wanted: Capabilities) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        let mut raw = Self {
            stream,
            sequence: 0,
            plugin: Vec::new(),
            capabilities: wanted,
            id: 0,
            file: Vec::new(),
            last_error: 0,
            last_rows: 0,
        };
        let payload = raw.packet();
        let greeting = Greeting::decode(&payload).unwrap();
        raw.id = greeting.connection_id;
        raw.plugin = greeting.auth_plugin.unwrap().to_vec();
        raw.capabilities = wanted.intersection(greeting.capabilities);
        let mut response = Vec::new();
        HandshakeResponse {
            capabilities: raw.capabilities,
            max_packet_bytes: 1 << 24,
            collation: 45,
            user: b"root",
            auth_response: b"",
            database: Some(b"test"),
            auth_plugin: Some(&raw.plugin),
            attributes: Default::default(),
            zstd_level: None,
        }
        .encode(&mut response)
        .unwrap();
        raw.send(&response);
        raw.authenticated();
        raw
    }

    /// Sends one payload with the next sequence id.
    pub(crate) fn send(&mut self, payload: &[u8]) {
        let packet = packet(self.sequence, payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&packet).unwrap();
    }

    /// Sends a command, whose reply is still to be read if it has one.
    pub(crate) fn command(&mut self, byte: u8, body: &[u8]) {
        self.sequence = 0;
        self.send(&[&[byte], body].concat());
    }

    /// Sends commands with one write.
    pub(crate) fn pipeline(&mut self, commands: &[(u8, &[u8])]) {
        let packets = commands.iter();
        let packets = packets.flat_map(|(byte, body)| packet(0, &[&[*byte], *body].concat()));
        let bytes: Vec<u8> = packets.collect();
        self.stream.write_all(&bytes).unwrap();
    }

    /// One payload of at most 16 MiB.
    pub(crate) fn packet(&mut self) -> Vec<u8> {
        self.try_packet().unwrap()
    }

    fn try_packet(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, sequence] = header;
        self.sequence = sequence.wrapping_add(1);
        let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    /// An authentication up to its OK; the password is empty.
    pub(crate) fn authenticated(&mut self) {
        loop {
            let payload = self.packet();
            match payload[0] {
                OK => return,
                EOF => self.send(b""),
                _ => panic!("{}", String::from_utf8_lossy(&payload)),
            }
        }
    }

    /// COM_CHANGE_USER to the same user.
    pub(crate) fn change_user(&mut self) {
        let plugin = self.plugin.clone();
        self.command(
            0x11,
            &[b"root\0\0test\0\x2d\0", &plugin[..], b"\0"].concat(),
        );
        self.authenticated();
    }

    /// A query and its results; `false` where the last one is an error.
    pub(crate) fn query(&mut self, sql: &str) -> bool {
        self.command(0x03, sql.as_bytes());
        self.results()
    }

    /// A query that has to work.
    pub(crate) fn run(&mut self, sql: &str) {
        assert!(self.query(sql), "{sql}");
    }

    /// A command with a reply of one packet.
    pub(crate) fn simple(&mut self, byte: u8, body: &[u8]) -> Vec<u8> {
        self.command(byte, body);
        self.packet()
    }

    /// All results of a command; `false` where the last one is an error.
    pub(crate) fn results(&mut self) -> bool {
        loop {
            let payload = self.packet();
            let status = match payload[0] {
                OK => ok_status(&payload),
                ERR => {
                    self.last_error = u16::from_le_bytes([payload[1], payload[2]]);
                    return false;
                }
                FILE => {
                    self.serve();
                    continue;
                }
                columns => match self.rows(usize::from(columns)) {
                    Some(status) => status,
                    None => return false,
                },
            };
            if !status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                return true;
            }
        }
    }

    /// Columns and rows behind a header; `None` where an error ends them.
    fn rows(&mut self, columns: usize) -> Option<StatusFlags> {
        (0..columns).for_each(|_| drop(self.packet()));
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let status = self.end_status(&[]);
            if status.contains(StatusFlags::CURSOR_EXISTS) {
                return Some(status);
            }
        }
        self.last_rows = 0;
        loop {
            let payload = self.packet();
            match payload[0] {
                ERR => {
                    self.last_error = u16::from_le_bytes([payload[1], payload[2]]);
                    return None;
                }
                EOF if payload.len() < 1 << 24 => return Some(self.end_status(&payload)),
                _ => self.last_rows += 1,
            }
        }
    }

    /// The status of an EOF packet, or of the OK packet in its place; the next packet where none is given.
    fn end_status(&mut self, payload: &[u8]) -> StatusFlags {
        let own;
        let payload = match payload {
            [] => {
                own = self.packet();
                &own
            }
            given => given,
        };
        assert_eq!(payload[0], EOF);
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            return ok_status(payload);
        }
        StatusFlags(u16::from_le_bytes([payload[3], payload[4]]))
    }

    /// The file's bytes, and an empty packet.
    fn serve(&mut self) {
        let file = self.file.clone();
        for piece in file.chunks(1000) {
            self.send(piece);
        }
        self.send(b"");
    }

    /// COM_STMT_PREPARE; gives the statement's number.
    pub(crate) fn prepare(&mut self, sql: &str) -> [u8; 4] {
        self.command(0x16, sql.as_bytes());
        self.prepared()
    }

    /// The reply to COM_STMT_PREPARE.
    pub(crate) fn prepared(&mut self) -> [u8; 4] {
        let payload = self.packet();
        assert_eq!(payload[0], OK, "{}", String::from_utf8_lossy(&payload));
        let count = |at: usize| u16::from_le_bytes([payload[at], payload[at + 1]]);
        let has_ends = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        for count in [count(7), count(5)] {
            let ends = u16::from(has_ends && count > 0);
            (0..count + ends).for_each(|_| drop(self.packet()));
        }
        [payload[1], payload[2], payload[3], payload[4]]
    }

    /// COM_STMT_EXECUTE without parameters.
    pub(crate) fn execute(&mut self, statement: [u8; 4], flags: u8) -> bool {
        self.command(0x17, &[&statement[..], &[flags, 1, 0, 0, 0]].concat());
        self.results()
    }

    /// COM_STMT_FETCH of so many rows; whether more are left.
    pub(crate) fn fetch(&mut self, statement: [u8; 4], rows: u8) -> bool {
        self.command(0x1C, &[&statement[..], &[rows, 0, 0, 0]].concat());
        let status = self.rows_alone().unwrap();
        !status.contains(StatusFlags::LAST_ROW_SENT)
    }

    fn rows_alone(&mut self) -> Option<StatusFlags> {
        loop {
            let payload = self.packet();
            match payload[0] {
                ERR => return None,
                EOF => return Some(self.end_status(&payload)),
                _ => {}
            }
        }
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = payload.len().to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// Behind affected rows and the last id, whose lengths are in their first bytes.
fn ok_status(payload: &[u8]) -> StatusFlags {
    let mut at = 1;
    for _ in 0..2 {
        at += match payload[at] {
            0xFC => 3,
            0xFD => 4,
            0xFE => 9,
            _ => 1,
        };
    }
    StatusFlags(u16::from_le_bytes([payload[at], payload[at + 1]]))
}
