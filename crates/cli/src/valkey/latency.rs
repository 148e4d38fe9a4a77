//! `--latency`: the round trip of PING.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::connection::ping;

use super::interrupt::{Interrupt, Running};
use super::rows::{Cell, Column, Rows};
use super::{Args, login};
use crate::failure::{Failure, say};
use crate::json_object::nanos;
use crate::output::Out;

/// Between two PINGs, as `redis-cli` has it: a hundred a second are no load.
const EVERY: Duration = Duration::from_millis(10);

/// Between two lines.
const LINE: Duration = Duration::from_secs(1);

/// Digits that are kept of each time.
const DIGITS: u8 = 3;

const COLUMNS: [Column; 7] = [
    Column::new("samples", "samples", 8),
    Column::new("min ms", "min_ms", 9),
    Column::new("avg ms", "avg_ms", 9),
    Column::new("p50 ms", "p50_ms", 9),
    Column::new("p99 ms", "p99_ms", 9),
    Column::new("p99.9 ms", "p99_9_ms", 9),
    Column::new("max ms", "max_ms", 9),
];

/// The column before them, where there are several servers.
pub(super) const SERVER: Column = Column::new("server", "server", 21);

/// One server, and its times.
struct Server {
    name: String,
    connection: Connection,
    /// Of the line under way.
    times: Histogram<u64>,
    /// Of the lines before.
    all: Histogram<u64>,
}

pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    measure(args).map_err(|failure| failure.report(None))
}

fn measure(args: &mut Args) -> Result<(), Failure> {
    let target = login::target_alone(args, "--latency sends PING")?;
    let interrupt = Interrupt::watch()?;
    let histogram = || {
        let new = Histogram::new(DIGITS);
        new.map_err(|error| Failure::other(format!("can't keep times: {error}")))
    };
    let mut servers = Vec::new();
    for (name, config) in target.servers()? {
        servers.push(Server {
            name,
            connection: Connection::connect_with(&config)?,
            times: histogram()?,
            all: histogram()?,
        });
    }
    let shows_server = target.is_cluster();
    let columns = shows_server.then_some(SERVER).into_iter().chain(COLUMNS);
    let is_terminal = io::stdout().is_terminal();
    let format = args.format(is_terminal);
    let mut rows = Rows::new(Out::stdout()?, format, is_terminal, columns.collect());
    let running = interrupt.begin();
    let mut written = 0;
    while !running.is_over() && args.times() != Some(written) {
        sample(&mut servers, args.interval.unwrap_or(LINE), &running)?;
        for server in &mut servers {
            if server.times.is_empty() {
                continue;
            }
            let name = shows_server.then(|| Cell::Text(server.name.clone()));
            let cells: Vec<Cell> = name.into_iter().chain(figures(&server.times)).collect();
            rows.write(&cells)?;
            // Of the same digits: nothing is refused.
            let _ = server.all.add(&server.times);
            server.times.reset();
        }
        written += 1;
    }
    for server in &servers {
        say(&summary(server));
    }
    Ok(())
}

/// Sends PINGs for so long, or until a signal comes; one at least to each server.
fn sample(servers: &mut [Server], time: Duration, running: &Running<'_>) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut next = begun;
    loop {
        for server in &mut *servers {
            let sent = Instant::now();
            server.connection.run(&ping())?;
            // It grows for what is longer than anything before.
            let _ = server.times.record(nanos(sent.elapsed()).max(1));
        }
        next = (next + EVERY).max(Instant::now());
        let end = begun + time;
        running.pause(next.min(end).saturating_duration_since(Instant::now()));
        if next >= end || running.is_over() {
            return Ok(());
        }
    }
}

fn figures(times: &Histogram<u64>) -> [Cell; 7] {
    let millis = |nanos: f64| Cell::Number(nanos / 1e6, 3);
    let at = |quantile| millis(times.value_at_quantile(quantile) as f64);
    [
        Cell::Count(times.len()),
        millis(times.min() as f64),
        millis(times.mean()),
        at(0.5),
        at(0.99),
        at(0.999),
        millis(times.max() as f64),
    ]
}

fn summary(server: &Server) -> String {
    let all = &server.all;
    let millis = |nanos: f64| format!("{:.3}", nanos / 1e6);
    let at = |quantile| millis(all.value_at_quantile(quantile) as f64);
    format!(
        "{}: {} samples, min {} avg {} p50 {} p99 {} p99.9 {} max {} ms",
        server.name,
        all.len(),
        millis(all.min() as f64),
        millis(all.mean()),
        at(0.5),
        at(0.99),
        at(0.999),
        millis(all.max() as f64)
    )
}
