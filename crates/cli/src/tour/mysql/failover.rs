//! The stop at a failover: the primary of a private pair is killed while clients write.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use std::{fs, thread};

use indicatif::HumanCount;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint};
use onecopy_net::Endpoint as Way;
use onecopy_net::url::UrlParts;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, Config as ProxyConfig, HealthConfig, HealthLogin, ListenerConfig,
    Mode, PoolConfig, Role, Secret,
};

use super::super::print::{gap, line, plain, shown, title};
use super::super::table::time;
use super::proxy::value;
use super::replication::{follow, promote, wait};
use crate::bench::failure::Failure;

/// Clients that write at once.
const CLIENTS: u64 = 16;
/// Connections to the primary that they share.
const POOL: usize = 8;
/// Who they are, and who asks for the proxy.
const USER: &str = "tour";
/// How often the proxy looks which server is the primary.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long they write before the primary is killed, and after another one is there.
const WHILE: Duration = Duration::from_millis(1_500);

/// Kills the first one of two private servers while clients write.
pub(super) fn show(urls: &[String]) -> Result<(), Failure> {
    let [primary, replica] = urls else {
        return Ok(());
    };
    let password = password(primary)?;
    let [primary, replica] = [Config::from_url(primary)?, Config::from_url(replica)?];
    title(&format!(
        "8. Failover: the primary is killed while {CLIENTS} clients write"
    ));
    plain(&format!(
        "Two more private servers: a primary, and a replica that has each commit before it is acknowledged (semi-synchronous \
         replication). The clients share {POOL} connections of a pool, and insert one row in each transaction. Then the primary \
         is ended by kill -9, and the replica promoted, as an orchestrator does it. Nobody tells the proxy."
    ));
    // Not all servers come with the plugins for it.
    match follow(&primary, &password, &replica) {
        Err(Failure::Client(error)) if error.server().is_some() => {
            plain(&format!(
                "Skipped: these servers do not replicate like that: {error}"
            ));
            return Ok(());
        }
        followed => followed?,
    }
    let mut conn = Connection::connect_with(&primary)?;
    conn.run("CREATE TABLE failover (client BIGINT, number BIGINT) ENGINE = InnoDB")?;
    // The replica has it too, with the same password, and may not write where it is read-only.
    conn.run(format!("CREATE USER {USER}@'%' IDENTIFIED BY '{password}'"))?;
    conn.run(format!("GRANT INSERT ON failover TO {USER}@'%'"))?;
    let process = process(&mut conn)?;
    drop(conn);
    let proxy = start([&primary, &replica], &password)?;
    let through = through(&proxy, &primary)?;
    let load = Load::default();
    let (moments, told) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let (through, load) = (&through, &load);
                    move || load.write(client, through)
                })
            })
            .collect();
        let moments = replace(&load, process, &replica);
        load.is_over.store(true, SeqCst);
        let told: Vec<_> = clients
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        (moments, told)
    });
    proxy.stop();
    let told = told
        .into_iter()
        .map(|told| told.unwrap_or_else(|_| Err(Failure::said("a client's thread has panicked"))))
        .collect::<Result<Vec<Told>, Failure>>()?;
    report(&moments?, &told, &mut Connection::connect_with(&replica)?)
}

fn password(url: &str) -> Result<String, Failure> {
    let said = |error: &dyn std::fmt::Display| Failure::said(error.to_string());
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let parts = UrlParts::of_host(rest).map_err(|error| said(&error))?;
    let password = parts.password().map_err(|error| said(&error))?;
    Ok(password.unwrap_or_default().to_string())
}

/// The server's process, which has to be one of this machine.
fn process(conn: &mut Connection) -> Result<Pid, Failure> {
    let file = value(conn, "SELECT @@pid_file");
    let text = file.and_then(|file| fs::read_to_string(file).ok());
    let process = text.and_then(|text| text.trim().parse().ok());
    let process = process.ok_or_else(|| Failure::said("the primary's process is not known"))?;
    Ok(Pid::from_raw(process))
}

/// A proxy in front of both, whose clients share connections to the one that takes writes.
fn start(servers: [&Config; 2], password: &str) -> Result<Proxy, Failure> {
    let backends = servers.map(|server| {
        let mut backend = BackendConfig::new(way(server));
        backend.role = Role::Primary;
        backend
    });
    let config = ProxyConfig {
        health: HealthConfig {
            interval: Some(INTERVAL),
            fall: 1,
            login: Some(HealthLogin {
                user: USER.to_owned(),
                password: Secret::new(password),
            }),
            ..HealthConfig::default()
        },
        listeners: vec![ListenerConfig {
            listen: vec![Way::Tcp {
                host: "127.0.0.1".to_owned(),
                port: 0,
            }],
            backends: backends.into(),
            mode: Mode::Transaction,
            accounts: vec![AccountConfig::new(USER, Secret::new(password))],
            reencrypt_passwords: true,
            pool: PoolConfig {
                max: POOL,
                ..PoolConfig::default()
            },
            ..ListenerConfig::default()
        }],
        ..ProxyConfig::default()
    };
    Proxy::start(config).map_err(|error| Failure::said(error.to_string()))
}

fn way(server: &Config) -> Way {
    match &server.endpoint {
        Endpoint::Unix(path) => Way::Unix(path.clone()),
        Endpoint::Tcp { host, port } => Way::Tcp {
            host: host.clone(),
            port: *port,
        },
    }
}

/// A client's way.
fn through(proxy: &Proxy, primary: &Config) -> Result<Config, Failure> {
    let address = proxy.tcp_address();
    let address = address.ok_or_else(|| Failure::said("the proxy listens nowhere"))?;
    let mut through = primary.clone();
    through.user = USER.to_owned();
    through.endpoint = Endpoint::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    };
    Ok(through)
}

/// What the clients have in common.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    acknowledged: AtomicU64,
}

/// What a client was told.
struct Told {
    client: u64,
    /// Whether the transaction with this number, from 0, was acknowledged.
    acknowledged: Vec<bool>,
    /// When the acknowledged ones were, in their order.
    done: Vec<Instant>,
    errors: Vec<String>,
    /// How often its session ended.
    ends: u64,
}

impl Load {
    fn write(&self, client: u64, config: &Config) -> Result<Told, Failure> {
        let mut told = Told {
            client,
            acknowledged: Vec::new(),
            done: Vec::new(),
            errors: Vec::new(),
            ends: 0,
        };
        let mut conn = Connection::connect_with(config)?;
        while !self.is_over.load(SeqCst) {
            let number = told.acknowledged.len();
            let sql = format!("INSERT INTO failover VALUES ({client}, {number})");
            let result = conn.run(sql);
            told.acknowledged.push(result.is_ok());
            match result {
                Ok(_) => {
                    told.done.push(Instant::now());
                    self.acknowledged.fetch_add(1, SeqCst);
                }
                Err(error) => {
                    told.errors.push(error.to_string());
                    if error.is_closed() {
                        told.ends += 1;
                        conn = Connection::connect_with(config)?;
                    }
                }
            }
        }
        Ok(told)
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(SeqCst)
    }
}

/// When what happened.
struct Moments {
    killed: Instant,
    promoted: Instant,
}

/// Kills the primary while clients write, and has the replica take its place.
fn replace(load: &Load, primary: Pid, replica: &Config) -> Result<Moments, Failure> {
    wait("the first transactions", || Ok(load.acknowledged() > 0))?;
    thread::sleep(WHILE);
    kill(primary, Signal::SIGKILL).map_err(|error| Failure::said(error.to_string()))?;
    let killed = Instant::now();
    promote(replica)?;
    let promoted = Instant::now();
    let before = load.acknowledged();
    wait("a transaction on the new primary", || {
        Ok(load.acknowledged() > before)
    })?;
    thread::sleep(WHILE);
    Ok(Moments { killed, promoted })
}

/// How often each transaction is on the new primary, beside what its client was told.
struct Found {
    acknowledged: u64,
    lost: u64,
    twice: u64,
    failed: u64,
    failed_but_there: u64,
}

impl Found {
    fn of(told: &[Told], conn: &mut Connection) -> Result<Self, Failure> {
        let mut times = HashMap::<(u64, u64), u64>::new();
        let mut rows = conn.query("SELECT client, number FROM failover")?;
        while let Some(row) = rows.next()? {
            *times.entry((row.get(0)?, row.get(1)?)).or_default() += 1;
        }
        rows.finish()?;
        let mut found = Self {
            acknowledged: 0,
            lost: 0,
            twice: 0,
            failed: 0,
            failed_but_there: 0,
        };
        for told in told {
            for (number, is_acknowledged) in (0..).zip(&told.acknowledged) {
                let times = times
                    .get(&(told.client, number))
                    .copied()
                    .unwrap_or_default();
                found.twice += u64::from(times > 1);
                match is_acknowledged {
                    true => {
                        found.acknowledged += 1;
                        found.lost += u64::from(times == 0);
                    }
                    false => {
                        found.failed += 1;
                        found.failed_but_there += u64::from(times > 0);
                    }
                }
            }
        }
        Ok(found)
    }
}

fn report(moments: &Moments, told: &[Told], conn: &mut Connection) -> Result<(), Failure> {
    let found = Found::of(told, conn)?;
    let done = || told.iter().flat_map(|told| &told.done);
    let first = done().filter(|done| **done > moments.promoted).min();
    let waited = told.iter().flat_map(|told| {
        let pairs = told.done.iter().zip(told.done.iter().skip(1));
        pairs.map(|(one, next)| next.duration_since(*one))
    });
    let count = |count: u64| HumanCount(count).to_string();
    let row = |what: &str, value: String| line(&format!("{what:<60}{value:>16}"));
    gap();
    row("transactions acknowledged", count(found.acknowledged));
    row(
        "the replica was promoted, after the kill",
        time(moments.promoted.duration_since(moments.killed)),
    );
    if let Some(first) = first {
        row(
            "the first transaction on it, after its promotion",
            time(first.duration_since(moments.promoted)),
        );
    }
    row(
        "the longest time between two transactions of a client",
        time(waited.max().unwrap_or_default()),
    );
    row("transactions that failed", count(found.failed));
    row(
        "of these on the new primary all the same",
        count(found.failed_but_there),
    );
    row(
        "clients that had to connect again",
        count(told.iter().map(|told| told.ends).sum()),
    );
    gap();
    if let Some(error) = told.iter().flat_map(|told| &told.errors).next() {
        plain(&format!("What such a client is told: {error}"));
    }
    if found.lost > 0 || found.twice > 0 {
        return Err(Failure::said(format!(
            "{} acknowledged transactions are lost, and {} are there twice",
            found.lost, found.twice
        )));
    }
    shown(&format!(
        "All {} acknowledged transactions are on the new primary, each once.",
        count(found.acknowledged)
    ));
    Ok(())
}
