//! The stop at the pool: thousands of clients at once, each with a connection of its own to the server, and on a few.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::{BinaryBytes, HumanCount, HumanFloatCount};
use nix::sys::resource::{Resource, getrlimit};
use onecopy_mysql::Config;
use onecopy_mysql::aio;
use onecopy_mysql::blocking::Connection;
use onecopy_net::url::UrlParts;
use onecopy_proxy::config::{AccountConfig, ListenerConfig, Mode, PoolConfig, Secret};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::super::print::{gap, line, plain, shown, title};
use super::super::table::time;
use super::front::Front;
use super::proxy::{may_pass, value};
use crate::bench::failure::Failure;
use crate::bench::shape::ROWS_TABLE;

/// Clients, where nothing else is said.
pub(in super::super) const CLIENTS: u32 = 2_000;
/// Queries of each.
const QUERIES: u32 = 50;
/// A minute, in microseconds; a query that takes longer counts as one of a minute.
const LONGEST: u64 = 60_000_000;
/// Connections to the server behind the pool.
const POOL: usize = 16;
/// Clients that log in at once.
const LOGINS: usize = 50;
/// Connections that are left to others: the tour's own, an administrator's, checks of health.
const SPARE: u32 = 10;
/// Descriptors of this process apart from the clients'.
const DESCRIPTORS: u64 = 500;
/// Of each client: its own, and the proxy's end of it.
const DESCRIPTORS_OF_CLIENT: u64 = 2;

/// So many clients, directly and through the pool.
pub(super) fn show(
    conn: &mut Connection,
    url: &str,
    config: &Config,
    clients: u32,
) -> Result<(), Failure> {
    let clients = clients.min(possible());
    title(&format!(
        "2. {} clients: directly, and on the {POOL} connections of a pool",
        HumanCount(clients.into())
    ));
    let account = match account(url) {
        Ok(account) => account,
        Err(reason) => return skipped(&reason),
    };
    if let Err(reason) = may_pass(config) {
        return skipped(&reason);
    }
    let listener = ListenerConfig {
        mode: Mode::Transaction,
        accounts: vec![account],
        pool: PoolConfig {
            max: POOL,
            ..PoolConfig::default()
        },
        ..ListenerConfig::default()
    };
    let front = Front::start(config, listener, None)?;
    let allowed = free_connections(conn)?;
    plain(&format!(
        "Each client asks for one row by its key, {QUERIES} times, as fast as it gets answers: {} queries in all. The clients \
         and the proxy are in this process, beside the server.",
        HumanCount(u64::from(clients) * u64::from(QUERIES))
    ));
    if allowed < clients {
        plain(&format!(
            "The server allows only {allowed} more connections (max_connections), so that many clients are served directly.",
        ));
    }
    let pid = server_process(conn);
    let mut measure = |config, clients| Load { config, clients }.run(|| State::of(conn, pid));
    // A server keeps the memory that it once had: the way that needs less comes first.
    let pooled = measure(&front.through, clients)?;
    let pools = front.proxy.snapshot(false).pools;
    let connections: usize = pools.iter().map(|pool| pool.connections).sum();
    front.proxy.stop();
    let direct = measure(config, clients.min(allowed))?;
    table(&direct, &pooled);
    gap();
    shown(&format!(
        "{} clients were served by {connections} connections.",
        HumanCount(clients.into()),
    ));
    plain(
        "A connection goes from client to client between transactions, with the session's variables, statements and schema set \
         as each client has them. What can't be moved, such as a temporary table, keeps its connection; SHOW PINS tells.",
    );
    Ok(())
}

fn skipped(reason: &str) -> Result<(), Failure> {
    plain(&format!("Skipped: {reason}"));
    Ok(())
}

/// Who the pool's clients are: the URL's user.
fn account(url: &str) -> Result<AccountConfig, String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let parts = UrlParts::of_host(rest).map_err(|error| error.to_string())?;
    let password = parts.password().map_err(|error| error.to_string())?;
    let password = password.filter(|password| !password.is_empty());
    let password = password.ok_or("the pool needs a user's password, and your URL has none.")?;
    let user = parts.user().map_err(|error| error.to_string())?;
    Ok(AccountConfig::new(user, Secret::new(password)))
}

/// How many clients this process can be.
fn possible() -> u32 {
    // The lower limit is for programs of old; raising it needs no rights.
    let _ = onecopy_proxy::raise_open_files();
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(current, _)| current);
    let clients = limit.saturating_sub(DESCRIPTORS) / DESCRIPTORS_OF_CLIENT;
    u32::try_from(clients).unwrap_or(u32::MAX).max(1)
}

/// How many connections the server still takes.
fn free_connections(conn: &mut Connection) -> Result<u32, Failure> {
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u32>().ok());
    let max = number(value(conn, "SELECT @@max_connections"));
    let used = number(status(conn, "Threads_connected"));
    let (Some(max), Some(used)) = (max, used) else {
        return Err(Failure::said(
            "the server does not say how many connections it takes",
        ));
    };
    Ok(max.saturating_sub(used + SPARE).max(1))
}

/// The server's process, where it is one of this machine.
fn server_process(conn: &mut Connection) -> Option<u32> {
    let file = value(conn, "SELECT @@pid_file")?;
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn status(conn: &mut Connection, name: &str) -> Option<String> {
    let mut rows = conn
        .query(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .ok()?;
    let row = rows.next().ok()??;
    Some(String::from_utf8_lossy(row.bytes(1).ok()??).into_owned())
}

/// The server, while all clients are there.
struct State {
    connections: Option<String>,
    resident: Option<u64>,
}

impl State {
    fn of(conn: &mut Connection, pid: Option<u32>) -> Self {
        Self {
            connections: status(conn, "Threads_connected"),
            resident: pid.and_then(resident),
        }
    }
}

/// Bytes of memory of a process.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// What the clients of one way saw.
struct Seen {
    clients: u32,
    login: Duration,
    wall: Duration,
    /// In microseconds.
    latency: Histogram<u64>,
    server: State,
}

/// Clients at once, all on one thread.
struct Load<'c> {
    config: &'c Config,
    clients: u32,
}

impl Load<'_> {
    /// Logs all in, asks `look` while they are there, and lets them run.
    fn run(&self, look: impl FnOnce() -> State) -> Result<Seen, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let start = Instant::now();
            let clients = self.log_in().await?;
            let login = start.elapsed();
            let latency = Histogram::new_with_bounds(1, LONGEST, 3)
                .map_err(|error| Failure::said(error.to_string()))?;
            let latency = Rc::new(RefCell::new(latency));
            let start = Instant::now();
            let mut running = Vec::new();
            for (number, client) in (1..).zip(clients) {
                let latency = Rc::clone(&latency);
                running.push(tokio::task::spawn_local(ask(client, number, latency)));
            }
            let mut clients = Vec::new();
            for client in running {
                clients.push(ended(client.await)?);
            }
            let wall = start.elapsed();
            let server = look();
            let latency = latency.borrow().clone();
            Ok(Seen {
                clients: self.clients,
                login,
                wall,
                latency,
                server,
            })
        })
    }

    async fn log_in(&self) -> Result<Vec<aio::Connection>, Failure> {
        let mut clients = Vec::new();
        let count = usize::try_from(self.clients).unwrap_or(usize::MAX);
        while clients.len() < count {
            let some = LOGINS.min(count - clients.len());
            let logins: Vec<_> = (0..some)
                .map(|_| {
                    let config = self.config.clone();
                    tokio::task::spawn_local(
                        async move { aio::Connection::connect_with(&config).await },
                    )
                })
                .collect();
            for login in logins {
                clients.push(ended(login.await)?);
            }
        }
        Ok(clients)
    }
}

fn ended<T>(
    task: Result<Result<T, impl Into<Failure>>, tokio::task::JoinError>,
) -> Result<T, Failure> {
    task.map_err(|_| Failure::said("a client's task has died"))?
        .map_err(Into::into)
}

/// One client's queries.
async fn ask(
    mut conn: aio::Connection,
    number: u64,
    latency: Rc<RefCell<Histogram<u64>>>,
) -> Result<aio::Connection, Failure> {
    let sql = format!(
        "SELECT id, s16, dtime FROM {ROWS_TABLE} WHERE id = {}",
        number % 40 + 1
    );
    for _ in 0..QUERIES {
        let start = Instant::now();
        let mut rows = conn.query(&sql).await?;
        while let Some(row) = rows.next().await? {
            row.value(0)?;
        }
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        latency.borrow_mut().saturating_record(micros.max(1));
    }
    Ok(conn)
}

fn table(direct: &Seen, pooled: &Seen) {
    let both = |what: &str, of: &dyn Fn(&Seen) -> String| {
        line(&format!("{what:<28}{:>16}{:>20}", of(direct), of(pooled)));
    };
    gap();
    line(&format!(
        "{:<28}{:>16}{:>20}",
        "", "direct", "through the pool"
    ));
    both("clients", &|seen| {
        HumanCount(seen.clients.into()).to_string()
    });
    both("the server's connections", &|seen| {
        seen.server.connections.clone().unwrap_or_default()
    });
    if let (Some(_), Some(_)) = (direct.server.resident, pooled.server.resident) {
        both("the server's memory", &|seen| {
            BinaryBytes(seen.server.resident.unwrap_or_default()).to_string()
        });
    }
    both("all logged in after", &|seen| time(seen.login));
    both("queries/s", &|seen| {
        let queries = f64::from(seen.clients) * f64::from(QUERIES);
        HumanFloatCount((queries / seen.wall.as_secs_f64()).round()).to_string()
    });
    for (what, quantile) in [("median latency", 0.5), ("99th percentile", 0.99)] {
        both(what, &|seen| {
            time(Duration::from_micros(
                seen.latency.value_at_quantile(quantile),
            ))
        });
    }
}
