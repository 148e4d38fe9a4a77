//! What the pool does with a connection.

use onecopy_pool::aio::Connect;

use super::super::Connection;
use crate::pool::Slot;
use crate::{Config, Error};

impl Connect for Slot<Connection> {
    async fn connect(config: &Config) -> Result<Box<Self>, Error> {
        let conn = Connection::connect_with(config).await?;
        Ok(Self::new(conn))
    }

    async fn restore(&mut self, config: &Config) -> Result<(), Error> {
        self.restore_session(config).await
    }

    async fn answers(&mut self, config: &Config) -> bool {
        let timeout = config.pool.reset_timeout;
        self.conn.link.set_command_timeout(Some(timeout));
        let is_answered = self.conn.answers().await;
        self.conn.link.set_command_timeout(config.command_timeout);
        is_answered
    }
}
