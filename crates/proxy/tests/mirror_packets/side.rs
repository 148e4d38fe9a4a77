//! One of the two runs: its server, its sessions, and how they come to it.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode, PoolConfig, Secret,
};
use onecopy_testkit::server::{Server, ServerKind};

use crate::reply::Reply;
use crate::step::Step;
use crate::wire::Wire;

pub(crate) struct Side {
    /// End before their server.
    sessions: Vec<Option<Wire>>,
    /// What each session has beside the usual capabilities.
    capabilities: Vec<Capabilities>,
    port: u16,
    reports_any_switch: bool,
    reports_transactions: bool,
    proxy: Option<Proxy>,
    server: Server,
}

fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

impl Side {
    pub(crate) fn direct(capabilities: &[Capabilities], schema: &[String]) -> Self {
        let server = prepared(schema);
        let (reports_any_switch, reports_transactions) = reports(&server);
        Self {
            sessions: capabilities.iter().map(|_| None).collect(),
            capabilities: capabilities.to_vec(),
            port: server.port(),
            reports_any_switch,
            reports_transactions,
            proxy: None,
            server,
        }
    }

    /// Through a proxy in this mode; shared connections are at most so many.
    pub(crate) fn proxied(
        mode: Mode,
        pool: PoolConfig,
        capabilities: &[Capabilities],
        schema: &[String],
    ) -> Self {
        let mut side = Self::direct(capabilities, schema);
        let account = AccountConfig::new(
            "root",
            Secret::new(side.server.root_password().as_bytes().to_vec()),
        );
        let accounts = match mode.is_pooled() {
            true => vec![account],
            false => Vec::new(),
        };
        let proxy = Proxy::start(Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            listeners: vec![ListenerConfig {
                listen: vec![loopback(0)],
                mode,
                accounts,
                pool,
                backends: vec![BackendConfig::new(loopback(side.server.port()))],
                ..ListenerConfig::default()
            }],
            ..Config::default()
        })
        .unwrap();
        side.port = proxy.tcp_address().unwrap().port();
        side.proxy = Some(proxy);
        side
    }

    pub(crate) fn kind(&self) -> ServerKind {
        self.server.kind()
    }

    /// Whether a session has a connection.
    pub(crate) fn is_connected(&self, at: usize) -> bool {
        self.sessions[at].is_some()
    }

    /// A new client, with a schema or without.
    pub(crate) fn connect(&mut self, at: usize, database: Option<&str>) {
        let password = self.server.root_password();
        let more = self.capabilities[at];
        let mut wire = Wire::connect(self.port, password, database, more);
        wire.reports_any_switch = self.reports_any_switch;
        wire.reports_transactions = self.reports_transactions;
        self.sessions[at] = Some(wire);
    }

    /// Sends a step, whose reply is to be received.
    pub(crate) fn send(&mut self, at: usize, step: &Step) {
        if let Some(wire) = &mut self.sessions[at] {
            // A connection that has ended says so when the reply is read.
            let _ = wire.send(step);
        }
        if step.is_end() {
            self.sessions[at] = None;
        }
    }

    /// What came back, and the session's status behind it.
    pub(crate) fn receive(&mut self, at: usize, step: &Step) -> (Reply, StatusFlags) {
        let Some(wire) = &mut self.sessions[at] else {
            return (Reply::default(), StatusFlags::AUTOCOMMIT);
        };
        let reply = wire.receive(step);
        let status = wire.status;
        if reply.is_closed() {
            self.sessions[at] = None;
        }
        (reply, status)
    }

    /// Why a session keeps its connection; empty where it does not.
    pub(crate) fn pins_of(&self, at: usize) -> String {
        let (Some(proxy), Some(wire)) = (&self.proxy, &self.sessions[at]) else {
            return String::new();
        };
        let clients = proxy.snapshot(true).clients;
        let client = clients.into_iter().find(|client| client.id == wire.id);
        client.map_or_else(String::new, |client| client.pins.to_string())
    }

    /// The sessions that keep a connection for more than their last command.
    pub(crate) fn keeping(&self) -> Vec<usize> {
        let Some(proxy) = &self.proxy else {
            return Vec::new();
        };
        let clients = proxy.snapshot(true).clients;
        let keeping = clients
            .iter()
            .filter(|client| !client.pins.is_empty() || client.in_transaction);
        // Not those that are about to end.
        let is_of = |id| move |wire: &Option<Wire>| wire.as_ref().is_some_and(|wire| wire.id == id);
        keeping
            .filter_map(|client| self.sessions.iter().position(is_of(client.id)))
            .collect()
    }

    /// Of shared connections: the sessions that have them, and why.
    pub(crate) fn keepers(&self) -> Vec<(Option<usize>, String)> {
        let Some(proxy) = &self.proxy else {
            return Vec::new();
        };
        let clients = proxy.snapshot(true).clients;
        let busy = clients
            .iter()
            .filter(|client| client.backend_id != 0 || !client.pins.is_empty());
        busy.map(|client| {
            let session = self.sessions.iter().position(|wire| {
                wire.as_ref()
                    .is_some_and(|wire| u64::from(wire.id) == u64::from(client.id))
            });
            let text = format!(
                "{} on {} pins [{}] in transaction: {}",
                client.state, client.backend_id, client.pins, client.in_transaction
            );
            (session, text)
        })
        .collect()
    }
}

/// Whether it reports that another switch was set as if that were autocommit, as MariaDB 11.8 does, and what state a transaction is
/// in without being asked for it, as MySQL 9.7 does.
fn reports(server: &Server) -> (bool, bool) {
    let track = Capabilities::SESSION_TRACK;
    let mut wire = Wire::connect(server.port(), server.root_password(), None, track);
    let mut reply_to = |sql: &str| {
        let step = Step::Query(sql.to_owned());
        wire.send(&step).unwrap();
        wire.receive(&step)
    };
    let any_switch = reply_to("SET sql_big_selects = 1").tells_of_autocommit();
    (any_switch, reply_to("BEGIN").tells_of_transaction_state())
}

/// A server of its own with the tables of the script.
fn prepared(schema: &[String]) -> Server {
    let server = Server::builder()
        .argument("--max-connections=400")
        .argument("--innodb-lock-wait-timeout=10")
        .start()
        .unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    for sql in schema {
        // A server that lacks something lacks it on both sides.
        if let Err(error) = conn.run(sql.as_str()) {
            assert!(error.server().is_some(), "{sql}: {error}");
        }
    }
    server
}
