//! A client of single packets: it sends a step's commands, and reads their replies to the end.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use onecopy_mysql_proto::auth::{AuthAction, AuthOptions, Channel, ClientAuth, Plugin, Secret};
use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

use crate::reply::{Reply, definition, end, err, ok, prepared, row};
use crate::step::{Shape, Step};

/// No answer takes as long, not even one that waits for a connection.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a login needs, and what statements of several results do.
const USUAL: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH);

const OK: u8 = 0x00;
const FILE: u8 = 0xFB;
const EOF: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// A connection, and the numbers that the server gave its statements.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
    sequence: u8,
    pub(crate) capabilities: Capabilities,
    pub(crate) id: u32,
    pub(crate) status: StatusFlags,
    statements: HashMap<usize, u32>,
    nonce: Vec<u8>,
    /// The one that it is in, as far as it was told; empty for none.
    schema: String,
    password: Vec<u8>,
    /// The server reports a change of any switch as one of autocommit: it counts where the status has changed.
    pub(crate) reports_any_switch: bool,
    /// The server reports the state of a transaction although that is not asked for.
    pub(crate) reports_transactions: bool,
}

/// A statement that no server knows.
const UNKNOWN: u32 = 99_999;

impl Wire {
    /// Logs in as root, with the usual capabilities and more.
    pub(crate) fn connect(
        port: u16,
        password: &str,
        database: Option<&str>,
        more: Capabilities,
    ) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut wire = Self {
            stream: BufReader::new(stream),
            sequence: 0,
            capabilities: Capabilities::empty(),
            id: 0,
            status: StatusFlags::AUTOCOMMIT,
            statements: HashMap::new(),
            nonce: Vec::new(),
            schema: database.unwrap_or_default().to_owned(),
            password: password.as_bytes().to_vec(),
            reports_any_switch: false,
            reports_transactions: false,
        };
        wire.log_in(database, more);
        wire
    }

    fn log_in(&mut self, database: Option<&str>, more: Capabilities) {
        let payload = self.packet().unwrap().1;
        let greeting = Greeting::decode(&payload).unwrap();
        self.id = greeting.connection_id;
        self.nonce = [&greeting.nonce_head[..], greeting.nonce_tail].concat();
        let with_database = match database {
            Some(_) => Capabilities::CONNECT_WITH_DB,
            None => Capabilities::empty(),
        };
        let mysql = Capabilities::LONG_PASSWORD.intersection(greeting.capabilities);
        let wanted = USUAL | more | mysql;
        self.capabilities = wanted.intersection(greeting.capabilities);
        let (mut auth, response) = ClientAuth::new(
            AuthOptions::default(),
            Channel::Plain,
            Secret::new(self.password.as_slice()),
            greeting.auth_plugin,
            &self.nonce,
        )
        .unwrap();
        let mut packet = Vec::new();
        HandshakeResponse {
            capabilities: self.capabilities | with_database,
            max_packet_bytes: 1 << 30,
            collation: 45,
            user: b"root",
            auth_response: response.expose(),
            database: database.map(str::as_bytes),
            auth_plugin: Some(auth.plugin().name().as_bytes()),
            attributes: Default::default(),
            zstd_level: None,
        }
        .encode(&mut packet)
        .unwrap();
        self.say(&packet).unwrap();
        let mut reply = Reply::default();
        self.authenticate(&mut auth, &mut reply).unwrap();
        assert!(!reply.is_error(), "{reply}");
    }

    fn authenticate(&mut self, auth: &mut ClientAuth, reply: &mut Reply) -> io::Result<()> {
        loop {
            let (sequence, payload) = self.packet()?;
            match auth.on_packet(&payload).map_err(io::Error::other)? {
                AuthAction::Send(secret) => self.say(secret.expose())?,
                AuthAction::Wait => {}
                AuthAction::Done => {
                    // How many packets a login has is its plugin's affair.
                    let (text, status) = ok(&payload, self.capabilities);
                    self.status = status;
                    reply.push(0, text);
                    return Ok(());
                }
                _ => {
                    reply.push(sequence, err(&payload));
                    return Ok(());
                }
            }
        }
    }

    /// Sends a step's commands with one write.
    pub(crate) fn send(&mut self, step: &Step) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (slot, payload) in step.commands() {
            let mut payload = payload;
            if let Some(slot) = slot {
                let id = self.statements.get(&slot).copied().unwrap_or(UNKNOWN);
                payload.splice(1..1, id.to_le_bytes());
            }
            put_packets(&mut bytes, &payload);
        }
        if let Step::Slam(sent) = step {
            bytes.truncate(bytes.len() * sent / 100);
        }
        if let Step::ChangeUser(database) = step {
            let auth = self.change_user(database, &mut bytes);
            self.sequence = 1;
            self.stream.get_ref().write_all(&bytes)?;
            // Its exchange follows at once: nothing else of this session is under way.
            return auth.map(drop);
        }
        self.stream.get_ref().write_all(&bytes)
    }

    /// Puts COM_CHANGE_USER; its authentication begins anew.
    fn change_user(&mut self, database: &str, out: &mut Vec<u8>) -> io::Result<()> {
        let (auth, response) = ClientAuth::change_user(
            AuthOptions::default(),
            Channel::Plain,
            Secret::new(self.password.as_slice()),
            Plugin::NativePassword,
            &self.nonce,
        )
        .map_err(io::Error::other)?;
        let response = response.expose();
        let mut payload = b"\x11root\0".to_vec();
        payload.push(u8::try_from(response.len()).unwrap());
        payload.extend_from_slice(response);
        payload.extend_from_slice(database.as_bytes());
        payload.extend_from_slice(b"\0\x2D\0");
        payload.extend_from_slice(auth.plugin().name().as_bytes());
        payload.push(0);
        put_packets(out, &payload);
        Ok(())
    }

    /// Reads the replies to a step.
    pub(crate) fn receive(&mut self, step: &Step) -> Reply {
        let mut reply = Reply::default();
        let before = self.status;
        let shapes = step.shapes();
        for shape in shapes {
            if let Err(error) = self.receive_one(shape, &mut reply) {
                reply.close(&error);
                return reply;
            }
            if reply.is_closed() {
                return reply;
            }
            if shape == Shape::Prepared {
                let Some((slot, _)) = step.prepares() else {
                    continue;
                };
                match reply.prepared.take() {
                    Some(id) => self.statements.insert(slot, id),
                    None => self.statements.remove(&slot),
                };
            }
        }
        match step {
            Step::Close(slot) => drop(self.statements.remove(slot)),
            Step::Reset | Step::ChangeUser(_) => self.statements.clear(),
            _ => {}
        }
        reply.forget_state_changes();
        let known = self.schema.clone();
        reply.note_schema(&mut self.schema);
        match step {
            Step::ChangeUser(database) if !reply.is_error() => {
                self.schema = (*database).to_owned();
            }
            _ => {}
        }
        match (step.may_change_schema(), step.sets_schema()) {
            (_, true) => {}
            // Behind a routine of another schema that has failed, servers report the session's own one with a later statement.
            (true, false) => reply.forget_schema(&known),
            // MariaDB reports it now and then although it is as before.
            (false, false) => reply.forget_schemas(),
        }
        // MySQL again: it counts those of the statement before.
        if self.reports_transactions && step.is_no_statement() {
            reply.forget_warnings();
        }
        let autocommit = StatusFlags::AUTOCOMMIT;
        if self.reports_any_switch
            && before.contains(autocommit) == self.status.contains(autocommit)
        {
            reply.forget_autocommit();
        }
        if self.reports_transactions {
            reply.forget_transaction_state();
        }
        if self.reports_any_switch {
            reply.forget_lone_connection_set();
            reply.forget_connection_set_of_binary();
        }
        reply
    }

    fn receive_one(&mut self, shape: Shape, reply: &mut Reply) -> io::Result<()> {
        match shape {
            Shape::Nothing => Ok(()),
            Shape::Results => self.results(reply),
            Shape::One => {
                let (sequence, payload) = self.packet()?;
                self.single(sequence, &payload, reply);
                Ok(())
            }
            Shape::Text => {
                let (sequence, payload) = self.packet()?;
                let head = payload.split(|&byte| byte == b':').next();
                let head = head.unwrap_or_default();
                reply.push(sequence, format!("text {}", head.escape_ascii()));
                Ok(())
            }
            Shape::Prepared => self.prepared(reply),
            Shape::Rows => self.rows(reply).map(drop),
            Shape::Fields => loop {
                let (sequence, payload) = self.packet()?;
                match payload.first() {
                    Some(&(ERR | EOF)) => {
                        self.single(sequence, &payload, reply);
                        return Ok(());
                    }
                    _ => reply.push(sequence, definition(&payload)),
                }
            },
            Shape::Login => {
                let begun = ClientAuth::change_user(
                    AuthOptions::default(),
                    Channel::Plain,
                    Secret::new(self.password.as_slice()),
                    Plugin::NativePassword,
                    &self.nonce,
                );
                let (mut auth, _) = begun.map_err(io::Error::other)?;
                self.authenticate(&mut auth, reply)
            }
        }
    }

    /// An OK, EOF or ERR packet.
    fn single(&mut self, sequence: u8, payload: &[u8], reply: &mut Reply) {
        let text = match payload.first() {
            // Between commands a server's end has no words of its own; a proxy says that it is gone.
            Some(&ERR) if is_lost(payload) => {
                println!("a session is lost: {}", payload.escape_ascii());
                reply.close(&io::ErrorKind::UnexpectedEof.into());
                return;
            }
            Some(&ERR) => err(payload),
            Some(&EOF) if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) => {
                let (text, status) = end(payload);
                self.status = status;
                text
            }
            // COM_SET_OPTION is answered with an EOF packet by some servers in any case.
            Some(&EOF) if payload.len() == 5 => {
                let (text, status) = end(payload);
                self.status = status;
                text
            }
            _ => {
                let (text, status) = ok(payload, self.capabilities);
                self.status = status;
                text
            }
        };
        reply.push(sequence, text);
    }

    fn results(&mut self, reply: &mut Reply) -> io::Result<()> {
        loop {
            let (sequence, payload) = self.packet()?;
            match payload.first() {
                Some(&OK) => self.single(sequence, &payload, reply),
                Some(&ERR) => {
                    self.single(sequence, &payload, reply);
                    return Ok(());
                }
                Some(&FILE) => {
                    reply.push(sequence, format!("file {}", payload.escape_ascii()));
                    self.say(b"7,from a file\n")?;
                    self.say(b"8,too\n")?;
                    self.say(b"")?;
                    continue;
                }
                _ => {
                    reply.push(sequence, format!("columns {}", payload.escape_ascii()));
                    // All results here have few.
                    let columns = payload.first().copied().unwrap_or_default();
                    for _ in 0..columns {
                        let (sequence, payload) = self.packet()?;
                        reply.push(sequence, definition(&payload));
                    }
                    if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                        let (sequence, payload) = self.packet()?;
                        self.single(sequence, &payload, reply);
                        if self.status.contains(StatusFlags::CURSOR_EXISTS) {
                            return Ok(());
                        }
                    }
                    let is_old = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
                    let has_out_parameters =
                        is_old && self.status.contains(StatusFlags::PS_OUT_PARAMS);
                    if !self.rows(reply)? {
                        return Ok(());
                    }
                    if has_out_parameters {
                        // MySQL says that more follows only before the row.
                        continue;
                    }
                }
            }
            if !self.status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                return Ok(());
            }
        }
    }

    /// Rows to their end; `false` where an error ends them.
    fn rows(&mut self, reply: &mut Reply) -> io::Result<bool> {
        loop {
            let (sequence, payload) = self.packet()?;
            match payload.first() {
                Some(&ERR) => {
                    self.single(sequence, &payload, reply);
                    return Ok(false);
                }
                Some(&EOF) if payload.len() < 0xFF_FFFF => {
                    self.single(sequence, &payload, reply);
                    return Ok(true);
                }
                _ => reply.push(sequence, row(&payload)),
            }
        }
    }

    fn prepared(&mut self, reply: &mut Reply) -> io::Result<()> {
        let (sequence, payload) = self.packet()?;
        if payload.first() != Some(&OK) {
            self.single(sequence, &payload, reply);
            return Ok(());
        }
        let (text, id, [parameters, columns]) = prepared(&payload);
        reply.prepared = Some(id);
        reply.push(sequence, text);
        let has_ends = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        for count in [parameters, columns] {
            for _ in 0..count {
                let (sequence, payload) = self.packet()?;
                reply.push(sequence, definition(&payload));
            }
            if has_ends && count > 0 {
                let (sequence, payload) = self.packet()?;
                self.single(sequence, &payload, reply);
            }
        }
        Ok(())
    }

    fn say(&mut self, payload: &[u8]) -> io::Result<()> {
        let [a, b, c, ..] = payload.len().to_le_bytes();
        let packet = [&[a, b, c, self.sequence], payload].concat();
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.get_ref().write_all(&packet)
    }

    /// The next payload, of any size, and the sequence id of its first packet.
    fn packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut whole = Vec::new();
        let mut first = None;
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            let [a, b, c, sequence] = header;
            first.get_or_insert(sequence);
            self.sequence = sequence.wrapping_add(1);
            let len = u64::from(u32::from_le_bytes([a, b, c, 0]));
            let read = (&mut self.stream).take(len).read_to_end(&mut whole)?;
            if read as u64 != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if len < 0xFF_FFFF {
                return Ok((first.unwrap_or_default(), whole));
            }
        }
    }
}

/// Whether it is the proxy's error for a server that is gone: code 2013.
fn is_lost(payload: &[u8]) -> bool {
    payload.starts_with(&[ERR, 0xDD, 0x07])
}

/// A command as packets.
fn put_packets(out: &mut Vec<u8>, payload: &[u8]) {
    let mut sequence = 0u8;
    let mut rest = payload;
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(0xFF_FFFF));
        let [a, b, c, ..] = piece.len().to_le_bytes();
        out.extend_from_slice(&[a, b, c, sequence]);
        out.extend_from_slice(piece);
        sequence = sequence.wrapping_add(1);
        rest = behind;
        if piece.len() < 0xFF_FFFF {
            return;
        }
    }
}
