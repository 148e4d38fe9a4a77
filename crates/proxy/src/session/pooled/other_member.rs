//! What a session waits for that comes to another member of a cluster: the member may still have to apply what the session has changed on
//! the one before.

use std::sync::Arc;

use onecopy_mysql_proto::packet::{CommandByte, ErrPacket};

use super::failover::may_be_left;
use super::lost::FAREWELLS;
use super::reads::{SYNC, is_galera};
use super::serve::Begun;
use super::{After, Pooled};
use crate::pooling::exchange::Exchange;
use crate::pooling::look::{Kind, Look};
use crate::pooling::refusals::Refused;
use crate::session::{Context, End, Phase, Session};

/// `ER_LOCK_WAIT_TIMEOUT`, with which Galera ends a wait of its own, too.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// In place of the number of a server: none had a statement of the session's yet, or it is not known which.
pub(super) const NO_SERVER: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;

impl Session {
    /// Has the member of a cluster that has the session's statements now wait for what the session has changed [on another
    /// one](Pooled::may_be_elsewhere); `Some` while it does.
    pub(super) fn catch_up(
        &mut self,
        command: CommandByte,
        look: Look,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        // What an execution needs is kept by the connection.
        let waits = match command {
            // An operator's KILL must not wait for the statement that it is to end; it may have no text of its own here.
            CommandByte::QUERY => !look.is_only(Kind::Kill) && look != Look::default(),
            CommandByte::STMT_PREPARE
            | CommandByte::STMT_SEND_LONG_DATA
            | CommandByte::STMT_EXECUTE => true,
            _ => false,
        };
        if !waits {
            return Ok(None);
        }
        let config = self.listener.config.replica_reads;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        let Some(connection) = &pooled.connection else {
            return Ok(None);
        };
        let is_member = connection.place.backend().is_member();
        let most = pooled.pool.config().failover_timeout;
        let wait = match &pooled.reads {
            _ if pooled.server == NO_SERVER || !pooled.may_have_changed || !is_member => None,
            Some(reads) => reads.wait_on_member(connection, config, most),
            None => is_galera(connection).then(|| SYNC.to_owned()),
        };
        match wait {
            Some(wait) => self.ask_first(wait.as_bytes(), After::CatchUp, context),
            None => {
                pooled.server = connection.server;
                Ok(None)
            }
        }
    }

    /// The member has waited. If it does not have the changes, the client's command is answered with an error.
    pub(super) fn caught_up(
        &mut self,
        exchange: Box<Exchange>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let error = exchange.error().map(ErrPacket::decode);
        let error = error.transpose().ok().flatten();
        let (code, said) = error.map_or((None, String::new()), |error| {
            let text = String::from_utf8_lossy(error.message);
            (Some(error.code), format!(" ({text})"))
        });
        if code.is_some_and(|code| FAREWELLS.contains(&code)) {
            return self.exchange_failed(exchange, After::CatchUp, context);
        }
        let status = self.relay.status();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        let may_leave = !pooled.needs_connection(status);
        let Some(connection) = &mut pooled.connection else {
            return Ok(());
        };
        let has_them = is_galera(connection) || exchange.value.as_deref() == Some(b"0");
        if exchange.error().is_none() && has_them {
            pooled.server = connection.server;
            return Ok(());
        }
        connection.has_diagnostics |= exchange.error().is_some();
        let backend = connection.place.backend();
        if let Some(code) = code.filter(|code| may_leave && may_be_left(*code))
            && pooled.lost.may_lose_another()
        {
            pooled.tried.push(Arc::clone(backend));
            pooled.doubt_server(code);
            self.detach(false, context);
            return Ok(());
        }
        let message = format!(
            "Backend '{}' has not applied the last changes of this session yet{said}; try the statement again",
            backend.name()
        );
        pooled.refused = Some(Box::new(Refused {
            code: LOCK_WAIT_TIMEOUT,
            sql_state: *b"HY000",
            message,
            is_end: false,
        }));
        Ok(())
    }
}

impl Pooled {
    /// Whether its connection's server is another one than that of the statements before.
    #[inline]
    pub(super) fn may_be_elsewhere(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.server != self.server)
    }

    /// Which one had its statements before, and whether they have changed something, is not known.
    pub(super) fn comes_from_some_server(&mut self) {
        (self.server, self.may_have_changed) = (UNKNOWN, true);
    }
}
