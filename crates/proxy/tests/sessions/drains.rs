//! Transactions while sessions are sent away: none is broken, and what clients were told is what the server has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::server::{Server, shared};

use crate::basics::text;
use crate::common::{listener, loopback, server_port, start, until, url};

/// What a client was told: transactions that were committed, which statement of one failed, and whether by a closed connection.
#[derive(Default)]
struct Told {
    committed: u64,
    failed: Vec<(usize, bool)>,
}

/// Clients that commit one row after the other, and come again where they are sent away, until nobody lets them in.
struct Clerks {
    table: &'static str,
    is_over: Arc<AtomicBool>,
    /// The transactions of each.
    committed: Arc<[AtomicU64]>,
    threads: Vec<JoinHandle<Told>>,
}

impl Clerks {
    /// Each is logged in, and has committed a row, when this returns.
    fn start(proxy: &Proxy, table: &'static str, count: usize) -> Self {
        let mut admin = Connection::connect(&shared().url()).unwrap();
        admin.run(format!("DROP TABLE IF EXISTS {table}")).unwrap();
        let sql = format!("CREATE TABLE {table} (clerk INT) ENGINE = InnoDB");
        admin.run(&sql).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let committed: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
        let clerk = |number: usize| {
            let url = url(proxy);
            let (is_over, committed) = (Arc::clone(&is_over), Arc::clone(&committed));
            let transaction = [
                "BEGIN".to_owned(),
                format!("INSERT INTO {table} VALUES ({number})"),
                format!("SELECT COUNT(*) FROM {table}"),
                "COMMIT".to_owned(),
            ];
            std::thread::spawn(move || {
                let mut told = Told::default();
                while let Ok(mut conn) = Connection::connect(&url) {
                    while let Ok(()) = commit(&mut conn, &transaction, &mut told) {
                        committed[number].fetch_add(1, SeqCst);
                        if is_over.load(SeqCst) {
                            return told;
                        }
                    }
                }
                told
            })
        };
        let threads = (0..count).map(clerk).collect();
        let clerks = Self {
            table,
            is_over,
            committed,
            threads,
        };
        until("a transaction of each", || {
            clerks.committed().all(|committed| committed > 0)
        });
        clerks
    }

    fn committed(&self) -> impl Iterator<Item = u64> {
        self.committed
            .iter()
            .map(|committed| committed.load(SeqCst))
    }

    /// Waits for so many transactions more.
    fn wait(&self, more: u64) {
        let enough = self.committed().sum::<u64>() + more;
        until("the transactions", || {
            self.committed().sum::<u64>() >= enough
        });
    }

    /// As [`failed`](Self::failed), where they are let in.
    fn end(self) -> Vec<(usize, bool)> {
        self.is_over.store(true, SeqCst);
        self.failed()
    }

    /// What failed, when all have ended; all that was committed is there, and nothing else.
    fn failed(self) -> Vec<(usize, bool)> {
        let threads = self.threads.into_iter();
        let told: Vec<_> = threads.map(|thread| thread.join().unwrap()).collect();
        let mut admin = Connection::connect(&shared().url()).unwrap();
        let rows = text(&mut admin, &format!("SELECT COUNT(*) FROM {}", self.table));
        let committed: u64 = told.iter().map(|told| told.committed).sum();
        assert_eq!(rows, committed.to_string());
        told.into_iter().flat_map(|told| told.failed).collect()
    }
}

fn commit(
    conn: &mut Connection,
    transaction: &[String],
    told: &mut Told,
) -> Result<(), Box<Error>> {
    for (step, statement) in transaction.iter().enumerate() {
        if let Err(error) = conn.run(statement) {
            told.failed.push((step, error.is_closed()));
            return Err(Box::new(error));
        }
    }
    told.committed += 1;
    Ok(())
}

#[test]
fn a_drain_breaks_no_transaction() {
    let proxy = start(|config| config.drain.timeout = Duration::from_secs(600));
    let clerks = Clerks::start(&proxy, "a_drain_breaks", 6);
    clerks.wait(100);
    proxy.drain();
    until("the drain", || proxy.is_drained());
    // Each before its first statement: by error 1053, whether it asked before or after that was said.
    assert_eq!(clerks.failed(), [(0, true); 6]);
}

#[test]
fn a_backend_that_goes_takes_its_own_sessions_along_between_transactions() {
    let backends: Vec<_> = ["127.0.0.1", "localhost"]
        .map(|host| {
            BackendConfig::new(Endpoint::Tcp {
                host: host.into(),
                port: server_port(),
            })
        })
        .to_vec();
    let proxy = start(|config| {
        config.drain.timeout = Duration::from_secs(600);
        config.listeners = vec![listener(backends.clone())];
    });
    let clerks = Clerks::start(&proxy, "a_backend_that_goes", 6);
    clerks.wait(100);
    let sessions = || -> Vec<_> { proxy.servers().iter().map(|server| server.1).collect() };
    assert_eq!(sessions(), [3, 3]);
    let mut config = proxy.config();
    config.listeners[0].backends.pop();
    proxy.reload(config).unwrap();
    until("the move", || sessions() == [6]);
    clerks.wait(100);
    assert_eq!(clerks.end(), [(0, true); 3]);
}

#[test]
fn the_server_is_told_that_sessions_leave() {
    let aborted = |conn: &mut Connection| {
        let sql = "SHOW GLOBAL STATUS LIKE 'Aborted_clients'";
        let mut rows = conn.query(sql).unwrap();
        let row = rows.next().unwrap().unwrap();
        let count: String = row.get(1).unwrap();
        rows.finish().unwrap();
        count
    };
    // Nobody else's sessions are aborted here.
    let server = Server::start().unwrap();
    let mut admin = Connection::connect(&server.url()).unwrap();
    let before = aborted(&mut admin);
    let backend = BackendConfig::new(loopback(server.port()));
    let proxy = start(|config| config.listeners = vec![listener(vec![backend])]);
    let port = proxy.tcp_address().unwrap().port();
    let url = server
        .url()
        .replace(&format!(":{}", server.port()), &format!(":{port}"));
    let _idle: Vec<_> = (0..3).map(|_| Connection::connect(&url).unwrap()).collect();
    proxy.drain();
    until("the drain", || proxy.is_drained());
    let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'";
    until("the end of the server's threads", || {
        text(&mut admin, sql) == "1"
    });
    assert_eq!(aborted(&mut admin), before);
}
