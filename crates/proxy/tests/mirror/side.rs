//! One of the two runs: its server, its sessions, and how they come to it.

use std::collections::HashMap;
use std::time::Duration;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Param, Statement, StatusFlags};
use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, AdminConfig, BackendConfig, Config, HealthConfig, HealthLogin, ListenerConfig,
    Mode, PoolConfig, ReplicaReads, Role, Secret,
};
use onecopy_testkit::server::{Builder, Server};

use crate::replication::{direct, follow, is_mariadb, replicating, until};
use crate::reply::{Reply, status};
use crate::script::Step;

pub(crate) struct Side {
    /// Ends before its server.
    sessions: Vec<Option<Session>>,
    config: ClientConfig,
    proxy: Option<Proxy>,
    /// Where its reads go: it has each change before the next step.
    replica: Option<Replica>,
    /// Who has its sessions leave their backend again and again.
    mover: Option<Mover>,
    _server: Server,
}

/// A server that follows the side's server.
struct Replica {
    primary: Connection,
    conn: Connection,
    /// Up to where it has followed.
    position: String,
    is_mariadb: bool,
    _server: Server,
}

impl Replica {
    /// Waits until it has all that the primary has.
    fn catch_up(&mut self) {
        let (position, wait) = match self.is_mariadb {
            true => ("SELECT @@global.gtid_binlog_pos", "MASTER_GTID_WAIT"),
            false => (
                "SELECT @@global.gtid_executed",
                "WAIT_FOR_EXECUTED_GTID_SET",
            ),
        };
        let position: String = self.primary.query_scalar(position).unwrap();
        if position != self.position {
            let wait = format!("SELECT {wait}('{position}', 60)");
            assert_eq!(
                self.conn.query_scalar::<i64>(&wait).unwrap(),
                0,
                "{position}"
            );
            self.position = position;
        }
    }
}

/// Two backends that are one server, of which one is drained at a time.
struct Mover {
    admin: Connection,
    steps: usize,
    moves: usize,
    last: usize,
}

/// Steps from one move to the next.
const STAY: usize = 10;

impl Mover {
    /// Not between a statement and one that asks for its ROW_COUNT() or warnings: those stay behind on the server.
    fn step(&mut self, session: usize) {
        self.steps += 1;
        let is_other = std::mem::replace(&mut self.last, session) != session;
        if is_other && self.steps / STAY > self.moves {
            self.moves += 1;
            let mut names = ["one", "two"];
            names.rotate_left(self.moves % 2);
            let [resumed, drained] = names;
            self.admin.run(format!("RESUME BACKEND {resumed}")).unwrap();
            self.admin.run(format!("DRAIN BACKEND {drained}")).unwrap();
        }
    }

    /// Connections that were made so far, and how often one backend was drained.
    fn moved(&mut self) -> (u64, usize) {
        let mut rows = self.admin.query("SHOW POOLS").unwrap();
        let connects = rows.next().unwrap().unwrap().get("Connects").unwrap();
        rows.finish().unwrap();
        (connects, self.moves)
    }
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
        Self::on(prepared(), sessions, change)
    }

    /// On a server that could have a replica, and has none.
    pub(crate) fn direct_with_log(sessions: usize) -> Self {
        let server = patient(replicating(2)).start().unwrap();
        prepare(&server);
        Self::on(server, sessions, |_| {})
    }

    fn on(server: Server, sessions: usize, change: impl Fn(&mut ClientConfig)) -> Self {
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
        Self::behind_proxy(server, None, sessions, connections, change)
    }

    /// The same with a way to the server over TCP and one over its socket, which are drained in turn.
    pub(crate) fn moving(sessions: usize) -> Self {
        let server = prepared();
        let socket = Endpoint::Unix(server.socket().into());
        let mut side = Self::behind_proxy(server, None, sessions, sessions, |_| {});
        let Some(proxy) = &side.proxy else {
            return side;
        };
        let mut config = proxy.config();
        let backends = &mut config.listeners[0].backends;
        backends.push(BackendConfig::new(socket));
        for (backend, name) in backends.iter_mut().zip(["one", "two"]) {
            backend.name = name.to_owned();
        }
        let pool = &mut config.listeners[0].pool;
        // What a statement has left is never given up for time: only drains move sessions.
        pool.warning_hold = Duration::from_secs(3600);
        pool.connect_rate = None;
        let mut admin = side.config.clone();
        let listening = proxy.admin_address().cloned();
        let Some(Address::Tcp(address)) = listening else {
            panic!("there is no admin listener");
        };
        admin.endpoint = loopback(address.port());
        admin.database = None;
        proxy.reload(config).unwrap();
        side.mover = Some(Mover {
            admin: Connection::connect_with(&admin).unwrap(),
            steps: 0,
            moves: 0,
            last: 0,
        });
        side
    }

    /// Connections that a mover's proxy has made, and how often a backend was drained.
    pub(crate) fn moved(&mut self) -> (u64, usize) {
        self.mover.as_mut().map(Mover::moved).unwrap_or_default()
    }

    /// The same with a replica that all reads go to that can.
    pub(crate) fn reading(
        sessions: usize,
        connections: usize,
        change: impl Fn(&mut ClientConfig),
    ) -> Self {
        let start = |id| patient(replicating(id)).start().unwrap();
        let (server, replica) = (start(1), start(2));
        follow("127.0.0.1", &server, &replica, [&[], &[]]);
        prepare(&server);
        let mut side = Self::behind_proxy(server, Some(replica), sessions, connections, change);
        if let Some(replica) = &mut side.replica {
            replica.catch_up();
        }
        side
    }

    fn behind_proxy(
        server: Server,
        replica: Option<Server>,
        sessions: usize,
        connections: usize,
        change: impl Fn(&mut ClientConfig),
    ) -> Self {
        let backend = |server: &Server| BackendConfig {
            role: match replica {
                Some(_) => Role::Primary,
                None => Role::Any,
            },
            ..BackendConfig::new(loopback(server.port()))
        };
        let password = || Secret::new(server.root_password().as_bytes().to_vec());
        let backends = [Some(&server), replica.as_ref()];
        let account = AccountConfig::new("root", password());
        let proxy = Proxy::start(Config {
            workers: 2,
            health: HealthConfig {
                interval: replica.as_ref().map(|_| Duration::from_millis(200)),
                login: Some(HealthLogin {
                    user: "root".to_owned(),
                    password: password(),
                }),
                ..HealthConfig::default()
            },
            admin: AdminConfig {
                listen: Some(loopback(0)),
                user: "root".to_owned(),
                password: password(),
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
                backends: backends.into_iter().flatten().map(backend).collect(),
                reencrypt_passwords: true,
                replica_reads: replica.as_ref().map(|_| ReplicaReads::default()),
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
        let replica = replica.map(|replica| Replica {
            primary: direct(&server),
            conn: direct(&replica),
            position: String::new(),
            is_mariadb: is_mariadb(&server),
            _server: replica,
        });
        let mut side = Self::new(sessions, config, Some(proxy), server);
        side.replica = replica;
        side
    }

    fn new(sessions: usize, config: ClientConfig, proxy: Option<Proxy>, server: Server) -> Self {
        Self {
            replica: None,
            mover: None,
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

    /// Waits until its replica serves reads.
    pub(crate) fn await_replica(&self) {
        until("the replica serves reads", || {
            let mut conn = Connection::connect_with(&self.config).unwrap();
            conn.query_scalar::<i64>("SELECT @@server_id").unwrap() == 2
        });
    }

    /// The clients that have a connection now, and why they keep it; and their sessions.
    pub(crate) fn keepers(&self) -> (String, Vec<usize>) {
        let snapshot = self.proxy.as_ref().map(|proxy| proxy.snapshot(true));
        let clients = snapshot.map_or_else(Vec::new, |snapshot| snapshot.clients);
        let busy = clients
            .iter()
            .filter(|client| client.backend_id != 0 || !client.pins.is_empty());
        let pools = self.proxy.as_ref().map(|proxy| proxy.snapshot(false).pools);
        let session_of = |id| {
            let is_it = |session: &Option<Session>| {
                (session.as_ref()).is_some_and(|session| session.conn.connection_id() == id)
            };
            self.sessions.iter().position(is_it)
        };
        let sessions = busy.clone().filter_map(|client| session_of(client.id));
        let sessions = sessions.collect();
        let lines: Vec<_> = busy
            .map(|client| {
                format!(
                    "session {:?}, client {} {} on {} pins [{}] in transaction: {}",
                    session_of(client.id),
                    client.id,
                    client.state,
                    client.backend_id,
                    client.pins,
                    client.in_transaction
                )
            })
            .collect();
        (format!("{}\n    {pools:?}", lines.join("\n    ")), sessions)
    }

    /// Runs one step: what came back, and the session's status behind it.
    pub(crate) fn run(&mut self, at: usize, step: &Step) -> (Reply, StatusFlags) {
        if let Some(replica) = &mut self.replica {
            replica.catch_up();
        }
        if let Some(mover) = &mut self.mover {
            mover.step(at);
        }
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
    let server = patient(Server::builder()).start().unwrap();
    prepare(&server);
    server
}

fn patient(server: Builder) -> Builder {
    server
        .argument("--max-connections=400")
        // A statement that waits for a row of another session waits for nothing: steps run one after the other.
        .argument("--innodb-lock-wait-timeout=1")
}

fn prepare(server: &Server) {
    let mut config = ClientConfig::from_url(&server.url()).unwrap();
    config.multi_statements = true;
    let mut conn = Connection::connect_with(&config).unwrap();
    for sql in crate::script::SCHEMA {
        conn.run(*sql).unwrap();
    }
}
