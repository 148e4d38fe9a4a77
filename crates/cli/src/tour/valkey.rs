//! The stops on Valkey and Redis.

mod stop;

use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::generic;
use onecopy_valkey::{Config, Endpoint};

use super::print::{gap, plain, title};
use super::{cost, table};
use crate::bench::failure::Failure;
use crate::output::text::{Lines, push_visible};

/// Pairs of SET and GET of one run.
pub(super) const PAIRS: u64 = 50_000;

/// What the tour writes.
const KEYS: [&str; 2] = ["onecopy_tour:small", "onecopy_tour:large"];

/// The stops on this server, with so many commands and a value of so many bytes.
pub(super) fn tour(url: &str, pairs: u64, blob_bytes: u64) -> Result<(), Failure> {
    let config = Config::from_url(url)?;
    let mut conn = Connection::connect_with(&config)?;
    greet(&conn, &config);
    let walked = walk(&config, pairs, blob_bytes);
    // Also after a failure; the first one is the one to be told.
    let left = conn.run(&generic::unlink(KEYS));
    walked?;
    left?;
    gap();
    plain("The keys that were written are deleted again.");
    conn.close();
    Ok(())
}

fn walk(config: &Config, pairs: u64, blob_bytes: u64) -> Result<(), Failure> {
    stop::pipeline(config, pairs)?;
    stop::large_value(config, blob_bytes)?;
    stop::many_tasks(config, pairs)
}

fn greet(conn: &Connection, config: &Config) {
    let session = conn.session();
    let mut server = String::new();
    let name = session.server.as_deref().unwrap_or("a server");
    let version = session.version.as_deref().unwrap_or("of unknown version");
    push_visible(&format!("{name} {version}"), Lines::Escaped, &mut server);
    let way = match config.endpoint {
        Endpoint::Unix(_) => "over a Unix socket",
        Endpoint::Tcp { .. } => "over TCP",
    };
    title(&format!("Valkey's protocol, on {server} {way}"));
}
