//! The stop at a proxy: the same server, directly and through it; and the proxy that stays up at the end.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal};
use std::time::Duration;
use std::{env, process, thread};

use indicatif::{HumanCount, HumanFloatCount};
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Meter, SslMode};
use onecopy_net::evented::Address;
use onecopy_proxy::config::ListenerConfig;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::cost::{Cost, ours};
use super::super::print::{gap, item, line, plain, shown, title};
use super::super::table::time;
use super::front::Front;
use crate::bench::failure::Failure;
use crate::bench::shape::ROWS_TABLE;
use crate::bench::usage::{Moment, Usage};

/// Small queries of one run, of each connection.
const QUERIES: u32 = 2_000;

/// Connections at once.
const CONNECTIONS: u32 = 8;

/// What is asked.
const SMALL: &str = "SELECT 1";

/// What the way through a proxy costs.
pub(super) fn show(config: &Config) -> Result<(), Failure> {
    title("1. The proxy: the same server, directly and through `onecopy proxy`");
    if let Err(reason) = may_pass(config) {
        plain(&format!("Skipped: {reason}"));
        return Ok(());
    }
    Stop(Front::start(config, ListenerConfig::default(), None)?).compare(config)
}

/// Leaves a proxy up until Ctrl-C, where somebody is there to type it.
pub(super) fn stay(url: &str) -> Result<(), Failure> {
    let config = Config::from_url(url)?;
    if io::stdout().is_terminal() && may_pass(&config).is_ok() {
        let password = format!("{:016x}", RandomState::new().hash_one(process::id()));
        let front = Front::start(&config, ListenerConfig::default(), Some(&password))?;
        return Stop(front).stay(url, &password);
    }
    Ok(())
}

/// Why the way through the proxy, which speaks no TLS here, would change something for the worse: the way to the server, or a password
/// that a plugin sends only where nobody can listen.
pub(super) fn may_pass(config: &Config) -> Result<(), String> {
    let wants_tls = !matches!(
        config.ssl_mode,
        None | Some(SslMode::Disabled | SslMode::Preferred)
    );
    if wants_tls || !config.endpoint.is_local() {
        return Err(
            "your URL asks for a verified server, and a proxy in between could not prove that."
                .into(),
        );
    }
    let mut conn =
        Connection::connect_with(config).map_err(|error| format!("can't connect: {error}."))?;
    let sql = "SELECT plugin FROM mysql.user WHERE CONCAT(user, '@', host) = CURRENT_USER()";
    match value(&mut conn, sql) {
        Some(plugin) if plugin.contains("sha2") => Err(format!(
            "your account's plugin is {plugin}, which needs TLS, and the proxy has no certificate here."
        )),
        _ => Ok(()),
    }
}

/// A value as text, where it can be had.
pub(super) fn value(conn: &mut Connection, sql: &str) -> Option<String> {
    let mut rows = conn.query(sql).ok()?;
    let row = rows.next().ok()??;
    Some(String::from_utf8_lossy(row.bytes(0).ok()??).into_owned())
}

/// The stop, at its proxy.
struct Stop(Front);

impl Stop {
    /// What the proxy costs compared with a direct connection.
    fn compare(&self, config: &Config) -> Result<(), Failure> {
        plain(&format!(
            "Its threads are in this process, and both ways are of the same kind. Small queries, {} on each connection; then \
             the whole table of big rows.",
            HumanCount(QUERIES.into())
        ));
        gap();
        show_row(["", "direct", "through it", "overhead"]);
        let before = self.carried();
        let ways = [config, &self.0.through];
        let [direct, through] = each(ways, |config| queries(config, SMALL, QUERIES))?;
        times("one query", [&direct, &through], QUERIES, |cost| {
            cost.usage.wall
        });
        times(
            "of it CPU, client and proxy",
            [&direct, &through],
            QUERIES,
            |cost| cost.usage.cpu(),
        );
        let [direct, through] = each(ways, at_once)?;
        let rate = |usage: &Usage| f64::from(QUERIES * CONNECTIONS) / usage.wall.as_secs_f64();
        rates(
            &format!("queries/s, {CONNECTIONS} connections"),
            [&direct, &through].map(rate),
        );
        let small = self.carried().since(&before);
        let before = self.carried();
        let rows = format!("SELECT * FROM {ROWS_TABLE}");
        let [direct, through] = each(ways, |config| queries(config, &rows, 1))?;
        times("the table", [&direct, &through], 1, |cost| cost.usage.wall);
        let rate = |cost: &Cost| cost.bytes_read as f64 / 1e6 / cost.usage.wall.as_secs_f64();
        rates("MB/s", [&direct, &through].map(rate));
        let large = self.carried().since(&before);
        gap();
        show_row(["what the proxy did", "small queries", "the table", ""]);
        let count = |what: &str, of: fn(&Meter) -> u64| {
            let [small, large] = [&small, &large].map(|meter| HumanCount(of(meter)).to_string());
            show_row([what, &small, &large, ""]);
        };
        count("bytes carried", |meter| meter.bytes_read);
        count("bytes moved or copied", Meter::copied);
        count("reads", |meter| meter.reads);
        gap();
        shown(&format!(
            "The proxy carried {} bytes and moved or copied {} of them in user space.",
            HumanCount(small.bytes_read + large.bytes_read),
            HumanCount(small.copied() + large.copied()),
        ));
        plain(
            "Each byte is sent from the buffer it was read into; of a row only the header of its packet is looked at. A session \
             that is idle holds no buffer.",
        );
        Ok(())
    }

    fn carried(&self) -> Meter {
        self.0.proxy.snapshot(false).meter
    }

    /// Leaves the proxy up until Ctrl-C, where somebody is there to type it.
    fn stay(self, url: &str, admin: &str) -> Result<(), Failure> {
        let (port, user) = (self.0.address.port(), &self.0.through.user);
        let password = password_of_private(url);
        title("The proxy stays up until Ctrl-C");
        plain("How to connect:");
        item(
            "the client, through it",
            &format!("mariadb -h 127.0.0.1 -P {port} -u {user} -p{password}"),
        );
        item(
            "a load, through it",
            &format!(
                "sysbench oltp_point_select --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user={user} \
                 --mysql-password={password} --mysql-db=test prepare, then run"
            ),
        );
        plain("And where to look:");
        if let Some(Address::Tcp(address)) = self.0.proxy.admin_address() {
            let (host, port) = (address.ip(), address.port());
            item(
                "sessions and their servers",
                &format!("mariadb -h {host} -P {port} -u admin -p{admin} -e 'SHOW CLIENTS'"),
            );
            item(
                "bytes copied, and bytes forwarded",
                "... -e 'SHOW BUFFERS'; SHOW HELP lists the others",
            );
        }
        if let Some(address) = self.0.proxy.web_address() {
            item(
                "the live page, in a browser",
                &format!("http://{address}/, with actions for admin and the password {admin}"),
            );
            item(
                "metrics, health",
                &format!("curl http://{address}/metrics, /health"),
            );
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        signals.forever().next();
        gap();
        let snapshot = self.0.proxy.snapshot(false);
        plain(&format!(
            "{} clients came, with {} commands; {} bytes were carried, {} moved or copied in user space.",
            HumanCount(snapshot.counters.accepted()),
            HumanCount(snapshot.counters.commands()),
            HumanCount(snapshot.meter.bytes_read),
            HumanCount(snapshot.meter.copied()),
        ));
        self.0.proxy.stop();
        Ok(())
    }
}

/// The same both ways.
fn each<T>(
    ways: [&Config; 2],
    mut run: impl FnMut(&Config) -> Result<T, Failure>,
) -> Result<[T; 2], Failure> {
    let [direct, through] = ways;
    Ok([run(direct)?, run(through)?])
}

fn show_row([what, direct, through, overhead]: [&str; 4]) {
    line(&format!(
        "{what:<28}{direct:>16}{through:>16}{overhead:>14}"
    ));
}

/// A time of each of `count`.
fn times(what: &str, costs: [&Cost; 2], count: u32, of: impl Fn(&Cost) -> Duration) {
    let [direct, through] = costs.map(|cost| of(cost) / count);
    let overhead = match through.checked_sub(direct) {
        Some(more) => format!("+{}", time(more)),
        None => format!("-{}", time(direct.saturating_sub(through))),
    };
    show_row([what, &time(direct), &time(through), &overhead]);
}

/// How many a second.
fn rates(what: &str, [direct, through]: [f64; 2]) {
    let shown = [direct, through].map(|rate| HumanFloatCount(rate.round()).to_string());
    let share = (through / direct - 1.0) * 100.0;
    show_row([what, &shown[0], &shown[1], &format!("{share:+.0} %")]);
}

/// The password of a private server, which nobody knows who does not read it here; nothing for a server of the user's own.
fn password_of_private(url: &str) -> &str {
    if env::var("ONECOPY_URL").as_deref() != Ok(url) {
        return "";
    }
    let login = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('@'));
    login
        .and_then(|(login, _)| login.split_once(':'))
        .map_or("", |(_, password)| password)
}

/// So many queries one after the other, every value of every row looked at.
fn queries(config: &Config, sql: &str, count: u32) -> Result<Cost, Failure> {
    let run = |conn: &mut Connection, (): &mut ()| ask(conn, sql, count);
    ours(config, |_| Ok(()), run)
}

fn ask(conn: &mut Connection, sql: &str, count: u32) -> Result<(), Failure> {
    for _ in 0..count {
        let mut rows = conn.query(sql)?;
        while let Some(row) = rows.next()? {
            for index in 0..row.len() {
                row.value(index)?;
            }
        }
    }
    Ok(())
}

/// Small queries on several connections at once.
fn at_once(config: &Config) -> Result<Usage, Failure> {
    let connect = |_| Connection::connect_with(config);
    let connections: Vec<Connection> = (0..CONNECTIONS).map(connect).collect::<Result<_, _>>()?;
    let before = Moment::now();
    thread::scope(|scope| {
        let run = |mut conn: Connection| {
            scope.spawn(move || {
                ask(&mut conn, SMALL, QUERIES)?;
                Ok::<_, Failure>(conn.close()?)
            })
        };
        let running: Vec<_> = connections.into_iter().map(run).collect();
        running.into_iter().try_for_each(|one| {
            one.join()
                .unwrap_or_else(|_| Err(Failure::said("a connection's thread has died")))
        })
    })?;
    Ok(before.usage())
}
