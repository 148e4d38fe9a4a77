//! What the proxy counts of a session is what the server counts of its thread, also where the way to it is compressed.
#![allow(clippy::unwrap_used)]

mod failures;
mod raw;
mod scripts;

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_net::Endpoint;
use onecopy_proxy::config::{BackendConfig, Config, ListenerConfig};
use onecopy_proxy::{ClientInfo, Proxy};
use onecopy_testkit::server::{Server, ServerKind};

use raw::Raw;
use scripts::{SCRIPTS, Script};

const PING: u8 = 0x0E;

/// MySQL's capabilities without those of a way to end rows.
const COMMON: Capabilities = Capabilities::LONG_FLAG
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS);

#[test]
fn the_proxys_account_of_every_script_is_the_servers() {
    let server = server();
    let compressed = Some(Method::new(Algorithm::Zlib, 1));
    let mut watcher = Watcher::new(&server);
    for way in [None, compressed] {
        let proxy = start(server.port(), way);
        for script in SCRIPTS {
            for ends in [Capabilities::default(), Capabilities::DEPRECATE_EOF] {
                let capabilities = capabilities(server.kind()) | ends;
                watcher.wait_for_quiet();
                let mut raw = Raw::connect(proxy.tcp_address().unwrap().port(), capabilities);
                compare(script, &mut raw, &proxy, &mut watcher);
            }
        }
    }
}

/// One that counts all that is compared.
fn server() -> Server {
    Server::builder()
        .root_password("")
        .argument("--performance-schema=ON")
        .argument("--performance-schema-instrument=transaction=ON")
        .argument("--performance-schema-consumer-events-transactions-current=ON")
        .argument("--local-infile=ON")
        .start()
        .unwrap()
}

#[test]
fn what_errors_do_to_transactions_is_known() {
    let server = server();
    let proxy = start(server.port(), None);
    let mut watcher = Watcher::new(&server);
    for sql in [
        "CREATE TABLE test.failures (a INT PRIMARY KEY, b INT) ENGINE = InnoDB",
        "INSERT INTO test.failures VALUES (1, 0), (2, 0), (3, 0), (4, 0)",
        "CREATE PROCEDURE test.failing() BEGIN COMMIT; SELECT * FROM not_there; END",
    ] {
        watcher.conn.run(sql).unwrap();
    }
    for failure in failures::FAILURES {
        failure.compare(&proxy, &mut watcher, server.kind());
    }
}

/// What clients ask for here of a server.
fn capabilities(kind: ServerKind) -> Capabilities {
    match kind {
        ServerKind::MySql => COMMON | Capabilities::LONG_PASSWORD,
        ServerKind::MariaDb => COMMON,
    }
}

fn start(port: u16, compression: Option<Method>) -> Proxy {
    let loopback = |port| Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    let config = Config {
        workers: 2,
        listeners: vec![ListenerConfig {
            listen: vec![loopback(0)],
            backends: vec![BackendConfig {
                compression,
                ..BackendConfig::new(loopback(port))
            }],
            ..ListenerConfig::default()
        }],
        // A script has no part for a health check, and an account is one session's alone.
        health: onecopy_proxy::config::HealthConfig {
            interval: None,
            ..onecopy_proxy::config::HealthConfig::default()
        },
        ..Config::default()
    };
    Proxy::start(config).unwrap()
}

/// Plays a script and asks both for their account of it.
fn compare(script: &Script, raw: &mut Raw, proxy: &Proxy, watcher: &mut Watcher) {
    let name = script.name;
    let mut pings = 0;
    let before = Account::both(raw, proxy, watcher, &mut pings);
    assert_eq!(before.0.open(), before.1.open(), "before: {name}");
    (script.play)(raw);
    let after = Account::both(raw, proxy, watcher, &mut pings);
    let server = after.1.commands - before.1.commands - script.more_statements;
    assert_eq!(
        (after.0.commands - before.0.commands, after.0.open()),
        (server, after.1.open()),
        "the proxy's commands, statements, transaction, and the server's: {name}"
    );
    assert_eq!(after.0.open(), script.leaves, "what is left open: {name}");
}

/// What one of them knows of a session.
#[derive(Debug)]
struct Account {
    commands: u64,
    statements: usize,
    in_transaction: bool,
}

impl Account {
    /// The proxy's and the server's, behind a ping by which each has heard of all before.
    fn both(raw: &mut Raw, proxy: &Proxy, watcher: &mut Watcher, pings: &mut u64) -> (Self, Self) {
        raw.simple(PING, b"");
        *pings += 1;
        watcher.wait_for_pings(raw.id, *pings);
        let client = client(proxy, raw.id);
        let of_proxy = Self {
            commands: client.commands,
            statements: client.statements,
            in_transaction: client.in_transaction,
        };
        (of_proxy, watcher.account(raw.id))
    }

    fn open(&self) -> (usize, bool) {
        (self.statements, self.in_transaction)
    }
}

fn client(proxy: &Proxy, id: u32) -> ClientInfo {
    let clients = proxy.snapshot(true).clients;
    clients.into_iter().find(|client| client.id == id).unwrap()
}

/// Looks at the server's threads from a connection of its own, which does not go through the proxy.
struct Watcher {
    conn: Connection,
}

impl Watcher {
    fn new(server: &Server) -> Self {
        Self {
            conn: Connection::connect(&server.url()).unwrap(),
        }
    }

    /// A statement is counted when it ends, which is a little later than its reply: waits until the last ping is. Scripts must not ping.
    fn wait_for_pings(&mut self, id: u32, pings: u64) {
        let sql =
            format!("{COUNTED} AND EVENT_NAME = 'statement/com/Ping' AND PROCESSLIST_ID = {id}");
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.number(&sql) < pings {
            assert!(Instant::now() < deadline, "the server counts no ping");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn account(&mut self, id: u32) -> Account {
        let thread = format!("PROCESSLIST_ID = {id}");
        // Statements of a procedure are none of the client's.
        let commands = format!("{COUNTED} AND EVENT_NAME NOT LIKE 'statement/sp/%' AND {thread}");
        // Those of EXECUTE and its like are none of the protocol's.
        let named = format!(
            "SELECT COUNT(*) FROM performance_schema.prepared_statements_instances i \
             JOIN performance_schema.threads t ON t.THREAD_ID = i.OWNER_THREAD_ID \
             WHERE i.STATEMENT_NAME IS NOT NULL AND {thread}"
        );
        let transactions = format!(
            "SELECT COUNT(*) FROM performance_schema.events_transactions_current e \
             JOIN performance_schema.threads t USING (THREAD_ID) \
             WHERE e.STATE = 'ACTIVE' AND e.AUTOCOMMIT = 'NO' AND {thread}"
        );
        Account {
            commands: self.number(&commands),
            statements: usize::try_from(self.statements() - self.number(&named)).unwrap(),
            in_transaction: self.number(&transactions) > 0,
        }
    }

    /// Prepared statements of all connections: one of the scripts' is there at a time. The table of them is no account: MySQL
    /// 9.7 loses one of a CALL there once it was executed.
    fn statements(&mut self) -> u64 {
        let mut rows = self
            .conn
            .query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
            .unwrap();
        let row = rows.next().unwrap().unwrap();
        let count: String = row.get(1).unwrap();
        rows.finish().unwrap();
        count.parse().unwrap()
    }

    /// Waits for the end of the connection before.
    fn wait_for_quiet(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.statements() > 0 {
            assert!(Instant::now() < deadline, "statements are left");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn number(&mut self, sql: &str) -> u64 {
        let mut rows = self.conn.query(sql).unwrap();
        let number = rows.next().unwrap().unwrap().get(0).unwrap();
        rows.finish().unwrap();
        number
    }
}

/// Statements that ended, by the server's count.
const COUNTED: &str = "SELECT CAST(COALESCE(SUM(s.COUNT_STAR), 0) AS UNSIGNED) \
    FROM performance_schema.events_statements_summary_by_thread_by_event_name s \
    JOIN performance_schema.threads t USING (THREAD_ID) WHERE 1";
