//! `onecopy tour`: what onecopy does, on a server, in under two minutes.

mod cost;
mod ground;
mod print;
mod stop;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint};

use crate::bench::failure::Failure;
use crate::bench::setup;
use crate::bench::shape::{BLOB, Blob, ROWS};
use ground::Ground;
use print::{plain, title};

/// Take the tour: rows, big rows, a large value there and back, each with what it cost.
///
/// Makes a database of its own with about 520 MB of rows, and drops it at the end. `make run` takes the tour on a private
/// server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server: mysql://user:password@host:port/database. The user needs the right to make a database, or to make
    /// tables in this one.
    #[arg(long)]
    url: String,
    /// Fewer rows, for tests.
    #[arg(long, hide = true, default_value_t = ROWS)]
    rows: u32,
    /// A smaller value, for tests.
    #[arg(long, hide = true, default_value_t = BLOB.bytes)]
    blob_bytes: u64,
}

pub(crate) fn run(args: Args) -> ExitCode {
    match tour(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => crate::failure::Failure::from(failure).report(None),
    }
}

fn tour(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let mut config = Config::from_url(&args.url)?;
    let mut conn = Connection::connect_with(&config)?;
    greet(&conn, &config);
    let blob = fitting(
        &mut conn,
        Blob {
            bytes: args.blob_bytes,
            ..BLOB
        },
    )?;
    let mut ground = Ground::find(&mut conn, &config)?;
    config.database = Some(ground.database().to_owned());
    let walked = ground
        .fill(&mut conn, args.rows, blob)
        .and_then(|()| walk(&mut conn, &config, blob));
    // Also after a failure; the first one is the one to be told.
    let left = ground.leave(&mut conn);
    walked.and(left)?;
    farewell(start);
    Ok(conn.close()?)
}

fn walk(conn: &mut Connection, config: &Config, blob: Blob) -> Result<(), Failure> {
    stop::few_rows(config)?;
    stop::many_rows(config)?;
    stop::owned_value(config, blob)?;
    stop::streamed_value(config, blob)?;
    stop::back_again(conn, config, blob)
}

fn greet(conn: &Connection, config: &Config) {
    let version = conn.server_version();
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let way = match config.endpoint {
        Endpoint::Unix(_) => "over a Unix socket",
        Endpoint::Tcp { .. } => "over TCP",
    };
    title(&format!(
        "onecopy {}, on {version} {way}",
        env!("CARGO_PKG_VERSION")
    ));
    plain(
        "Between the kernel and your value each byte is copied once. Every connection has a meter that counts all \
         copies beyond that one. Beside it stands the floor: a bare socket that sends the same bytes and throws the \
         response away unread, than which nothing can be cheaper.",
    );
}

/// The value, or a smaller one where the server takes no such.
fn fitting(conn: &mut Connection, blob: Blob) -> Result<Blob, Failure> {
    let limit = setup::packet_limit(conn)?;
    if limit >= blob.bytes {
        return Ok(blob);
    }
    plain(&format!(
        "This server takes values of at most {limit} bytes (max_allowed_packet), so the large value is of that size here \
         and not of {}.",
        blob.bytes
    ));
    Ok(Blob {
        bytes: limit,
        ..blob
    })
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
            "in a program",
            "README.md, and cargo doc --open -p onecopy-mysql",
        ),
    ] {
        print::item(what, how);
    }
}
