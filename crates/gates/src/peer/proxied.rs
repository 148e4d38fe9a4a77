//! What is on both sides of a proxy: a MariaDB that says the same again and again, and clients, over Unix sockets.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use onecopy_mysql_proto::packet::ok::OkHeader;
use onecopy_mysql_proto::packet::{
    ColumnDefinition, CommandByte, Greeting, HandshakeResponse, OkPacket, PrepareOk, SessionChange,
    SessionTrack,
};
use onecopy_mysql_proto::{Capabilities, ColumnType, StatusFlags};

use super::push_packet;

/// What a driver of these days asks for.
const CLIENT: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::DEPRECATE_EOF);

/// What the server has beside.
const SERVER: Capabilities = CLIENT
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::MULTI_STATEMENTS);

const PLUGIN: &[u8] = b"mysql_native_password";
pub(crate) const USER: &str = "gate";

/// Larger than what is said at once.
const ROOM: usize = 64 << 10;

/// Variables that the server reports: name, value of a fresh connection, and value that `SET` gives them here.
pub(crate) const VARIABLES: [(&str, &str, &str); 3] = [
    (
        "sql_mode",
        "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
        "STRICT_TRANS_TABLES",
    ),
    ("time_zone", "SYSTEM", "+00:00"),
    ("wait_timeout", "28800", "3600"),
];

/// What is answered with large rows: so many of so many bytes.
pub(crate) const SELECT_LARGE: &[u8] = b"SELECT pad FROM sbtest1 LIMIT 8";
const LARGE_ROWS: usize = 8;
const LARGE_ROW: usize = 16 << 10;

/// Others that are asked for.
const CHARACTER_SETS: [(&str, &str); 5] = [
    ("autocommit", "ON"),
    ("character_set_client", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
];

/// What is said to each command.
struct Replies {
    logged_in: Vec<u8>,
    ok: Vec<u8>,
    /// Of a `SET`, with what it has changed.
    changed: Vec<u8>,
    variables: Vec<u8>,
    character_sets: Vec<u8>,
    prepared: Vec<u8>,
    rows: Vec<u8>,
    large_rows: Vec<u8>,
    binary_rows: Vec<u8>,
}

/// A server with as many sessions as come.
pub(crate) struct Server {
    listener: UnixListener,
    replies: Replies,
    sessions: Vec<ServerSession>,
    last_id: u32,
    room: Vec<u8>,
}

struct ServerSession {
    stream: UnixStream,
    is_logged_in: bool,
}

impl Server {
    pub(crate) fn listen(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        Self {
            listener,
            replies: Replies::new(),
            sessions: Vec::new(),
            last_id: 0,
            room: vec![0; ROOM],
        }
    }

    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Lets in who has come, and answers what has arrived; commands come whole.
    #[inline(never)]
    pub(crate) fn serve(&mut self) {
        while let Ok((mut stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).expect("a socket");
            self.last_id += 1;
            stream.write_all(&greeting(self.last_id)).expect("room");
            self.sessions.push(ServerSession {
                stream,
                is_logged_in: false,
            });
        }
        self.sessions.retain_mut(|session| {
            match read(&mut session.stream, &mut self.room) {
                None => true,
                // The proxy has closed it.
                Some(0) => false,
                Some(len) => {
                    session.answer(&self.room[..len], &self.replies);
                    true
                }
            }
        });
    }
}

impl ServerSession {
    #[inline(never)]
    fn answer(&mut self, mut packets: &[u8], replies: &Replies) {
        while let [a, b, c, _, rest @ ..] = packets {
            let len = usize::from(*a) + (usize::from(*b) << 8) + (usize::from(*c) << 16);
            let payload = &rest[..len];
            packets = &rest[len..];
            let reply = match std::mem::replace(&mut self.is_logged_in, true) {
                false => &replies.logged_in,
                true => replies.to(payload),
            };
            self.stream.write_all(reply).expect("room");
        }
    }
}

impl Replies {
    fn new() -> Self {
        let prepared = PrepareOk {
            statement_id: 1,
            columns: 1,
            parameters: 1,
            warnings: 0,
            metadata_follows: true,
        };
        let mut prepare_ok = Vec::new();
        prepared.encode(SERVER, &mut prepare_ok);
        let all = VARIABLES.iter().map(|(name, fresh, _)| (*name, *fresh));
        let all: Vec<_> = all.chain(CHARACTER_SETS).collect();
        let all = all
            .iter()
            .map(|(name, value)| [text(name), text(value)].concat());
        let changed: Vec<_> = VARIABLES
            .iter()
            .map(|(name, _, value)| SessionChange::SystemVariable {
                name: name.as_bytes(),
                value: value.as_bytes(),
            })
            .collect();
        Self {
            // Behind greeting and answer.
            logged_in: packets(2, &[ok(OkHeader::Ok, &[])]),
            ok: packets(1, &[ok(OkHeader::Ok, &[])]),
            changed: packets(1, &[ok(OkHeader::Ok, &changed)]),
            variables: result(2, &all.collect::<Vec<_>>()),
            character_sets: result(1, &[text("utf8mb4,utf8mb4,utf8mb4,utf8mb4_general_ci")]),
            prepared: packets(1, &[prepare_ok, definition(), definition()]),
            rows: result(1, &[text(&"x".repeat(120))]),
            large_rows: result(1, &vec![long_text(LARGE_ROW); LARGE_ROWS]),
            // A header, no NULL, a text.
            binary_rows: result(1, &[[vec![0, 0], text(&"x".repeat(120))].concat()]),
        }
    }

    fn to(&self, payload: &[u8]) -> &[u8] {
        let (&command, text) = payload.split_first().expect("a command");
        match CommandByte(command) {
            CommandByte::STMT_PREPARE => &self.prepared,
            CommandByte::STMT_EXECUTE => &self.binary_rows,
            CommandByte::QUERY if text.starts_with(b"SHOW") => &self.variables,
            CommandByte::QUERY if text.starts_with(b"SELECT CONCAT_WS") => &self.character_sets,
            CommandByte::QUERY if text.starts_with(b"SET SESSION") => &self.changed,
            CommandByte::QUERY if text.starts_with(b"SET @@session") => &self.changed,
            CommandByte::QUERY if text == SELECT_LARGE => &self.large_rows,
            CommandByte::QUERY if text.starts_with(b"SELECT") => &self.rows,
            CommandByte::STMT_CLOSE | CommandByte::QUIT => &[],
            _ => &self.ok,
        }
    }
}

fn greeting(connection_id: u32) -> Vec<u8> {
    let mut greeting = Vec::new();
    let packet = Greeting {
        server_version: b"10.11.0-MariaDB",
        connection_id,
        nonce_head: *b"12345678",
        nonce_tail: b"901234567890",
        capabilities: SERVER,
        collation: 45,
        status_flags: StatusFlags::AUTOCOMMIT,
        auth_plugin: Some(PLUGIN),
    };
    packet.encode(&mut greeting).expect("a greeting");
    packets(0, &[greeting])
}

fn packets(mut sequence: u8, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        push_packet(&mut bytes, &mut sequence, payload);
    }
    bytes
}

fn ok(header: OkHeader, changes: &[SessionChange<'_>]) -> Vec<u8> {
    let mut encoded = Vec::new();
    changes
        .iter()
        .for_each(|change| change.encode(&mut encoded));
    let mut payload = Vec::new();
    OkPacket {
        status_flags: StatusFlags::AUTOCOMMIT,
        session_track: SessionTrack::from_encoded(&encoded),
        ..OkPacket::default()
    }
    .encode(header, SERVER, &mut payload);
    payload
}

fn result(columns: u8, rows: &[Vec<u8>]) -> Vec<u8> {
    let mut payloads = vec![vec![columns]];
    payloads.extend((0..columns).map(|_| definition()));
    payloads.extend_from_slice(rows);
    payloads.push(ok(OkHeader::Eof, &[]));
    packets(1, &payloads)
}

fn definition() -> Vec<u8> {
    let mut payload = Vec::new();
    ColumnDefinition {
        catalog: b"def",
        schema: b"test",
        table: b"sbtest1",
        org_table: b"sbtest1",
        name: b"c",
        org_name: b"c",
        collation: 45,
        column_length: 480,
        column_type: ColumnType::VAR_STRING.0,
        ..ColumnDefinition::default()
    }
    .encode(SERVER, &mut payload);
    payload
}

/// A text with its length, of at most 250 bytes.
fn text(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).expect("a short text");
    [&[len], text.as_bytes()].concat()
}

/// A text of so many bytes, with its length in two.
fn long_text(len: usize) -> Vec<u8> {
    let short = u16::try_from(len).expect("a length of two bytes");
    [&[0xFC], &short.to_le_bytes()[..], &vec![b'x'; len]].concat()
}

/// A client of the proxy.
pub(crate) struct Client {
    stream: UnixStream,
    is_greeted: bool,
    room: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("the proxy listens");
        stream.set_nonblocking(true).expect("a socket");
        Self {
            stream,
            is_greeted: false,
            room: vec![0; ROOM],
        }
    }

    /// Goes on with the login; whether it is in.
    pub(crate) fn log_in(&mut self) -> bool {
        if self.hear().is_none() {
            return false;
        }
        if std::mem::replace(&mut self.is_greeted, true) {
            // OK behind the answer.
            assert_eq!(self.room[3..5], [2, 0], "the proxy refuses the login");
            return true;
        }
        let mut payload = Vec::new();
        HandshakeResponse {
            capabilities: CLIENT,
            max_packet_bytes: 16 << 20,
            collation: 45,
            user: USER.as_bytes(),
            // The password is empty.
            auth_response: b"",
            database: None,
            auth_plugin: Some(PLUGIN),
            attributes: Default::default(),
            zstd_level: None,
        }
        .encode(&mut payload)
        .expect("an answer");
        self.say(&packets(1, &[payload]));
        false
    }

    #[inline(never)]
    pub(crate) fn say(&mut self, packets: &[u8]) {
        self.stream.write_all(packets).expect("room");
    }

    /// Bytes that have arrived; `None` for none.
    #[inline(never)]
    pub(crate) fn hear(&mut self) -> Option<&[u8]> {
        let len = read(&mut self.stream, &mut self.room)?;
        assert!(len > 0, "the proxy has closed a client's connection");
        Some(&self.room[..len])
    }
}

/// A command's packet.
pub(crate) fn command(command: CommandByte, text: &[u8]) -> Vec<u8> {
    packets(0, &[[&[command.0], text].concat()])
}

/// Bytes that have arrived, 0 at the end; `None` for none yet.
fn read(stream: &mut UnixStream, room: &mut [u8]) -> Option<usize> {
    match stream.read(room) {
        Ok(len) => Some(len),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(_) => Some(0),
    }
}
