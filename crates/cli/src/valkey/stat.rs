//! `--stat`: what a server holds and does, a line an interval.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::server::info;

use super::interrupt::Interrupt;
use super::latency::SERVER;
use super::rows::{Cell, Column, Rows};
use super::{Args, login};
use crate::failure::Failure;
use crate::output::Out;

/// Between two lines.
const LINE: Duration = Duration::from_secs(1);

/// What people see of a line fits a terminal of 80 columns.
const COLUMNS: [Column; 10] = [
    Column::new("keys", "keys", 11),
    Column::new("memory", "memory_bytes", 10),
    Column::new("clients", "clients", 7),
    Column::new("blocked", "blocked_clients", 7),
    Column::new("requests/s", "requests_per_second", 10),
    Column::for_programs("requests"),
    Column::new("hits %", "hit_percent", 6),
    Column::new("evicted", "evicted_keys", 9),
    Column::for_programs("connections"),
    Column::new("child", "child", 5),
];

/// What counts up, at a moment.
#[derive(Debug, Clone, Copy)]
struct Counts {
    at: Instant,
    requests: u64,
    hits: u64,
    misses: u64,
}

struct Server {
    name: String,
    connection: Connection,
    before: Option<Counts>,
}

pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    watch(args).map_err(|failure| failure.report(None))
}

fn watch(args: &mut Args) -> Result<(), Failure> {
    let target = login::target_alone(args, "--stat sends INFO")?;
    let interrupt = Interrupt::watch()?;
    let mut servers = Vec::new();
    for (name, config) in target.servers()? {
        servers.push(Server {
            name,
            connection: Connection::connect_with(&config)?,
            before: None,
        });
    }
    let shows_server = target.is_cluster();
    let columns = shows_server.then_some(SERVER).into_iter().chain(COLUMNS);
    let is_terminal = io::stdout().is_terminal();
    let format = args.format(is_terminal);
    let mut rows = Rows::new(Out::stdout()?, format, is_terminal, columns.collect());
    let running = interrupt.begin();
    let mut written = 0;
    loop {
        for server in &mut servers {
            let text = server.connection.run(&info())?;
            let at = Instant::now();
            let text = String::from_utf8_lossy(text);
            let info = Info::read(&text);
            let name = shows_server.then(|| Cell::Text(server.name.clone()));
            let figures = info.figures(server.before.as_ref(), at);
            let cells: Vec<Cell> = name.into_iter().chain(figures).collect();
            rows.write(&cells)?;
            server.before = Some(info.counts(at));
        }
        written += 1;
        if args.times() == Some(written) {
            return Ok(());
        }
        running.pause(args.interval.unwrap_or(LINE));
        if running.is_over() {
            return Ok(());
        }
    }
}

/// The reply to INFO.
struct Info<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Info<'t> {
    fn read(text: &'t str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .collect(),
        )
    }

    fn text(&self, name: &str) -> Option<&'t str> {
        let found = self.0.iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Of all databases: `db0:keys=2,expires=0,avg_ttl=0`.
    fn keys(&self) -> u64 {
        let databases = self.0.iter().filter(|(name, _)| {
            let number = name.strip_prefix("db");
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let keys = databases.filter_map(|(_, value)| {
            let (keys, _) = value.strip_prefix("keys=")?.split_once(',')?;
            keys.parse::<u64>().ok()
        });
        keys.fold(0, u64::saturating_add)
    }

    fn counts(&self, at: Instant) -> Counts {
        let number = |name| self.number(name).unwrap_or_default();
        Counts {
            at,
            requests: number("total_commands_processed"),
            hits: number("keyspace_hits"),
            misses: number("keyspace_misses"),
        }
    }

    fn figures(&self, before: Option<&Counts>, at: Instant) -> [Cell; 10] {
        let count = |name| self.number(name).map_or(Cell::None, Cell::Count);
        let now = self.counts(at);
        let each_second = match before {
            // Counters begin again where the server was started again, or after CONFIG RESETSTAT.
            Some(before) => {
                let requests = now.requests.checked_sub(before.requests);
                let seconds = (now.at - before.at).as_secs_f64().max(1e-9);
                requests.map(|requests| requests as f64 / seconds)
            }
            None => self
                .number("instantaneous_ops_per_sec")
                .map(|each| each as f64),
        };
        let hits = before.and_then(|before| {
            let hits = now.hits.checked_sub(before.hits)? as f64;
            let misses = now.misses.checked_sub(before.misses)? as f64;
            (hits + misses > 0.0).then(|| hits * 100.0 / (hits + misses))
        });
        let memory = self.number("used_memory");
        [
            Cell::Count(self.keys()),
            memory.map_or(Cell::None, Cell::Bytes),
            count("connected_clients"),
            count("blocked_clients"),
            each_second.map_or(Cell::None, |each| Cell::Number(each, 0)),
            count("total_commands_processed"),
            hits.map_or(Cell::None, |hits| Cell::Number(hits, 1)),
            count("evicted_keys"),
            count("total_connections_received"),
            Cell::Text(self.child()),
        ]
    }

    /// What a child process of the server writes.
    fn child(&self) -> String {
        let children = [
            ("rdb_bgsave_in_progress", "rdb"),
            ("aof_rewrite_in_progress", "aof"),
        ];
        let runs = |(name, _): &(&str, &str)| self.number(name) == Some(1);
        let names = children.into_iter().filter(runs).map(|(_, child)| child);
        names.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Clients\r\nconnected_clients:3\r\nblocked_clients:1\r\n\r\n# Memory\r\nused_memory:2048\r\n\
                        # Persistence\r\nrdb_bgsave_in_progress:1\r\naof_rewrite_in_progress:0\r\n\
                        # Stats\r\ntotal_connections_received:7\r\ntotal_commands_processed:1500\r\n\
                        instantaneous_ops_per_sec:12\r\nkeyspace_hits:30\r\nkeyspace_misses:10\r\nevicted_keys:4\r\n\
                        # Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=0\r\ndb11:keys=6,expires=0,avg_ttl=0\r\n";

    #[test]
    fn figures_are_read_from_info_and_counted_from_the_last_line() {
        let info = Info::read(INFO);
        let at = Instant::now();
        let first = info.figures(None, at);
        assert_eq!(
            first,
            [
                Cell::Count(11),
                Cell::Bytes(2048),
                Cell::Count(3),
                Cell::Count(1),
                Cell::Number(12.0, 0),
                Cell::Count(1500),
                Cell::None,
                Cell::Count(4),
                Cell::Count(7),
                Cell::Text("rdb".into()),
            ]
        );
        let before = Counts {
            at,
            requests: 500,
            hits: 0,
            misses: 0,
        };
        let later = info.figures(Some(&before), at + Duration::from_secs(2));
        assert_eq!(later[4], Cell::Number(500.0, 0));
        assert_eq!(later[6], Cell::Number(75.0, 1));
        // The server was started again.
        let before = Counts {
            requests: 9_999,
            hits: 99,
            ..before
        };
        let later = info.figures(Some(&before), at + Duration::from_secs(2));
        assert_eq!((&later[4], &later[6]), (&Cell::None, &Cell::None));
    }

    #[test]
    fn what_a_server_does_not_say_is_unknown() {
        let figures =
            Info::read("nonsense\ndbx:keys=1,\ndb0:keys=\n").figures(None, Instant::now());
        assert_eq!((&figures[0], &figures[1]), (&Cell::Count(0), &Cell::None));
    }
}
