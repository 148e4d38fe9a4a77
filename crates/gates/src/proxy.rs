//! The proxy: the look at statements, the difference of two states, and a whole worker between clients and a server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use onecopy_mysql_proto::packet::CommandByte;
use onecopy_net::Endpoint;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config, ListenerConfig, Mode, PoolConfig, Secret,
};
use onecopy_proxy::measure::{self, TurnedWorker};

use crate::peer::proxied::{Client, SELECT_LARGE, Server, USER, VARIABLES, command};
use crate::workload::Body;

/// A point select of sysbench.
const SELECT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=4711";

/// A statement that is looked at.
pub(crate) struct Look(Vec<u8>);

impl Look {
    pub(crate) fn select() -> Self {
        Self(SELECT.to_vec())
    }

    /// An INSERT of rows up to so many bytes.
    pub(crate) fn insert(bytes: usize) -> Self {
        let mut text = b"INSERT INTO sbtest1 (id, k, c, pad) VALUES".to_vec();
        let mut number = 0;
        loop {
            number += 1;
            let row = format!(
                " ({number}, {}, 'a text of a row, with ''quotes'' in it', \"another one\"),",
                number * 17
            );
            if text.len() + row.len() > bytes {
                break;
            }
            text.extend_from_slice(row.as_bytes());
        }
        // The last one has a value that is as long as what is left.
        let rest = bytes - text.len();
        text.extend(std::iter::repeat_n(b'7', rest));
        Self(text)
    }
}

impl Body for Look {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            measure::look(&self.0);
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// Rules that are looked for.
pub(crate) struct Rules(measure::Rules);

impl Rules {
    pub(crate) fn new(count: usize) -> Self {
        Self(measure::Rules::new(count).expect("valid expressions"))
    }
}

impl Body for Rules {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            assert!(!self.0.find(SELECT), "none applies");
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// What a server's general log had of sysbench's `oltp_read_write`, `oltp_insert`, `oltp_delete` and `oltp_update_non_index`.
const CAPTURED: &str = include_str!("../../proxy/tests/common/oltp.sql");

/// Rules that are looked for, for one captured statement after the other.
pub(crate) struct RulesOfMix {
    rules: measure::Rules,
    statements: std::iter::Cycle<std::str::Lines<'static>>,
}

impl RulesOfMix {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            rules: measure::Rules::new(count).expect("valid expressions"),
            statements: CAPTURED.lines().cycle(),
        }
    }
}

impl Body for RulesOfMix {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let sql = self.statements.next().unwrap_or_default();
            assert!(!self.rules.find(sql.as_bytes()), "none applies");
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// Three variables that a session has set and a connection has not.
pub(crate) struct Difference(measure::Difference);

impl Difference {
    pub(crate) fn of_three() -> Self {
        Self(measure::Difference::new(&VARIABLES))
    }
}

impl Body for Difference {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            assert!(self.0.write() > 64, "three assignments");
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// What clients do through a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Each has a connection of its own.
    Relay,
    /// They take turns on fewer connections: each statement takes one and gives it back.
    Shared,
    /// The same with a statement that is prepared.
    Executed,
    /// The same, with a connection that each of them keeps.
    Kept,
    /// As `Relay`, with large rows.
    LargeRelay,
    /// As `Shared`, with large rows.
    LargeShared,
    /// They take turns on one connection, and every second one has three variables of its own.
    Differing,
    /// Two at a time, for one connection: one of them waits for the other.
    Waiting,
}

/// A worker, clients before it and a server behind it, on one thread.
pub(crate) struct Worker {
    worker: TurnedWorker,
    server: Server,
    front: PathBuf,
    clients: Vec<Client>,
    /// What each client says.
    packets: Vec<u8>,
    /// Clients that say it at the same time.
    at_once: usize,
    /// Bytes of the reply.
    reply: usize,
    /// Lines and spans that a statement has to hand over, where that is looked at.
    lines: Option<u64>,
    next: usize,
    _folder: Folder,
}

impl Worker {
    pub(crate) fn new(case: Case) -> Self {
        Self::with(case, |_| {})
    }

    /// With so many digests by which statements are counted.
    pub(crate) fn with_digests(case: Case, digests: usize) -> Self {
        Self::with(case, |config| config.digests.max = digests)
    }

    /// With a slow log that gets no line.
    pub(crate) fn with_slow_log(case: Case) -> Self {
        Self::with(case, |config| {
            config.slow_log.file.path = Some("/dev/null".into());
            config.slow_log.threshold = Duration::from_secs(3_600);
        })
    }

    /// With an audit log that gets a line for each statement. Taking the lines out is counted, writing them is not.
    pub(crate) fn with_audit_log(case: Case) -> Self {
        let mut this = Self::with(case, |config| {
            config.audit_log.file.path = Some("/dev/null".into());
        });
        this.lines = Some(1);
        let _ = this.worker.take_logged();
        this
    }

    /// With traces, of each statement or of those whose client asks for it, which none does. Taking the spans out is counted, sending them is not.
    pub(crate) fn with_traces(case: Case, of_each: bool) -> Self {
        let (lines, sample) = if of_each { (1, 1.0) } else { (0, 0.0) };
        let mut this = Self::with(case, |config| {
            config.traces.endpoint = "http://127.0.0.1".parse().ok();
            config.traces.sample = sample;
        });
        this.lines = Some(lines);
        let _ = this.worker.take_logged();
        this
    }

    fn with(case: Case, change: impl FnOnce(&mut Config)) -> Self {
        let (clients, connections) = match case {
            Case::Relay | Case::LargeRelay | Case::Kept => (4, 4),
            Case::Shared | Case::LargeShared | Case::Executed => (4, 2),
            Case::Differing | Case::Waiting => (2, 1),
        };
        let mode = match case {
            Case::Relay | Case::LargeRelay => Mode::Pass,
            Case::Kept => Mode::Session,
            _ => Mode::Transaction,
        };
        let mut this = Self::start(mode, connections, change);
        for _ in 0..clients {
            this.let_in();
        }
        this.prepare(case);
        this.run(8);
        let sessions = this.server.sessions();
        assert!(
            sessions <= connections,
            "{sessions} connections, not {connections}"
        );
        this
    }

    /// Without clients.
    fn start(mode: Mode, connections: usize, change: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new();
        let (front, behind) = (folder.0.join("front"), folder.0.join("behind"));
        let server = Server::listen(&behind);
        let account = AccountConfig::new(USER, Secret::default());
        let mut config = Config {
            listeners: vec![ListenerConfig {
                listen: vec![Endpoint::Unix(front.clone())],
                mode,
                accounts: vec![account],
                pool: PoolConfig {
                    max: connections,
                    ..PoolConfig::default()
                },
                backends: vec![BackendConfig::new(Endpoint::Unix(behind))],
                ..ListenerConfig::default()
            }],
            ..Config::default()
        };
        change(&mut config);
        let worker = TurnedWorker::start(&config);
        Self {
            worker: worker.expect("a worker"),
            server,
            front,
            clients: Vec::new(),
            packets: command(CommandByte::QUERY, SELECT),
            at_once: 1,
            reply: 0,
            lines: None,
            next: 0,
            _folder: folder,
        }
    }

    /// One more client.
    fn let_in(&mut self) {
        let mut client = Client::connect(&self.front);
        while !client.log_in() {
            self.turn();
        }
        self.clients.push(client);
    }

    /// What goes before: the steady state begins behind it.
    fn prepare(&mut self, case: Case) {
        match case {
            Case::Executed | Case::Kept => {
                let sql = b"SELECT c FROM sbtest1 WHERE id=?";
                let prepare = command(CommandByte::STMT_PREPARE, sql);
                let ids = (0..self.clients.len()).map(|at| {
                    let reply = self.ask(at, &prepare);
                    // Behind the header and the status.
                    <[u8; 4]>::try_from(&reply[5..9]).expect("4 bytes")
                });
                let ids: Vec<_> = ids.collect();
                assert!(ids.iter().all(|id| *id == ids[0]), "clients have {ids:?}");
                // No cursor, once; no NULL, its types, a number of 64 bits.
                let head = [0, 1, 0, 0, 0, 0, 1, 8, 0];
                let execute = [&ids[0], &head[..], &4711_u64.to_le_bytes()].concat();
                self.packets = command(CommandByte::STMT_EXECUTE, &execute);
            }
            Case::Differing => {
                let set = b"SET SESSION sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+00:00', wait_timeout = 3600";
                self.ask(0, &command(CommandByte::QUERY, set));
            }
            Case::Waiting => self.at_once = 2,
            Case::LargeRelay | Case::LargeShared => {
                self.packets = command(CommandByte::QUERY, SELECT_LARGE);
            }
            Case::Relay | Case::Shared => {}
        }
        let packets = self.packets.clone();
        self.reply = self.ask(0, &packets).len();
    }

    /// One client's command outside of what is counted, and its reply.
    fn ask(&mut self, at: usize, packets: &[u8]) -> Vec<u8> {
        self.clients[at].say(packets);
        let (mut heard, mut since) = (Vec::new(), 0);
        // Nothing says how long it is: it is over when nothing more comes.
        while heard.is_empty() || since < 2 {
            self.turn();
            since += 1;
            if let Some(bytes) = self.clients[at].hear() {
                assert_ne!(bytes.get(4), Some(&0xFF), "the proxy says {bytes:?}");
                heard.extend_from_slice(bytes);
                since = 0;
            }
        }
        heard
    }

    fn turn(&mut self) {
        self.worker.turn().expect("events");
        self.server.serve();
    }
}

impl Body for Worker {
    fn run(&mut self, iterations: u64) {
        let mut logged = 0;
        for iteration in 0..iterations {
            // There is no room for more than 4,096.
            if self.lines.is_some() && iteration % 1_024 == 1_023 {
                logged += self.worker.take_logged() as u64;
            }
            for at in 0..self.at_once {
                let at = (self.next + at) % self.clients.len();
                self.clients[at].say(&self.packets);
            }
            for at in 0..self.at_once {
                let at = (self.next + at) % self.clients.len();
                let mut left = self.reply;
                while left > 0 {
                    match self.clients[at].hear() {
                        Some(bytes) => left -= bytes.len(),
                        None => self.turn(),
                    }
                }
            }
            self.next = (self.next + 1) % self.clients.len();
        }
        if let Some(lines) = self.lines {
            logged += self.worker.take_logged() as u64;
            assert_eq!(logged, lines * iterations, "lines");
        }
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}

/// A folder of sockets, which goes with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Always as long: spans have the path in them, and its bytes are counted.
        let name = format!(
            "onecopy-gates-{:07}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("a folder for sockets");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use onecopy_testkit::alloc::Watch;

    use super::*;

    /// What a client of a pool may take that does nothing, in bytes.
    const IDLE: usize = 1_536;

    #[test]
    fn an_idle_client_of_a_pool_takes_less_than_1536_bytes() {
        const CLIENTS: usize = 200;
        let mut worker = Worker::start(Mode::Transaction, 2, |_| {});
        // What the first ones have made is everybody's.
        for at in 0..8 {
            worker.let_in();
            worker.ask(at, &command(CommandByte::QUERY, SELECT));
        }
        let watch = Watch::above(usize::MAX);
        for at in 8..8 + CLIENTS {
            let mut client = Client::connect(&worker.front);
            while !client.log_in() {
                watch.run(|| worker.worker.turn()).expect("events");
                worker.server.serve();
            }
            worker.clients.push(client);
            let packets = worker.packets.clone();
            worker.clients[at].say(&packets);
            while worker.clients[at].hear().is_none() {
                watch.run(|| worker.worker.turn()).expect("events");
                worker.server.serve();
            }
        }
        let bytes = watch.in_use() / CLIENTS;
        eprintln!("{bytes} bytes for each idle client of a pool");
        assert!(bytes <= IDLE, "{bytes} bytes");
        assert!(worker.server.sessions() <= 2);
    }
}
