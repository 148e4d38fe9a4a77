//! A new connection, to the one server or to the first good one of several.

use std::time::Instant;

use onecopy_net::blocking as net;

use super::Connection;
use crate::cancel::Way;
use crate::link::deadline_in;
use crate::tls::connector;
use crate::topology::{ROLE_QUERY, Search, is_read_only};
use crate::{Config, Error, ServerTarget};

pub(super) fn connect(config: &Config) -> Result<Connection, Error> {
    if !Search::<Connection>::is_needed(config) {
        return connect_one(config, deadline_in(config.connect_timeout));
    }
    let mut search = Search::new(config);
    while let Some((candidate, deadline)) = search.next() {
        match try_one(candidate, deadline) {
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

fn connect_one(config: &Config, deadline: Option<Instant>) -> Result<Connection, Error> {
    let tls = connector(config)?;
    let begun = Instant::now();
    let stream = net::connect(&config.endpoint, &config.socket, deadline)?;
    let peer = stream.peer_addr();
    let mut connection = Connection::login(config, stream, tls, deadline)?;
    let way = Way::new(config, peer, begun.elapsed());
    connection.link.reachable_by(way);
    Ok(connection)
}

/// Connects, and asks for the role where that matters.
fn try_one(
    config: &Config,
    deadline: Option<Instant>,
) -> Result<(Connection, Option<bool>), Error> {
    let mut connection = connect_one(config, deadline)?;
    if config.target == ServerTarget::Any {
        return Ok((connection, None));
    }
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    connection.set_statement_timeout(left);
    let is_read_only = role(&mut connection)?;
    connection.set_statement_timeout(config.statement_timeout);
    Ok((connection, Some(is_read_only)))
}

fn role(connection: &mut Connection) -> Result<bool, Error> {
    let mut rows = connection.query(ROLE_QUERY)?;
    let answer = match rows.next()? {
        Some(row) => row.get::<String>(0)?,
        None => {
            return Err(Error::closed(
                "the server did not say whether it is read-only",
            ));
        }
    };
    rows.finish()?;
    Ok(is_read_only(&answer))
}
