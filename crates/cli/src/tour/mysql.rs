//! The stops on MySQL and MariaDB.

mod failover;
mod front;
mod ground;
mod many_clients;
mod proxy;
mod replication;
mod stop;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint};

use super::print::{plain, title};
use crate::bench::failure::Failure;
use crate::bench::setup;
use crate::bench::shape::{BLOB, Blob};
use ground::Ground;
pub(super) use many_clients::CLIENTS;

/// Kills the first one of two private servers, of which the other one takes the place; nothing where there are none.
pub(super) fn fail_over(pair: &[String]) -> Result<(), Failure> {
    failover::show(pair)
}

/// Leaves a proxy up in front of this server until Ctrl-C, where somebody is there to type it.
pub(super) fn stay(url: &str) -> Result<(), Failure> {
    proxy::stay(url)
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Big rows.
    pub(super) rows: u32,
    /// Bytes of the large value.
    pub(super) blob_bytes: u64,
    /// Clients at once.
    pub(super) clients: u32,
}

/// The stops on this server.
pub(super) fn tour(url: &str, size: Size) -> Result<(), Failure> {
    let mut config = Config::from_url(url)?;
    let mut conn = Connection::connect_with(&config)?;
    greet(&conn, &config);
    let blob = fitting(
        &mut conn,
        Blob {
            bytes: size.blob_bytes,
            ..BLOB
        },
    )?;
    let mut ground = Ground::find(&mut conn, &config)?;
    config.database = Some(ground.database().to_owned());
    let walked = ground.fill(&mut conn, size.rows, blob).and_then(|()| {
        proxy::show(&config)?;
        many_clients::show(&mut conn, url, &config, size.clients)?;
        walk(&mut conn, &config, blob)
    });
    // Also after a failure; the first one is the one to be told.
    let left = ground.leave(&mut conn);
    walked.and(left)?;
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
    title(&format!("MySQL's protocol, on {version} {way}"));
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
