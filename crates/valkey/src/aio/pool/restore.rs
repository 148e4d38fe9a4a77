//! Restoring a returned connection.

use std::time::Instant;

use onecopy_net::tokio as net;
use onecopy_resp_proto::Handshake;

use super::super::Connection;
use crate::command::{Command, connection};
use crate::link::deadline_in;
use crate::pool::{Leave, Reset, Slot, is_alive, is_as_new};
use crate::{Config, Error};

impl Slot<Connection> {
    /// Makes the connection as a new one, as far as the settings demand. After an error it is to be closed.
    pub(super) async fn restore_session(&mut self, config: &Config) -> Result<(), Error> {
        let conn = &mut self.conn;
        let deadline = deadline_in(Some(config.pool.reset_timeout));
        conn.link.limit_until(deadline);
        let is_changed = conn.link.is_touched() || conn.link.is_watching();
        if is_changed && config.pool.reset {
            conn.renew(config, deadline).await?;
        } else if conn.link.is_watching() {
            // Either may have been ended already: then the server says so.
            conn.run_alive(&Leave::DISCARD).await?;
            conn.run_alive(&Leave::UNWATCH).await?;
            conn.link.forget_transaction();
        } else {
            conn.run_alive(&connection::ping()).await?;
        }
        conn.link.set_command_timeout(config.command_timeout);
        Ok(())
    }
}

impl Connection {
    /// Undoes all that commands have changed of the connection, and does the handshake again.
    async fn renew(&mut self, config: &Config, deadline: Option<Instant>) -> Result<(), Error> {
        let is_reset = self.run_quietly(&Reset).await?.reply().bytes() == b"RESET";
        self.link.begin()?;
        if !is_reset || !self.link.is_quiet() {
            return Err(self.link.close("its state can't be reset"));
        }
        let mut handshake = Handshake::new(config.handshake(), config.limits);
        let (buffers, stream) = (&mut self.link.buffers, &mut self.stream);
        let driven = net::drive(&mut handshake, buffers, stream, &(), deadline).await;
        let reply = driven.map_err(|error| self.link.failed(error))?;
        self.link.renewed(reply, handshake, config)?;
        self.config = config.clone();
        self.link.limit_until(deadline);
        let info = self.run_quietly(&connection::client_info()).await?;
        match is_as_new(info.reply().bytes(), config) {
            true => Ok(()),
            false => Err(self.link.close("its state can't be reset")),
        }
    }

    /// Runs a command of which only that it is answered matters.
    async fn run_alive<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        let outcome = self.run_quietly(command).await.map(drop);
        match is_alive(&outcome) {
            true => Ok(()),
            false => outcome,
        }
    }

    /// Whether the server answers a ping.
    pub(in crate::aio) async fn answers(&mut self) -> bool {
        self.run_alive(&connection::ping()).await.is_ok()
    }
}
