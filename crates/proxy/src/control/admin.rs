//! Administration over MySQL's own protocol: any client logs in and asks.
//!
//! Text statements only, each answered whole from memory. Clear text: it belongs on a Unix socket or a loopback address.

mod digests;
mod routes;
mod rules;
mod show;
mod statement;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use onecopy_mysql_proto::auth::{Channel, Plugin, Verifier, caching_sha2, native_password};
use onecopy_mysql_proto::packet::{Command, CommandByte, ErrPacket, OkPacket};
use onecopy_mysql_proto::server::{
    Account, ServerCore, ServerError, ServerHandshake, ServerHandshakeConfig,
    ServerHandshakeMessage, ServerLimits, ServerMessage,
};
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_net::blocking::{drive, flush};
use onecopy_net::{DriveError, Endpoint};
use onecopy_wire::Buffers;

use super::View;
use super::action::Action;
use super::door::{Door, Guest, Guests};
use crate::config::AdminConfig;
use crate::error::Error;
use crate::log::Event;
use crate::statement_log::Admin;
use statement::Statement;
use table::Table;

/// `ER_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1045;

/// Administrators at a time.
const MAX_CLIENTS: usize = 16;

/// From the greeting to the end of the login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one may say nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(8 * 3600);

/// How often it is looked whether the proxy has ended.
const LOOK: Duration = Duration::from_millis(500);

/// An answer's way out.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// No statement here needs more.
const MAX_COMMAND: u64 = 64 << 10;

/// `mysql_native_password`'s name sits in the greeting: every client has it or says which other it takes.
const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Capabilities::DEPRECATE_EOF);

/// Who may come in.
struct Accounts {
    user: Vec<u8>,
    native: native_password::Verifier,
    caching_sha2: caching_sha2::Verifier,
}

/// Why an administrator's connection is over: nobody is told.
struct Over;

impl<E> From<DriveError<E>> for Over {
    fn from(_: DriveError<E>) -> Self {
        Self
    }
}

impl From<ServerError> for Over {
    fn from(_: ServerError) -> Self {
        Self
    }
}

/// Listens. A Unix socket is for its owner alone.
pub(super) fn open(
    endpoint: &Endpoint,
    config: &AdminConfig,
    view: &Arc<View>,
) -> Result<Door, Error> {
    let accounts = Accounts {
        user: config.user.clone().into_bytes(),
        native: native_password::Verifier::from_password(&config.password),
        caching_sha2: caching_sha2::Verifier::from_password(&config.password),
    };
    let (view, running) = (Arc::clone(view), Arc::clone(view));
    let last_id = AtomicU32::new(0);
    let guests = Guests {
        name: "admin",
        most: MAX_CLIENTS,
        log: view.log().clone(),
        serve: move |mut guest: Guest| {
            let id = last_id.fetch_add(1, Relaxed).wrapping_add(1);
            let _ = serve(&mut guest, id, &accounts, &view);
            guest.stream.shutdown();
        },
    };
    Door::open(endpoint, ("admin", 0o600), running.sockets(), |hall| {
        Ok(move || guests.run(hall))
    })
}

fn serve(guest: &mut Guest, id: u32, accounts: &Accounts, view: &View) -> Result<(), Over> {
    let limits = ServerLimits {
        max_command_bytes: MAX_COMMAND,
        ..ServerLimits::default()
    };
    let mut buffers = Buffers::new(limits.buffer_config());
    let mut core = log_in(guest, id, accounts, &mut buffers, limits, view)?;
    let mut session = Administrator { view, id, guest };
    loop {
        session.guest.stream.release(0);
        buffers.release_to(0);
        let payload = session.receive(&mut core, &mut buffers)?;
        let goes_on = match core.command(&buffers, payload) {
            Ok(command) => {
                let reply = session.reply(&command, core.session().user.as_slice());
                send_reply(&mut core, &mut buffers, reply)
            }
            Err(_) => {
                let reply = Reply::error(1835, *b"08S01", "Malformed communication packet");
                send_reply(&mut core, &mut buffers, reply)
            }
        };
        let deadline = Some(Instant::now() + SEND_TIMEOUT);
        flush::<ServerError>(&mut buffers, &mut session.guest.stream, &(), deadline)?;
        if !goes_on {
            return Ok(());
        }
    }
}

fn log_in(
    guest: &mut Guest,
    id: u32,
    accounts: &Accounts,
    buffers: &mut Buffers,
    limits: ServerLimits,
    view: &View,
) -> Result<ServerCore, Over> {
    let deadline = Some(Instant::now() + LOGIN_TIMEOUT);
    let channel = if guest.stream.is_unix() {
        Channel::UnixSocket
    } else {
        Channel::Plain
    };
    let config = ServerHandshakeConfig {
        server_version: format!("8.0.0-onecopy-{}", env!("CARGO_PKG_VERSION")).into_bytes(),
        connection_id: id,
        nonce: nonce()?,
        capabilities: CAPABILITIES,
        plugin: Plugin::NativePassword,
        collation: table::UTF8MB4,
        channel,
    };
    let mut handshake = ServerHandshake::new(config, limits);
    loop {
        match drive(&mut handshake, buffers, &mut guest.stream, &(), deadline)? {
            ServerHandshakeMessage::User => {
                let sha2 = Plugin::CachingSha2Password.name().as_bytes();
                let verifier = if handshake.client_plugin() == Some(sha2) {
                    Verifier::CachingSha2Password(accounts.caching_sha2.clone())
                } else {
                    Verifier::NativePassword(accounts.native.clone())
                };
                if handshake.session().user != accounts.user {
                    let user = String::from_utf8_lossy(&handshake.session().user).into_owned();
                    let user: String = user.chars().take(64).collect();
                    let message = format!("Access denied for user '{user}'");
                    handshake.reject(
                        buffers,
                        &ErrPacket {
                            code: ACCESS_DENIED,
                            sql_state: Some(*b"28000"),
                            message: message.as_bytes(),
                        },
                    );
                    continue;
                }
                let account = Account {
                    verifier,
                    nonce: None,
                    empty_cache: false,
                };
                handshake.answer(buffers, account)?;
            }
            message => {
                let is_accepted = matches!(message, ServerHandshakeMessage::Accepted);
                let user = String::from_utf8_lossy(&handshake.session().user);
                view.audit(
                    &guest.address,
                    Some(&user),
                    Admin {
                        command: "login",
                        error: if is_accepted { 0 } else { ACCESS_DENIED },
                        ..Admin::default()
                    },
                );
                // Before the client knows: a client that has logged in is not replaced.
                if is_accepted {
                    guest.may_stay();
                }
                flush::<ServerError>(buffers, &mut guest.stream, &(), deadline)?;
                return if is_accepted {
                    Ok(handshake.into_core())
                } else {
                    Err(Over)
                };
            }
        }
    }
}

/// Random bytes without a zero.
fn nonce() -> Result<[u8; 20], Over> {
    let mut nonce = [0; 20];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| Over)?;
    Ok(nonce.map(|byte| byte % 127 + 1))
}

/// What a statement comes to.
enum Reply {
    Ok,
    /// One line of text, without anything around it.
    Line(String),
    Rows(Table),
    Error {
        code: u16,
        sql_state: [u8; 5],
        message: String,
    },
    /// The client goes.
    None,
}

impl Reply {
    fn error(code: u16, sql_state: [u8; 5], message: impl Into<String>) -> Self {
        Self::Error {
            code,
            sql_state,
            message: message.into(),
        }
    }
}

/// One administrator.
struct Administrator<'v> {
    view: &'v View,
    id: u32,
    guest: &'v mut Guest,
}

impl Administrator<'_> {
    /// Waits for a command; in short steps, so that it is seen when the proxy ends.
    fn receive(
        &mut self,
        core: &mut ServerCore,
        buffers: &mut Buffers,
    ) -> Result<onecopy_wire::Span, Over> {
        let idle_since = Instant::now();
        while !self.guest.must_leave() {
            let deadline = Some(Instant::now() + LOOK);
            match drive(core, buffers, &mut self.guest.stream, &(), deadline) {
                Ok(ServerMessage::Command(payload)) => return Ok(payload),
                Ok(ServerMessage::Packet(_)) => return Err(Over),
                Err(DriveError::Timeout) if idle_since.elapsed() < IDLE_TIMEOUT => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Over)
    }

    fn reply(&self, command: &Command<'_>, user: &[u8]) -> Reply {
        match command {
            Command::Quit(_) => Reply::None,
            Command::Ping(_) | Command::InitDb(_) | Command::ResetConnection(_) => Reply::Ok,
            Command::Query(query) => match str::from_utf8(query.sql) {
                Ok(sql) => self.run(sql, user),
                Err(_) => Reply::error(1300, *b"HY000", "the statement is not UTF-8"),
            },
            Command::Prepare(_) => Reply::error(
                1295,
                *b"HY000",
                "This command is not supported in the prepared statement protocol yet",
            ),
            Command::Raw { command, body } => match (*command, *body) {
                (CommandByte::PROCESS_KILL, &[a, b, c, d]) => {
                    self.act(&Action::Kill(None, u32::from_le_bytes([a, b, c, d])))
                }
                (CommandByte::STATISTICS, _) => Reply::Line(show::statistics(self.view)),
                (CommandByte::SET_OPTION, _) => Reply::Ok,
                _ => Reply::error(1047, *b"08S01", "Unknown command"),
            },
            _ => Reply::error(1047, *b"08S01", "Unknown command"),
        }
    }

    fn run(&self, sql: &str, user: &[u8]) -> Reply {
        let statement = match Statement::parse(sql) {
            Ok(statement) => statement,
            Err(why) => return Reply::error(1064, *b"42000", why),
        };
        match statement {
            Statement::Nothing => Reply::error(1065, *b"42000", "Query was empty"),
            Statement::Set => Reply::Ok,
            Statement::Clients => Reply::Rows(show::clients(self.view)),
            Statement::Servers => Reply::Rows(show::servers(self.view)),
            Statement::Stats => Reply::Rows(show::stats(self.view)),
            Statement::Traffic => Reply::Rows(routes::traffic(self.view)),
            Statement::Latencies => Reply::Rows(routes::latencies(self.view)),
            Statement::Buffers => Reply::Rows(show::buffers(self.view)),
            Statement::Pools => Reply::Rows(show::pools(self.view)),
            Statement::Reads => Reply::Rows(show::reads(self.view)),
            Statement::Rules => Reply::Rows(rules::show(self.view)),
            Statement::ExplainRule(question) => Reply::Rows(rules::explain(self.view, &question)),
            Statement::Pins => Reply::Rows(show::pins(self.view)),
            Statement::Digests(limit) => Reply::Rows(digests::show(self.view, limit)),
            Statement::Logs => Reply::Rows(show::logs(self.view)),
            Statement::Users => Reply::Rows(show::users(self.view)),
            Statement::Listeners => Reply::Rows(show::listeners(self.view)),
            Statement::Warnings => Reply::Rows(Table::new([
                ("Level", table::Type::Text),
                ("Code", table::Type::Number),
                ("Message", table::Type::Text),
            ])),
            Statement::Help => Reply::Rows(show::help()),
            Statement::Select(names) => match show::variables(&names, self.id, user) {
                Ok(table) => Reply::Rows(table),
                Err(name) => {
                    let message =
                        format!("Unknown system variable '{name}' (SHOW HELP lists what there is)");
                    Reply::error(1193, *b"HY000", message)
                }
            },
            Statement::Do(action) => self.act(&action),
            Statement::Reload => {
                self.view.log().event(Event::AdminCommand {
                    command: "reload",
                    id: None,
                    name: String::new(),
                    client: self.guest.address.clone(),
                });
                let reloaded = self.view.reload();
                self.audit("reload", if reloaded.is_ok() { 0 } else { 1105 });
                match reloaded {
                    Ok(changes) => {
                        let mut table = Table::new([("Changes", table::Type::Text)]);
                        for line in changes.lines() {
                            table.row([line.into()]);
                        }
                        Reply::Rows(table)
                    }
                    Err(why) => {
                        Reply::error(1105, *b"HY000", format!("Nothing was changed: {why}"))
                    }
                }
            }
        }
    }

    fn audit(&self, command: &'static str, error: u16) {
        let admin = Admin {
            command,
            error,
            ..Admin::default()
        };
        self.view.audit(&self.guest.address, None, admin);
    }

    fn act(&self, action: &Action) -> Reply {
        match action.run(self.view, &self.guest.address) {
            Ok(()) => Reply::Ok,
            Err(error) => {
                let (code, sql_state) = error.code();
                Reply::error(code, sql_state, error.to_string())
            }
        }
    }
}

/// Queues a reply. `false`: the client goes.
fn send_reply(core: &mut ServerCore, buffers: &mut Buffers, reply: Reply) -> bool {
    let ok = OkPacket {
        status_flags: StatusFlags::AUTOCOMMIT,
        ..OkPacket::default()
    };
    match reply {
        Reply::None => return false,
        Reply::Ok => core.ok(buffers, &ok),
        Reply::Line(line) => core.payload(buffers, line.as_bytes()),
        Reply::Rows(table) => table.send(core, buffers, &ok),
        Reply::Error {
            code,
            sql_state,
            message,
        } => core.err(
            buffers,
            &ErrPacket {
                code,
                sql_state: Some(sql_state),
                message: message.as_bytes(),
            },
        ),
    }
    true
}
