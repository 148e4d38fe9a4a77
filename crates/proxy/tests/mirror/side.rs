//! One of the two runs: its server, its sessions, and how they come to it.

use std::collections::HashMap;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Param, Statement, StatusFlags};
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, HealthConfig, ListenerConfig, Mode, PoolConfig, Secret,
};
use onecopy_testkit::server::Server;

use crate::reply::{Reply, status};
use crate::script::Step;

pub(crate) struct Side {
    /// Ends before its server.
    sessions: Vec<Option<Session>>,
    config: ClientConfig,
    proxy: Option<Proxy>,
    _server: Server,
}

struct Session {
    conn: Connection,
    statements: HashMap<usize, Statement>,
}

fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

impl Side {
    pub(crate) fn direct(sessions: usize, change: impl Fn(&mut ClientConfig)) -> Self {
        let server = prepared();
        let mut config = ClientConfig::from_url(&server.url()).unwrap();
        config.multi_statements = true;
        change(&mut config);
        Self::new(sessions, config, None, server)
    }

    pub(crate) fn pooled(
        sessions: usize,
        connections: usize,
        change: impl Fn(&mut ClientConfig),
    ) -> Self {
        let server = prepared();
        let account = AccountConfig::new(
            "root",
            Secret::new(server.root_password().as_bytes().to_vec()),
        );
        let proxy = Proxy::start(Config {
            workers: 2,
            health: HealthConfig {
                interval: None,
                ..HealthConfig::default()
            },
            listeners: vec![ListenerConfig {
                listen: vec![loopback(0)],
                mode: Mode::Transaction,
                accounts: vec![account],
                pool: PoolConfig {
                    max: connections,
                    warning_hold: std::time::Duration::from_millis(1),
                    ..PoolConfig::default()
                },
                backends: vec![BackendConfig::new(loopback(server.port()))],
                ..ListenerConfig::default()
            }],
            ..Config::default()
        })
        .unwrap();
        let url = server.url().replace(
            &format!(":{}", server.port()),
            &format!(":{}", proxy.tcp_address().unwrap().port()),
        );
        let mut config = ClientConfig::from_url(&url).unwrap();
        config.multi_statements = true;
        change(&mut config);
        Self::new(sessions, config, Some(proxy), server)
    }

    fn new(sessions: usize, config: ClientConfig, proxy: Option<Proxy>, server: Server) -> Self {
        Self {
            sessions: (0..sessions).map(|_| None).collect(),
            config,
            proxy,
            _server: server,
        }
    }

    fn session(&mut self, at: usize) -> &mut Session {
        let config = &self.config;
        self.sessions[at].get_or_insert_with(|| Session {
            conn: Connection::connect_with(config).unwrap(),
            statements: HashMap::new(),
        })
    }

    /// The sessions share one connection more.
    pub(crate) fn add_connection(&self) {
        if let Some(proxy) = &self.proxy {
            let mut config = proxy.config();
            config.listeners[0].pool.max += 1;
            proxy.reload(config).unwrap();
        }
    }

    /// The clients that have a connection now, and why they keep it.
    pub(crate) fn keepers(&self) -> String {
        let snapshot = self.proxy.as_ref().map(|proxy| proxy.snapshot(true));
        let clients = snapshot.map_or_else(Vec::new, |snapshot| snapshot.clients);
        let busy = clients
            .iter()
            .filter(|client| client.backend_id != 0 || !client.pins.is_empty());
        let pools = self.proxy.as_ref().map(|proxy| proxy.snapshot(false).pools);
        let lines: Vec<_> = busy
            .map(|client| {
                format!(
                    "client {} {} on {} pins [{}] in transaction: {}",
                    client.id, client.state, client.backend_id, client.pins, client.in_transaction
                )
            })
            .collect();
        format!("{}\n    {pools:?}", lines.join("\n    "))
    }

    /// Runs one step: what came back, and the session's status behind it.
    pub(crate) fn run(&mut self, at: usize, step: &Step) -> (Reply, StatusFlags) {
        if let Step::Die = step {
            if let Some(session) = self.sessions[at].take() {
                // Without a word: its socket closes.
                drop(session);
            }
            return (Reply::Nothing, StatusFlags::AUTOCOMMIT);
        }
        let session = self.session(at);
        let Session { conn, statements } = session;
        let reply = match step {
            Step::Query(sql) => Reply::of(conn.query(sql.as_str())),
            Step::Ping => Reply::ok(conn.ping()),
            Step::Reset => {
                statements.clear();
                Reply::ok(conn.reset())
            }
            Step::UseDatabase(name) => Reply::ok(conn.use_database(name)),
            Step::Prepare(slot, sql) => {
                if let Some(old) = statements.remove(slot) {
                    conn.close_statement(old).unwrap();
                }
                match conn.prepare(sql.as_str()) {
                    Ok(statement) => {
                        statements.insert(*slot, statement);
                        Reply::Nothing
                    }
                    Err(error) => Reply::ok(Err(error)),
                }
            }
            Step::Execute(slot, params) => match statements.get(slot) {
                Some(statement) => {
                    let params: Vec<Param<'_>> = params.iter().map(|&n| n.into()).collect();
                    Reply::of(conn.execute(statement, &params))
                }
                None => Reply::Nothing,
            },
            Step::Close(slot) => match statements.remove(slot) {
                Some(statement) => Reply::ok(conn.close_statement(statement)),
                None => Reply::Nothing,
            },
            Step::Die => Reply::Nothing,
        };
        (reply, status(conn.status()))
    }
}

/// A server of its own with the tables of the script.
fn prepared() -> Server {
    let server = Server::builder()
        .argument("--max-connections=400")
        // A statement that waits for a row of another session waits for nothing: steps run one after the other.
        .argument("--innodb-lock-wait-timeout=1")
        .start()
        .unwrap();
    let mut config = ClientConfig::from_url(&server.url()).unwrap();
    config.multi_statements = true;
    let mut conn = Connection::connect_with(&config).unwrap();
    for sql in crate::script::SCHEMA {
        conn.run(*sql).unwrap();
    }
    server
}
