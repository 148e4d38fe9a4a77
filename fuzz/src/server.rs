//! The server's role: the login of any client, then its commands, with any replies to them.
//!
//! | bytes | field                                                         |
//! |-------|---------------------------------------------------------------|
//! | 1     | what the server offers, the account, and confirmation         |
//! | 1     | bit 0: start behind the login                                 |
//! | 1     | how the stream is cut                                         |
//! | short | replies, one byte each                                        |
//! | rest  | what the client sends, as chunks                              |
//!
//! Held: the server says and sees the same however the client's bytes are cut, takes no command over its limit, and lets
//! nobody in who does not know the password.

use std::sync::Arc;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::{
    Channel, Plugin, PrivateKey, Secret, Verifier, caching_sha2, native_password, parsec,
};
use onecopy_mysql_proto::packet::{ColumnDefinition, Command, EofPacket, ErrPacket, OkPacket};
use onecopy_mysql_proto::server::{
    Account, Field, ServerCore, ServerError, ServerHandshake, ServerHandshakeConfig,
    ServerHandshakeMessage, ServerLimits, ServerMessage, ServerSession,
};
use onecopy_wire::{BufferConfig, Buffers, Core};

use crate::delivery::Pieces;
use crate::input::Input;
use crate::packets::check_line;
use crate::pump::{Outcome, Pump};
use crate::stream::packets;

const LIMITS: ServerLimits = ServerLimits {
    max_command_bytes: 2 << 10,
    contiguous_bytes: 128,
    max_login_bytes: 512,
};

/// A command's home grows by at most doubling.
const MOST_IN_HOMES: u64 = 3 * LIMITS.max_command_bytes;

const PASSWORD: &[u8] = b"correct horse battery staple";

/// Serves one client twice, its bytes whole and in pieces.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = input.byte();
    let is_in = input.flag();
    let pieces = Pieces::new(input.byte());
    let replies = input.short();
    let client = packets(&mut input, if is_in { 0 } else { 1 });
    let whole = Served::new(flags, is_in, &client, Pieces::WHOLE).serve(replies);
    let cut = Served::new(flags, is_in, &client, pieces).serve(replies);
    let turned = whole.tls || cut.tls;
    // What came too early behind a request for TLS shows only where it has arrived by then.
    if !turned {
        assert_eq!(whole.seen, cut.seen);
        assert_eq!(whole.sent, cut.sent);
    }
}

/// A key that hides nothing, so that inputs come behind it.
#[derive(Debug)]
struct Glass;

impl PrivateKey for Glass {
    fn public_pem(&self) -> &[u8] {
        b"-----BEGIN PUBLIC KEY-----"
    }

    fn decrypt(&self, encrypted: &[u8]) -> Option<Secret> {
        Some(Secret::new(encrypted))
    }
}

struct Served<'a> {
    flags: u8,
    is_in: bool,
    pump: Pump<'a>,
    buffers: Buffers,
    log: Log,
}

#[derive(Debug, Default)]
struct Log {
    seen: Vec<String>,
    sent: Vec<u8>,
    tls: bool,
}

impl<'a> Served<'a> {
    fn new(flags: u8, is_in: bool, client: &'a [u8], pieces: Pieces) -> Self {
        Self {
            flags,
            is_in,
            pump: Pump::new(client, pieces),
            buffers: Buffers::new(BufferConfig {
                initial_read: 64,
                max_read: 512,
                idle_keep: 256,
                ..LIMITS.buffer_config()
            }),
            log: Log::default(),
        }
    }

    fn serve(mut self, replies: &[u8]) -> Log {
        let core = if self.is_in {
            Some(ServerCore::new(ServerSession::default(), LIMITS))
        } else {
            self.login()
        };
        if let Some(core) = core {
            self.commands(core, replies);
        }
        self.pump.check_meter(&self.buffers, MOST_IN_HOMES);
        self.log.sent = self.pump.sent().to_vec();
        self.log
    }

    fn login(&mut self) -> Option<ServerCore> {
        let mut handshake = ServerHandshake::new(self.config(), LIMITS)
            .with_private_key(Arc::new(Glass))
            .with_client_host("192.0.2.1");
        if self.flags & 64 != 0 {
            handshake = handshake.with_confirmation();
        }
        let mut is_checked_again = false;
        loop {
            match self.pump.step(&mut handshake, &mut self.buffers, &()) {
                Outcome::Message(ServerHandshakeMessage::User) => {
                    let session = handshake.session();
                    let seen = format!("{session:?} {:?}", session.attributes());
                    self.log.seen.push(seen);
                    let account = self.account();
                    let answered = handshake.answer(&mut self.buffers, account);
                    answered.expect("a good nonce");
                }
                Outcome::Message(ServerHandshakeMessage::Password) => {
                    let is_right = handshake.password().expect("it was sent").expose() == PASSWORD;
                    let decided = handshake.decide(&mut self.buffers, is_right);
                    decided.expect("it waits for that");
                }
                Outcome::Message(ServerHandshakeMessage::Authenticated) => {
                    let accepted = handshake.accept(&mut self.buffers);
                    accepted.expect("it waits for that");
                }
                Outcome::Message(ServerHandshakeMessage::Denied) => {
                    if self.flags & 1 == 0 && !std::mem::replace(&mut is_checked_again, true) {
                        let account = self.account();
                        let checked = handshake.check_again(&mut self.buffers, account.verifier);
                        checked.expect("it waits for that");
                    } else {
                        let denied = handshake.deny(&mut self.buffers);
                        denied.expect("it waits for that");
                    }
                }
                Outcome::Message(ServerHandshakeMessage::Accepted) => {
                    assert!(self.flags & 1 != 0, "in without the password");
                    return Some(handshake.into_core());
                }
                Outcome::Message(ServerHandshakeMessage::Rejected) => return None,
                Outcome::StartTls => {
                    self.log.tls = true;
                    if let Err(error) = handshake.tls_started(&mut self.buffers) {
                        assert_eq!(error, ServerError::BytesBeforeTls);
                        return None;
                    }
                }
                Outcome::Failed(error) => {
                    self.failed(&error);
                    return None;
                }
            }
        }
    }

    fn config(&self) -> ServerHandshakeConfig {
        let mut capabilities = Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::CONNECT_ATTRS
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::SESSION_TRACK
            | Capabilities::DEPRECATE_EOF;
        for (bit, capability) in [
            (2, Capabilities::SSL),
            (4, Capabilities::QUERY_ATTRIBUTES),
            (8, Capabilities::MARIADB_CACHE_METADATA),
        ] {
            if self.flags & bit != 0 {
                capabilities |= capability;
            }
        }
        ServerHandshakeConfig {
            server_version: b"11.8.0-onecopy".to_vec(),
            connection_id: 7,
            nonce: *b"0123456789abcdefghij",
            capabilities,
            plugin: Plugin::NativePassword,
            collation: 45,
            channel: Channel::Plain,
        }
    }

    /// Without a password where the lowest bit is set; else with one that no input knows.
    fn account(&self) -> Account {
        let password = &Secret::new(PASSWORD);
        let sha2 = || caching_sha2::Verifier::from_password(password);
        let has = |bit| self.flags & bit != 0;
        let verifier = match (has(128), has(16), has(32)) {
            _ if has(1) => Verifier::NoPassword,
            (false, _, _) => {
                Verifier::NativePassword(native_password::Verifier::from_password(password))
            }
            (true, true, _) => {
                let ext_salt = parsec::ExtSalt::new([5; parsec::SALT_BYTES]);
                Verifier::Parsec(parsec::Verifier::from_password(password, ext_salt))
            }
            (true, false, true) if has(64) => Verifier::CachingSha2Cache(Some(sha2())),
            (true, false, true) => Verifier::CachingSha2Password(sha2()),
            (true, false, false) => Verifier::Sha256Password(sha2()),
        };
        let nonce = match &verifier {
            Verifier::Parsec(_) => Some(b"abcdefghij0123456789ABCDEFGHIJ01".to_vec()),
            _ => has(16).then(|| b"abcdefghij0123456789".to_vec()),
        };
        Account {
            verifier,
            nonce,
            empty_cache: has(32),
        }
    }

    fn commands(&mut self, mut core: ServerCore, replies: &[u8]) {
        let mut replies = replies.iter().copied();
        loop {
            match self.pump.step(&mut core, &mut self.buffers, &()) {
                Outcome::Message(ServerMessage::Command(span)) => {
                    let len = span.len() as u64;
                    assert!(len <= LIMITS.max_command_bytes);
                    let command = core.command(&self.buffers, span);
                    self.log.seen.push(format!("{command:?}"));
                    if let Ok(Command::Execute(execute)) = command {
                        let statement = core.statement(execute.statement_id);
                        let count = statement.map_or(0, |statement| statement.parameters());
                        let parameters = execute.parameters(count, core.capabilities());
                        self.log.seen.push(format!("{parameters:?} {statement:?}"));
                    }
                }
                Outcome::Message(ServerMessage::Packet(span)) => {
                    let seen = format!("packet {:02x?}", self.buffers.bytes(span));
                    self.log.seen.push(seen);
                }
                Outcome::StartTls => panic!("there is no tls behind the login"),
                Outcome::Failed(error) => return self.failed(&error),
            }
            let reply = replies.next().unwrap_or_default();
            self.reply(&mut core, reply);
        }
    }

    fn reply(&mut self, core: &mut ServerCore, reply: u8) {
        let buffers = &mut self.buffers;
        let ok = OkPacket::default();
        match reply % 7 {
            0 => core.ok(buffers, &ok),
            1 => core.err(
                buffers,
                &ErrPacket {
                    code: 1064,
                    sql_state: Some(*b"42000"),
                    message: b"no",
                },
            ),
            2 => {
                let id = core.prepared(buffers, u16::from(reply >> 4), 0, 0);
                assert!(core.statement(id).is_some());
            }
            3 => core.local_infile(buffers, b"/etc/passwd"),
            4 => {
                core.column_count(buffers, 1, true);
                core.column_definition(buffers, &ColumnDefinition::default());
                core.definitions_end(buffers, &EofPacket::default());
                core.text_row(buffers, [Field::Bytes(&[reply])]);
                core.binary_row(buffers, &[Field::Null]);
                core.rows_end(buffers, &ok);
            }
            5 => core.expect_packet(),
            _ => {}
        }
    }

    fn failed(&mut self, error: &ServerError) {
        check_line(error);
        // Which of two mistakes is seen first may depend on how much has arrived.
        self.log.seen.push("failed".to_owned());
    }
}
