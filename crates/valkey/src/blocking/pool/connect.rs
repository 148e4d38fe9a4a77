//! What the pool does with a connection.

use onecopy_pool::blocking::Connect;

use super::super::Connection;
use crate::pool::Slot;
use crate::{Config, Error};

impl Connect for Slot<Connection> {
    fn connect(config: &Config) -> Result<Box<Self>, Error> {
        let conn = Connection::connect_with(config)?;
        Ok(Self::new(conn))
    }

    fn restore(&mut self, config: &Config) -> Result<(), Error> {
        self.restore_session(config)
    }

    fn answers(&mut self, config: &Config) -> bool {
        let timeout = config.pool.reset_timeout;
        self.conn.link.set_command_timeout(Some(timeout));
        let is_answered = self.conn.answers();
        self.conn.link.set_command_timeout(config.command_timeout);
        is_answered
    }
}
