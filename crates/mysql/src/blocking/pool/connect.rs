//! What the pool does with a connection.

use onecopy_pool::blocking::Connect;

use super::super::Connection;
use crate::pool::{ASK_ROLE, FollowUp, Slot, lacks_roles, set_role};
use crate::{Config, Error};

impl Connect for Slot<Connection> {
    /// Connects, and learns what a reset has to restore.
    fn connect(config: &Config) -> Result<Box<Self>, Error> {
        let mut conn = Connection::connect_with(config)?;
        if let Some(timeout) = config.connect_timeout {
            conn.link.limit_to(timeout);
        }
        let is_mariadb = conn.link.core.session().version.is_mariadb;
        let role = if config.pool.reset {
            role(&mut conn, is_mariadb)?
        } else {
            None
        };
        if let Some(setup) = &config.pool_setup {
            conn.run(setup)?;
        }
        conn.link.set_timeouts(config);
        Ok(Self::new(conn, FollowUp::all(config, is_mariadb, role)))
    }

    fn restore(&mut self, config: &Config) -> Result<(), Error> {
        self.restore_session(config)
    }

    fn answers(&mut self, config: &Config) -> bool {
        self.conn.link.limit_to(config.pool.reset_timeout);
        let is_answered = self.conn.ping().is_ok();
        self.conn.link.set_timeouts(config);
        is_answered
    }
}

/// The statement that restores the session's roles, if the server has roles.
fn role(conn: &mut Connection, is_mariadb: bool) -> Result<Option<String>, Error> {
    let asked = conn.query(ASK_ROLE);
    let mut rows = match asked {
        Ok(rows) => rows,
        Err(error) if lacks_roles(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let role = match rows.next()? {
        Some(row) => row.get::<Option<String>>(0)?,
        None => None,
    };
    rows.finish_within()?;
    Ok(Some(set_role(is_mariadb, role.as_deref())))
}
