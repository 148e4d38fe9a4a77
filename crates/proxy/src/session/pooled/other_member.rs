//! What a session waits for that comes to another member of a cluster: the member may still have to apply what the session has changed on
//! the one before.

use super::reads::{SYNC, is_galera};
use super::serve::Begun;
use super::{After, Pooled};
use crate::pooling::exchange::Exchange;
use crate::session::{Context, End, Phase, Session};

/// `ER_LOCK_WAIT_TIMEOUT`, with which Galera ends a wait of its own, too.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// In place of the number of a server: none had a command of the session's yet, or it is not known which.
pub(super) const NO_SERVER: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;

impl Session {
    /// Has the member of a cluster that has the writes now wait for the changes of a session that [had another
    /// server](Pooled::may_be_elsewhere); `Some` while it does.
    pub(super) fn catch_up(&mut self, context: &mut Context<'_>) -> Result<Option<Begun>, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(None);
        };
        let Some(connection) = &pooled.connection else {
            return Ok(None);
        };
        let backend = connection.place.backend();
        let most = pooled.pool.config().failover_timeout;
        let reads = pooled.reads.as_ref();
        let wait = match pooled.server != NO_SERVER && backend.is_member() {
            false => None,
            true if is_galera(connection) => Some(SYNC.to_owned()),
            true => reads.and_then(|reads| reads.wait_on_member(connection, most)),
        };
        match wait {
            Some(wait) => self.ask_first(wait.as_bytes(), After::CatchUp, context),
            None => {
                pooled.server = connection.server;
                Ok(None)
            }
        }
    }

    /// The member has waited. Where it does not have the changes, the client's command is answered with an error.
    pub(super) fn caught_up(
        &mut self,
        exchange: &Exchange,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        let Some(connection) = &mut pooled.connection else {
            return Ok(());
        };
        let backend = connection.place.backend();
        if exchange.error().is_none() && exchange.value.as_deref() == Some(b"0") {
            pooled.server = connection.server;
            return Ok(());
        }
        let text = format!(
            "The last changes of this session have not come to backend '{}' yet, which has the writes now; try again",
            backend.name()
        );
        connection.has_diagnostics |= exchange.error().is_some();
        self.answer_error(LOCK_WAIT_TIMEOUT, *b"HY000", &text, context)?;
        Ok(())
    }
}

impl Pooled {
    /// Whether its connection's server is another one than that of the commands before.
    #[inline]
    pub(super) fn may_be_elsewhere(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.server != self.server)
    }

    /// Which one had its commands before is not known.
    pub(super) fn comes_from_some_server(&mut self) {
        self.server = UNKNOWN;
    }
}
