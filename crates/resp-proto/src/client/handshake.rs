//! The handshake that sets up a connection: all requests in one write, then their replies.
//!
//! ```text
//!   HELLO 3 [AUTH user password] [SETNAME name]        RESP3, or where the server chooses
//!   [AUTH [user] password] [CLIENT SETNAME name]       RESP2
//!   CLIENT SETINFO LIB-NAME name, LIB-VER version      a refusal is ignored: servers have it since 7.2
//!   [SELECT database]
//!   [READONLY]                                         a replica of a cluster answers reads by itself
//! ```
//!
//! If the server does not know HELLO or that version, the handshake is repeated in RESP2, unless RESP3 is required. The other
//! replies of the first attempt are discarded.
//!
//! Source: <https://valkey.io/commands/hello/>, <https://valkey.io/commands/client-setinfo/>.

use std::collections::VecDeque;

use onecopy_wire::{Buffers, Core, Step, WireError, WriteQueue};

use super::refusal::{Refusal, is_unknown_command};
use super::session::{Protocol, Session};
use super::{Client, Message};
use crate::error::{ErrorKind, ProtocolError};
use crate::{Frame, Kind, Limits, Reply, RequestWriter, Secret};

/// Requests of the longest handshake: the first attempt and RESP2's.
const MAX_REQUESTS: usize = 10;

/// What a server may say until it is known: a list of modules is the longest, at some kilobytes.
const LIMITS: Limits = Limits {
    max_bulk: 64 << 10,
    max_depth: 16,
    max_elements: 16 << 10,
    max_total: 1 << 20,
    max_line: 64 << 10,
    large: usize::MAX,
};

/// The user of a password that is given alone.
const DEFAULT_USER: &[u8] = b"default";

/// The settings of a handshake.
#[derive(Debug, Clone, Default)]
pub struct HandshakeConfig {
    /// The required protocol version. `None`: RESP3 if the server supports it, else RESP2.
    pub protocol: Option<Protocol>,
    /// The ACL user. `None`: `default`.
    pub user: Option<Vec<u8>>,
    /// The password. `None`: no login, unless there is a user, whose password is then empty.
    pub password: Option<Secret>,
    /// The name of the connection, as shown by CLIENT LIST. It must not contain spaces or line ends.
    pub client_name: Option<Vec<u8>>,
    /// The name of the library, as shown by CLIENT LIST.
    pub library_name: Option<Vec<u8>>,
    /// The version of the library.
    pub library_version: Option<Vec<u8>>,
    /// The number of the database. 0 is the initial one of each connection, so no SELECT is sent for it.
    pub database: u64,
    /// Whether to send READONLY: a replica of a cluster then executes commands that only read, and does not redirect them.
    pub readonly: bool,
}

/// A request of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandshakeRequest {
    /// HELLO: selects the protocol, logs in and sets the name of the connection.
    Hello,
    /// AUTH.
    Auth,
    /// CLIENT SETNAME.
    SetName,
    /// CLIENT SETINFO.
    SetInfo,
    /// SELECT.
    Select,
    /// READONLY.
    Readonly,
}

/// The result of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeReply {
    /// The connection is set up: call [`Handshake::into_client`].
    Done,
    /// The server refused the connection, which is unusable.
    Refused {
        /// The request that was refused.
        request: HandshakeRequest,
        /// The reason.
        refusal: Refusal,
        /// The server's error message: see [`Handshake::reply`].
        frame: Frame,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Replies,
    Done,
    /// The server has refused.
    Refused,
}

/// The state machine of the client's handshake.
#[derive(Debug)]
pub struct Handshake {
    config: HandshakeConfig,
    client: Client,
    limits: Limits,
    state: State,
    /// Whose replies are to come, in order. `None`: they do not matter any more.
    outstanding: VecDeque<Option<HandshakeRequest>>,
    session: Session,
}

impl Handshake {
    /// Creates a handshake, to be driven on a connection on which nothing was sent. `limits` apply to the replies after it.
    pub fn new(config: HandshakeConfig, limits: Limits) -> Self {
        Self {
            config,
            client: Client::new(LIMITS),
            limits,
            state: State::Start,
            outstanding: VecDeque::new(),
            session: Session::new(Protocol::Resp2),
        }
    }

    /// Returns what was agreed on, once the handshake is done.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the server's error message, if it refused the connection.
    pub fn reply<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Reply<'r> {
        self.client.reply(frame, buffers)
    }

    /// Returns the state machine of the connection, and what was agreed on.
    pub fn into_client(self) -> (Client, Session) {
        let mut client = self.client;
        client.set_limits(self.limits);
        // HELLO's answer has more values than most replies.
        client.release();
        (client, self.session)
    }

    fn step(&mut self, buffers: &mut Buffers) -> Result<Step<HandshakeReply>, ProtocolError> {
        if self.state == State::Start {
            self.begin(buffers.output())?;
        }
        while self.state == State::Replies {
            let Some(&request) = self.outstanding.front() else {
                self.state = State::Done;
                break;
            };
            let frame = match self.client.advance(buffers)? {
                Step::Message(Message::Reply(frame)) => frame,
                Step::NeedInput(min) => return Ok(Step::NeedInput(min)),
                // Nothing was asked for that would be told out of band.
                _ => continue,
            };
            self.outstanding.pop_front();
            let Some(request) = request else { continue };
            if let Some(refusal) = self.replied(request, frame, buffers)? {
                self.state = State::Refused;
                return Ok(Step::Message(HandshakeReply::Refused {
                    request,
                    refusal,
                    frame,
                }));
            }
        }
        match self.state {
            State::Refused => Err(ProtocolError::new(ErrorKind::Refused, 0, &[])),
            _ => Ok(Step::Message(HandshakeReply::Done)),
        }
    }

    /// Queues all requests.
    fn begin(&mut self, queue: &mut WriteQueue) -> Result<(), ProtocolError> {
        self.outstanding
            .try_reserve_exact(MAX_REQUESTS)
            .map_err(|_| WireError::OutOfMemory { bytes: 16 })?;
        if self.config.protocol == Some(Protocol::Resp2) {
            self.log_in(queue)?;
        } else {
            self.hello(queue)?;
        }
        for (key, value) in [
            ("LIB-NAME", &self.config.library_name),
            ("LIB-VER", &self.config.library_version),
        ] {
            if let Some(value) = value {
                let words: [&[u8]; 4] = [b"CLIENT", b"SETINFO", key.as_bytes(), value];
                write(queue, &words)?;
                self.outstanding.push_back(Some(HandshakeRequest::SetInfo));
            }
        }
        self.set_up(queue)?;
        self.expect();
        self.state = State::Replies;
        Ok(())
    }

    /// Again, for a server that does not know HELLO or RESP3.
    fn begin_resp2(&mut self, queue: &mut WriteQueue) -> Result<(), ProtocolError> {
        // Without a login they may have been refused; CLIENT SETINFO is younger than HELLO.
        self.outstanding.iter_mut().for_each(|entry| *entry = None);
        self.log_in(queue)?;
        self.set_up(queue)?;
        self.expect();
        Ok(())
    }

    fn expect(&mut self) {
        let known = self.client.in_flight();
        self.client.expect(self.outstanding.len() as u64 - known);
    }

    fn hello(&mut self, queue: &mut WriteQueue) -> Result<(), WireError> {
        let config = &self.config;
        let login = if config.has_login() { 3 } else { 0 };
        let name = if config.client_name.is_some() { 2 } else { 0 };
        let mut writer = RequestWriter::new(queue);
        writer.array(2 + login + name);
        writer.bulk(b"HELLO");
        writer.bulk(b"3");
        if config.has_login() {
            writer.bulk(b"AUTH");
            writer.bulk(config.user.as_deref().unwrap_or(DEFAULT_USER));
            writer.bulk(config.secret());
        }
        if let Some(name) = &config.client_name {
            writer.bulk(b"SETNAME");
            writer.bulk(name);
        }
        writer.end()?;
        self.outstanding.push_back(Some(HandshakeRequest::Hello));
        Ok(())
    }

    /// RESP2's login, and the connection's name.
    fn log_in(&mut self, queue: &mut WriteQueue) -> Result<(), WireError> {
        let config = &self.config;
        if config.has_login() {
            match &config.user {
                Some(user) => write(queue, &[b"AUTH", user, config.secret()])?,
                // Servers before 6.0 know no users.
                None => write(queue, &[b"AUTH", config.secret()])?,
            }
            self.outstanding.push_back(Some(HandshakeRequest::Auth));
        }
        if let Some(name) = &config.client_name {
            write(queue, &[b"CLIENT", b"SETNAME", name])?;
            self.outstanding.push_back(Some(HandshakeRequest::SetName));
        }
        Ok(())
    }

    fn set_up(&mut self, queue: &mut WriteQueue) -> Result<(), WireError> {
        if self.config.database != 0 {
            let mut writer = RequestWriter::new(queue);
            writer.array(2);
            writer.bulk(b"SELECT");
            writer.integer(self.config.database);
            writer.end()?;
            self.outstanding.push_back(Some(HandshakeRequest::Select));
        }
        if self.config.readonly {
            write(queue, &[b"READONLY"])?;
            self.outstanding.push_back(Some(HandshakeRequest::Readonly));
        }
        Ok(())
    }

    /// Takes one reply up; gives why the server refuses, where it does.
    fn replied(
        &mut self,
        request: HandshakeRequest,
        frame: Frame,
        buffers: &mut Buffers,
    ) -> Result<Option<Refusal>, ProtocolError> {
        let reply = self.client.reply(frame, buffers);
        let Some(error) = reply.as_error() else {
            if request == HandshakeRequest::Hello {
                return self.greeted(frame, buffers);
            }
            return Ok(None);
        };
        let refusal = Refusal::of(error);
        if request == HandshakeRequest::SetInfo {
            return Ok(Some(refusal).filter(|refusal| refusal.is_of_connection()));
        }
        let lacks_protocol = refusal == Refusal::NoProto || is_unknown_command(error);
        if request != HandshakeRequest::Hello || !lacks_protocol {
            return Ok(Some(refusal));
        }
        if self.config.protocol.is_some() {
            return Ok(Some(Refusal::NoProto));
        }
        self.begin_resp2(buffers.output())?;
        Ok(None)
    }

    /// The server has answered HELLO.
    fn greeted(
        &mut self,
        frame: Frame,
        buffers: &Buffers,
    ) -> Result<Option<Refusal>, ProtocolError> {
        let reply = self.client.reply(frame, buffers);
        let session = match reply.kind() {
            Kind::Map | Kind::Array => Session::read(reply)?,
            _ => None,
        };
        let Some(session) = session else {
            return Err(self.client.broken(ErrorKind::InvalidHello, frame, buffers));
        };
        self.session = session;
        let is_lesser = self.session.protocol == Protocol::Resp2;
        Ok((is_lesser && self.config.protocol.is_some()).then_some(Refusal::NoProto))
    }
}

impl HandshakeConfig {
    fn has_login(&self) -> bool {
        self.user.is_some() || self.password.is_some()
    }

    fn secret(&self) -> &[u8] {
        self.password.as_ref().map_or(&[], Secret::expose)
    }
}

impl Core for Handshake {
    type Message = HandshakeReply;
    type Error = ProtocolError;

    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<HandshakeReply>, ProtocolError> {
        if let Some(error) = self.client.error() {
            return Err(error);
        }
        self.step(buffers).map_err(|error| self.client.die(error))
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> ProtocolError {
        self.client.handle_eof(buffers)
    }
}

/// Queues a request of a few words.
fn write(queue: &mut WriteQueue, words: &[&[u8]]) -> Result<(), WireError> {
    let mut writer = RequestWriter::new(queue);
    writer.array(words.len());
    for word in words {
        writer.bulk(word);
    }
    writer.end()
}

#[cfg(test)]
mod tests;
