//! Clients that write without an end, and what they were told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Instant;

use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_testkit::server::Server;

use crate::pair::{Pair, client};
use crate::replication::direct;

/// More than the pool has connections.
pub(crate) const CLIENTS: u64 = 24;

/// What became of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// Its client was told that it was not.
    NotDone,
    Unknown,
}

/// Pieces of work that were begun, by number, and the errors that clients have seen.
#[derive(Debug, Default)]
struct Told {
    fates: HashMap<u64, Fate>,
    errors: Vec<String>,
    /// When each piece was done.
    done: Vec<Instant>,
}

pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    clients: Vec<JoinHandle<Told>>,
}

/// What came of all of it.
pub(crate) struct Outcome {
    told: Vec<Told>,
}

impl Load {
    pub(crate) fn start(pair: &Pair) -> Self {
        Self::start_on(&pair.proxy)
    }

    pub(crate) fn start_on(proxy: &Proxy) -> Self {
        let (is_over, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let client = |number| {
            let (is_over, done) = (Arc::clone(&is_over), Arc::clone(&done));
            let config = client(proxy);
            std::thread::spawn(move || work(number, &config, &is_over, &done))
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self {
            is_over,
            done,
            clients,
        }
    }

    /// Waits until so much more was done.
    pub(crate) fn await_more(&self, count: u64) {
        let goal = self.done.load(SeqCst) + count;
        crate::replication::until("more work is done", || self.done.load(SeqCst) >= goal);
    }

    pub(crate) fn end(self) -> Outcome {
        self.is_over.store(true, SeqCst);
        let clients = self.clients.into_iter();
        Outcome {
            told: clients.map(|client| client.join().unwrap()).collect(),
        }
    }
}

/// Even pieces are one statement, odd ones a transaction of two.
fn work(number: u64, config: &Config, is_over: &AtomicBool, done: &AtomicU64) -> Told {
    let mut told = Told::default();
    let mut conn = Connection::connect_with(config).unwrap();
    for piece in 0.. {
        if is_over.load(SeqCst) {
            break;
        }
        let id = number << 32 | piece;
        let fate = match do_piece(&mut conn, id) {
            Ok(()) => {
                told.done.push(Instant::now());
                done.fetch_add(1, SeqCst);
                Fate::Done
            }
            Err(error) => {
                let text = error.to_string();
                let fate = match text.contains("was not committed") {
                    true => Fate::NotDone,
                    false => Fate::Unknown,
                };
                told.errors.push(text);
                if error.is_closed() || error.server().is_none_or(|error| error.code == 2013) {
                    conn = Connection::connect_with(config).unwrap();
                } else {
                    let _ = conn.run("ROLLBACK");
                }
                fate
            }
        };
        told.fates.insert(id, fate);
    }
    told
}

fn do_piece(conn: &mut Connection, id: u64) -> Result<(), onecopy_mysql::Error> {
    if id.is_multiple_of(2) {
        return conn
            .run(format!("INSERT INTO done (id, part) VALUES ({id}, 0)"))
            .map(drop);
    }
    conn.run("BEGIN")?;
    conn.run(format!("INSERT INTO done (id, part) VALUES ({id}, 0)"))?;
    conn.run(format!("INSERT INTO done (id, part) VALUES ({id}, 1)"))?;
    conn.run("COMMIT").map(drop)
}

impl Outcome {
    /// Looks for each piece on the server that is the primary now: what was acknowledged is there once, what was not is there wholly
    /// or not at all.
    pub(crate) fn check(&self, primary: &Server) {
        let mut conn = direct(primary);
        let mut found: HashMap<u64, Vec<i64>> = HashMap::new();
        let mut rows = conn.query("SELECT id, part FROM test.done").unwrap();
        while let Some(row) = rows.next().unwrap() {
            found
                .entry(row.get(0).unwrap())
                .or_default()
                .push(row.get(1).unwrap());
        }
        rows.finish().unwrap();
        let mut pieces = 0;
        for (&id, &fate) in self.told.iter().flat_map(|told| &told.fates) {
            pieces += 1;
            let mut parts = found.remove(&id).unwrap_or_default();
            parts.sort_unstable();
            let whole: &[i64] = if id.is_multiple_of(2) { &[0] } else { &[0, 1] };
            let is_right = match fate {
                Fate::Done => parts == whole,
                Fate::NotDone => parts.is_empty(),
                Fate::Unknown => parts.is_empty() || parts == whole,
            };
            assert!(is_right, "{id}: {fate:?}, and {parts:?} are there");
        }
        assert!(found.is_empty(), "nobody has done {found:?}");
        assert!(pieces > 0);
    }

    pub(crate) fn errors(&self) -> Vec<&str> {
        let errors = self.told.iter().flat_map(|told| &told.errors);
        errors.map(String::as_str).collect()
    }

    /// For how long nothing was done at most.
    pub(crate) fn longest_pause(&self) -> std::time::Duration {
        let mut done: Vec<_> = self.told.iter().flat_map(|told| &told.done).collect();
        done.sort_unstable();
        let pauses = done.windows(2).map(|pair| pair[1].duration_since(*pair[0]));
        pauses.max().unwrap()
    }

    /// How long after a time the next piece was done.
    pub(crate) fn first_after(&self, time: Instant) -> std::time::Duration {
        let done = self.told.iter().flat_map(|told| &told.done);
        let first = done.filter(|&&done| done > time).min().unwrap();
        first.duration_since(time)
    }
}
