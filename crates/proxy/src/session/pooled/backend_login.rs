//! The proxy's own login to a backend, for a connection that is pooled.

use std::io;

use onecopy_mysql::AwsLc;
use onecopy_mysql_proto::auth::{AuthOptions, Plugin};
use onecopy_mysql_proto::client::{Handshake, HandshakeConfig, HandshakeReply, Limits, TlsDemand};
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{ErrPacket, Greeting};
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_net::TlsConnector;
use onecopy_net::proxy_protocol::Addresses;
use onecopy_wire::{Core, Step};

use super::lost::SERVER_SHUTDOWN;
use crate::backend::{Part, TOO_MANY_CONNECTIONS};
use crate::config::BackendConfig;
use crate::failure::{CLOSED, NOT_CONNECTED};
use crate::pooling::accounts::Account;
use crate::pooling::exchange::{Exchange, put_packet};
use crate::pooling::facts::Facts;
use crate::pooling::refusals::Refusal;
use crate::pooling::setup;
use crate::session::login::half::Half;
use crate::session::peer::Peer;
use onecopy_mysql_proto::packet::CommandByte;

/// `ER_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1045;

/// `ER_UNKNOWN_SYSTEM_VARIABLE`
const UNKNOWN_VARIABLE: u16 = 1193;

/// What a server without the capability is told to be missing.
const LACKS_TRACKING: &str = "it lacks the capability CLIENT_SESSION_TRACK";

/// How far a login is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackendStep {
    Waiting,
    Done,
}

enum State {
    Handshake(Box<Handshake>),
    Tls(Box<Handshake>),
    /// The trackers and the variables are asked for.
    Setup(Box<Setup>),
}

struct Setup {
    exchange: Box<Exchange>,
    rows: Vec<u8>,
}

/// What is known when it is over.
pub(super) struct LoggedIn {
    pub(super) facts: Facts,
    pub(super) connection_id: u32,
    pub(super) status: StatusFlags,
    pub(super) capabilities: Capabilities,
    pub(super) variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Character sets of client, results and connection, and the collation, as they are after a reset; a comma between them.
    pub(super) after_reset: Vec<u8>,
}

/// A login to a backend.
pub(super) struct BackendLogin {
    half: Half,
    state: State,
    tls: Option<TlsConnector>,
    facts: Option<Facts>,
    /// What the server has said in place of a login.
    refusal: Option<Refusal>,
    connection_id: u32,
    capabilities: Capabilities,
    part: Part,
}

/// What is read of the baseline: one row a variable.
const VARIABLES: &[u8] = b"SHOW SESSION VARIABLES";

/// A reset gives a session the character sets of the server, not those of its login; the last one is the collation of results.
const AFTER_RESET: &[u8] =
    b"SELECT CONCAT_WS(',', @@global.character_set_client, @@global.character_set_results, \
    @@global.character_set_connection, @@global.collation_connection, @@global.collation_server)";

impl BackendLogin {
    pub(super) fn new(
        backend: &BackendConfig,
        account: &Account,
        (capabilities, collation): (Option<Capabilities>, Option<u8>),
        part: Part,
        is_unix: bool,
        asks_for_key: bool,
    ) -> Self {
        let config = HandshakeConfig {
            user: account.config.user.clone().into_bytes(),
            password: account.password().clone(),
            is_unix,
            tls: match backend.tls {
                Some(_) => TlsDemand::Required,
                None => TlsDemand::None,
            },
            tls_verifies: backend
                .tls
                .as_ref()
                .is_some_and(|tls| tls.verify() != onecopy_net::Verify::None),
            auth: AuthOptions {
                allowed: backend.auth_plugins,
                server_public_key: backend.public_key.clone(),
                get_server_public_key: asks_for_key,
                password_hash: account.hash().cloned(),
                crypto: &AwsLc,
                ..AuthOptions::default()
            },
            capabilities,
            collation,
            multi_statements: true,
            full_metadata: true,
            attributes: vec![("_client_name".to_owned(), "onecopy-proxy".to_owned())],
            ..HandshakeConfig::default()
        };
        let mut half = Half::new();
        if backend.sends_proxy_header {
            // A connection that clients share speaks for none of them.
            half.buffers.output().push(&Addresses::Local.to_v2());
        }
        Self {
            half,
            state: State::Handshake(Box::new(Handshake::new(config, Limits::default()))),
            tls: backend.tls.clone(),
            facts: None,
            refusal: None,
            connection_id: 0,
            capabilities: Capabilities::empty(),
            part,
        }
    }

    pub(super) fn has_greeted(&self) -> bool {
        self.facts.is_some()
    }

    /// Whether the server has said that user or password are wrong.
    pub(super) fn is_refused(&self) -> bool {
        let refusal = self.refusal.as_ref();
        refusal.is_some_and(|refusal| refusal.code == ACCESS_DENIED)
    }

    /// What the server has said in place of a login.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// What the greeting says, once it is there.
    pub(super) fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// Says why the backend does not let the proxy in.
    pub(super) fn go_on(&mut self, peer: &mut Peer) -> Result<BackendStep, String> {
        loop {
            let failed = |error: io::Error| error.to_string();
            self.half.flush(peer).map_err(failed)?;
            if let State::Tls(_) = self.state {
                match peer.stream.shake_hands() {
                    Ok(true) => {}
                    Ok(false) => return Ok(BackendStep::Waiting),
                    Err(error) => return Err(format!("TLS: {error}")),
                }
                peer.is_readable = true;
                let setup = State::Setup(Box::new(Setup::none()?));
                let State::Tls(mut handshake) = std::mem::replace(&mut self.state, setup) else {
                    return Ok(BackendStep::Waiting);
                };
                handshake
                    .tls_started(&mut self.half.buffers)
                    .map_err(|error| error.to_string())?;
                self.state = State::Handshake(handshake);
                continue;
            }
            let goes_on = match &mut self.state {
                State::Handshake(_) => self.shake_hands(peer)?,
                State::Setup(_) => {
                    if self.set_up()? {
                        return Ok(BackendStep::Done);
                    }
                    false
                }
                State::Tls(_) => false,
            };
            if goes_on {
                continue;
            }
            self.half.flush(peer).map_err(failed)?;
            match self.half.read(peer) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Ok(BackendStep::Waiting),
                Ok(None) => return Err(CLOSED.to_owned()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// One step of the login; `false` where more has to arrive.
    fn shake_hands(&mut self, peer: &mut Peer) -> Result<bool, String> {
        let State::Handshake(handshake) = &mut self.state else {
            return Ok(false);
        };
        if self.facts.is_none() {
            self.facts = facts(self.half.buffers.pending());
        }
        match handshake.advance(&mut self.half.buffers) {
            Err(error) => Err(error.to_string()),
            Ok(Step::NeedInput(n)) => {
                self.half.buffers.need(n, 0);
                Ok(false)
            }
            Ok(Step::StartTls) => {
                let Some(connector) = &self.tls else {
                    return Err("TLS without a configuration for it".to_owned());
                };
                self.half.flush(peer).map_err(|error| error.to_string())?;
                let begun = peer.stream.connect_tls(connector, &self.half.buffers);
                begun.map_err(|error| format!("TLS: {error}"))?;
                let setup = State::Setup(Box::new(Setup::none()?));
                if let State::Handshake(handshake) = std::mem::replace(&mut self.state, setup) {
                    self.state = State::Tls(handshake);
                }
                Ok(true)
            }
            Ok(Step::Message(HandshakeReply::Err(payload))) => {
                let bytes = self.half.buffers.bytes(payload);
                let error = ErrPacket::decode(bytes);
                // One that is shutting down says nothing about this login: others are tried, or it is waited for.
                let refusal = error.ok().filter(|error| error.code != SERVER_SHUTDOWN);
                self.refusal = refusal.map(|error| Refusal {
                    code: error.code,
                    sql_state: error.sql_state.or(match error.code {
                        TOO_MANY_CONNECTIONS => Some(*b"08004"),
                        _ => None,
                    }),
                    message: String::from_utf8_lossy(error.message).into_owned(),
                    is_of_server: self.facts.is_none(),
                });
                Err(match error {
                    Ok(error) => format!(
                        "{} ({})",
                        String::from_utf8_lossy(error.message),
                        error.code
                    ),
                    Err(_) => "it refused the login".to_owned(),
                })
            }
            Ok(Step::Message(HandshakeReply::Done)) => {
                let setup = State::Setup(Box::new(Setup::none()?));
                let State::Handshake(handshake) = std::mem::replace(&mut self.state, setup) else {
                    return Ok(false);
                };
                let core = handshake.into_core();
                self.connection_id = core.session().connection_id;
                self.capabilities = core.session().capabilities;
                if !self.capabilities.contains(Capabilities::SESSION_TRACK) {
                    return Err(self.reports_nothing(LACKS_TRACKING));
                }
                let mut out = Vec::new();
                setup::put_trackers(&mut out, self.capabilities, self.part);
                put_packet(&mut out, CommandByte::QUERY, VARIABLES);
                put_packet(&mut out, CommandByte::QUERY, AFTER_RESET);
                let exchange = Exchange::new(self.capabilities, &out);
                let exchange = exchange.map_err(|error| error.to_string())?;
                self.half.buffers.output().push(&out);
                self.state = State::Setup(Box::new(Setup {
                    exchange,
                    rows: Vec::new(),
                }));
                Ok(true)
            }
        }
    }

    /// The server can't be shared, as it does not report what changes in a session: what one client sets, the next one would find.
    fn reports_nothing(&mut self, why: &str) -> String {
        let message = format!(
            "it does not report what changes in a session ({why}), so clients can't share its connections; use a listener with mode = \"pass\""
        );
        self.refusal = Some(Refusal {
            code: NOT_CONNECTED,
            sql_state: None,
            message: format!("Can't connect to a MySQL server for this client: {message}"),
            is_of_server: true,
        });
        message
    }

    /// Whether the trackers are on and all variables are known.
    fn set_up(&mut self) -> Result<bool, String> {
        let State::Setup(setup) = &mut self.state else {
            return Ok(false);
        };
        let pending = self.half.buffers.pending();
        let (n, need) = setup
            .exchange
            .feed(pending)
            .map_err(|error| error.to_string())?;
        setup
            .rows
            .extend_from_slice(pending.get(..n).unwrap_or_default());
        let _ = self.half.buffers.consume(n);
        self.half.buffers.need(need, 0);
        if let Some(error) = setup.exchange.error() {
            let (code, text) = ErrPacket::decode(error).map_or_else(
                |_| Default::default(),
                |error| {
                    (
                        error.code,
                        String::from_utf8_lossy(error.message).into_owned(),
                    )
                },
            );
            return Err(match code {
                UNKNOWN_VARIABLE => self.reports_nothing(&text),
                _ => format!(
                    "it can't be asked to report what changes in a session: {text} ({code})"
                ),
            });
        }
        Ok(setup.exchange.is_over())
    }

    pub(super) fn finish(self) -> LoggedIn {
        let (rows, after_reset) = match self.state {
            State::Setup(setup) => (
                variables(&setup.rows),
                setup.exchange.value.unwrap_or_default(),
            ),
            _ => Default::default(),
        };
        LoggedIn {
            facts: self.facts.unwrap_or(Facts {
                version: Vec::new(),
                capabilities: self.capabilities,
                collation: 45,
                plugin: Plugin::NativePassword,
            }),
            connection_id: self.connection_id,
            status: StatusFlags::AUTOCOMMIT,
            capabilities: self.capabilities,
            variables: rows,
            after_reset,
        }
    }
}

impl Setup {
    fn none() -> Result<Self, String> {
        let exchange = Exchange::new(Capabilities::PROTOCOL_41, &[]);
        Ok(Self {
            exchange: exchange.map_err(|error| error.to_string())?,
            rows: Vec::new(),
        })
    }
}

/// What a greeting says that has arrived as a whole.
fn facts(pending: &[u8]) -> Option<Facts> {
    let (&[a, b, c, _], behind) = pending.split_first_chunk::<HEADER_BYTES>()?;
    let len = u32::from_le_bytes([a, b, c, 0]) as usize;
    let greeting = Greeting::decode(behind.get(..len)?).ok()?;
    let plugin = match greeting.auth_plugin {
        Some(name) if name == Plugin::CachingSha2Password.name().as_bytes() => {
            Plugin::CachingSha2Password
        }
        _ => Plugin::NativePassword,
    };
    Some(Facts {
        version: greeting.server_version.to_vec(),
        capabilities: greeting.capabilities,
        collation: greeting.collation,
        plugin,
    })
}

/// The rows of two columns among packets.
fn variables(packets: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut rest = packets;
    while let Some((&[a, b, c, _], behind)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let len = u32::from_le_bytes([a, b, c, 0]) as usize;
        let Some(payload) = behind.get(..len) else {
            break;
        };
        rest = behind.get(len..).unwrap_or_default();
        if let Some((name, value)) = two_texts(payload) {
            rows.push((name.to_vec(), value.to_vec()));
        }
    }
    rows
}

/// A row's two texts; no definition of a column looks like that, as it has six.
fn two_texts(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = text(payload)?;
    let (value, rest) = text(rest)?;
    rest.is_empty().then_some((name, value))
}

fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let (len, rest) = match (first, rest) {
        (0xFC, [a, b, rest @ ..]) => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        (0..=0xFA, rest) => (usize::from(first), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}
