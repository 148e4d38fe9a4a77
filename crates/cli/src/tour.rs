//! `onecopy tour`: what onecopy does, on servers, in about two minutes, the proxy first; it stays up at the end on a terminal.

mod cost;
mod mysql;
mod print;
mod table;
mod valkey;

use std::process::ExitCode;
use std::time::Instant;

use clap::ArgGroup;

use crate::bench::failure::Failure;
use crate::bench::shape::{BLOB, ROWS};
use print::{plain, title};

/// Demo the proxy and its pool, rows, pipelines and large values, each with its cost.
///
/// Creates a database with about 520 MB of rows on MySQL or MariaDB, and keys that begin with onecopy_tour on Valkey or Redis, and
/// deletes them at the end. `make run` runs the tour on private servers.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("server").args(["url", "valkey_url", "pair"]).required(true).multiple(true)))]
pub(crate) struct Args {
    /// A MySQL or MariaDB: mysql://user:password@host:port/database. The user needs the right to create a database, or
    /// tables in this one.
    #[arg(long)]
    url: Option<String>,
    /// A Valkey or Redis: redis://user:password@host:port
    #[arg(long)]
    valkey_url: Option<String>,
    /// Two private servers with binary logs, of which one is killed; `make run` starts them.
    #[arg(long, hide = true, num_args = 2, value_names = ["PRIMARY", "REPLICA"])]
    pair: Vec<String>,
    /// Fewer rows, for tests.
    #[arg(long, hide = true, default_value_t = ROWS)]
    rows: u32,
    /// A smaller value, for tests.
    #[arg(long, hide = true, default_value_t = BLOB.bytes)]
    blob_bytes: u64,
    /// Fewer clients at once, for tests.
    #[arg(long, hide = true, default_value_t = mysql::CLIENTS)]
    clients: u32,
    /// Fewer commands, for tests.
    #[arg(long, hide = true, default_value_t = valkey::PAIRS)]
    pairs: u64,
}

pub(crate) fn run(args: Args) -> ExitCode {
    match tour(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => crate::failure::Failure::from(failure).report(None),
    }
}

fn tour(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    greet();
    if let Some(url) = &args.url {
        let size = mysql::Size {
            rows: args.rows,
            blob_bytes: args.blob_bytes,
            clients: args.clients,
        };
        mysql::tour(url, size)?;
    }
    mysql::fail_over(&args.pair)?;
    if let Some(url) = &args.valkey_url {
        valkey::tour(url, args.pairs, args.blob_bytes)?;
    }
    farewell(start);
    match &args.url {
        Some(url) => mysql::stay(url),
        None => Ok(()),
    }
}

fn greet() {
    title(&format!("onecopy {}", env!("CARGO_PKG_VERSION")));
    plain(
        "Between the kernel and your value each byte is copied once. Every connection has a meter that counts all \
         copies beyond that one. Beside it stands the floor: a bare socket that sends the same bytes and throws the \
         response away unread, than which nothing can be cheaper.",
    );
}

fn farewell(start: Instant) {
    title(&format!(
        "That was the tour, in {:.0} s",
        start.elapsed().as_secs_f64()
    ));
    plain("What to do next:");
    for (what, how) in [
        (
            "the tour on a server of yours",
            "make run URL=mysql://user:password@host/database",
        ),
        ("and on yours", "make run VALKEY_URL=redis://:password@host"),
        (
            "your own SQL, with the meter",
            "onecopy sql URL 'SELECT ...' --meter",
        ),
        (
            "one large value into a file",
            "onecopy sql URL 'SELECT ...' --column NAME --out FILE",
        ),
        (
            "a workload over and over",
            "onecopy bench setup --url URL && onecopy bench client many-rows --url URL",
        ),
        (
            "a proxy in front of it",
            "onecopy proxy --mysql 127.0.0.1:3307=127.0.0.1:3306",
        ),
        ("interactive prompt", "onecopy valkey URL"),
        (
            "requests over and over",
            "onecopy bench valkey --url URL -c 1 -P 32",
        ),
        (
            "in a program",
            "README.md, and cargo doc --open -p onecopy-mysql -p onecopy-valkey",
        ),
    ] {
        print::item(what, how);
    }
}
