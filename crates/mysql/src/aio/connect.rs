//! A new connection, to the one server or to the first good one of several.

use std::time::Instant;

use onecopy_net::tokio as net;

use super::Connection;
use crate::cancel::Way;
use crate::link::deadline_in;
use crate::tls::connector;
use crate::topology::{ROLE_QUERY, Search, is_read_only};
use crate::{Config, Error, ServerTarget};

pub(super) async fn connect(config: &Config) -> Result<Connection, Error> {
    if !Search::<Connection>::is_needed(config) {
        return connect_one(config, deadline_in(config.connect_timeout)).await;
    }
    let mut search = Search::new(config);
    while let Some((candidate, deadline)) = search.next() {
        match try_one(candidate, deadline).await {
            Ok((connection, is_read_only)) => {
                if let Some(connection) = search.logged_in(connection, is_read_only) {
                    return Ok(connection);
                }
            }
            Err(error) => search.failed(error)?,
        }
    }
    search.end()
}

async fn connect_one(config: &Config, deadline: Option<Instant>) -> Result<Connection, Error> {
    let tls = connector(config)?;
    let begun = Instant::now();
    let stream = net::connect(&config.endpoint, &config.socket, deadline).await?;
    let peer = stream.peer_addr();
    let mut connection = Connection::login(config, stream, tls, deadline).await?;
    let way = Way::new(config, peer, begun.elapsed());
    connection.link.reachable_by(way);
    Ok(connection)
}

/// Connects, and asks for the role where that matters.
async fn try_one(
    config: &Config,
    deadline: Option<Instant>,
) -> Result<(Connection, Option<bool>), Error> {
    let mut connection = connect_one(config, deadline).await?;
    if config.target == ServerTarget::Any {
        return Ok((connection, None));
    }
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    connection.set_statement_timeout(left);
    let is_read_only = role(&mut connection).await?;
    connection.set_statement_timeout(config.statement_timeout);
    Ok((connection, Some(is_read_only)))
}

async fn role(connection: &mut Connection) -> Result<bool, Error> {
    let mut rows = connection.query(ROLE_QUERY).await?;
    let answer = match rows.next().await? {
        Some(row) => row.get::<String>(0)?,
        None => {
            return Err(Error::closed(
                "the server did not say whether it is read-only",
            ));
        }
    };
    rows.finish().await?;
    Ok(is_read_only(&answer))
}
