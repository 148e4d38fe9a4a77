//! What happens before a command: the replies of earlier commands are read to their end, or cancelled.

use std::sync::Arc;

use ::tokio::time::timeout_at;
use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Reply, StatementId};
use onecopy_net::{DriveError, tokio as net};

use super::Connection;
use super::cancel_token::{connect, order, stuck_at};
use crate::Error;
use crate::cancel::BARRIER;
use crate::link::Before;

impl Connection {
    /// Makes sure that no reply is outstanding and no order to cancel is in flight.
    #[inline]
    pub(super) async fn settle(&mut self) -> Result<(), Error> {
        self.link.start_statement();
        match self.link.before() {
            Ok(Before::Ready) => Ok(()),
            // A separate future, so that it does not enlarge every command's future.
            before => Box::pin(self.settle_slow(before)).await,
        }
    }

    /// The same within the deadline of the call under way.
    pub(super) async fn settle_on(&mut self) -> Result<(), Error> {
        match self.link.before() {
            Ok(Before::Ready) => Ok(()),
            before => Box::pin(self.settle_slow(before)).await,
        }
    }

    #[cold]
    async fn settle_slow(&mut self, before: Result<Before, Error>) -> Result<(), Error> {
        let settled = self.settle_all(before).await;
        // Of the command that is to follow nothing was sent.
        settled.map_err(|error| error.after_sending(false))
    }

    async fn settle_all(&mut self, mut before: Result<Before, Error>) -> Result<(), Error> {
        loop {
            if before.is_err() && self.link.is_closed() {
                self.stream.shutdown();
            }
            match before? {
                Before::Ready => return Ok(()),
                Before::Drain => self.drain().await?,
                Before::Forget(statement) => self.forget(statement).await?,
                Before::Await => self.wait_for_order().await?,
                Before::Barrier => self.barrier().await?,
                Before::Prelude => self.prelude().await?,
                Before::Verify => self.verify().await?,
            }
            before = self.link.before();
        }
    }

    /// Makes sure of the same, and that nothing is queued in front of the next command.
    pub(super) async fn settle_alone(&mut self) -> Result<(), Error> {
        self.settle().await?;
        if !self.link.core.is_idle() {
            self.prelude().await?;
        }
        Ok(())
    }

    /// Rolls back what was dropped, without another command.
    async fn prelude(&mut self) -> Result<(), Error> {
        self.ok().await?;
        self.link.mark();
        Ok(())
    }

    /// Learns from the server's status whether the transaction is still open.
    async fn verify(&mut self) -> Result<(), Error> {
        self.link.core.ping(&mut self.link.buffers)?;
        self.ok().await?;
        self.link.verified();
        Ok(())
    }

    /// Makes the server discard the long data of a statement.
    async fn forget(&mut self, statement: StatementId) -> Result<(), Error> {
        self.link.mark();
        let buffers = &mut self.link.buffers;
        match self.link.core.reset_statement(buffers, statement) {
            Ok(()) => {}
            Err(ProtocolError::StatementClosed) => {
                self.link.set_long_data(None);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        match self.drive(&()).await {
            // A statement that the server does not know has no long data either.
            Err(error) if error.is_closed() || error.server().is_none() => Err(error),
            // Cancelled: try again.
            Err(error) if error.is_interrupted() => Ok(()),
            _ => {
                self.link.set_long_data(None);
                Ok(())
            }
        }
    }

    /// Reads what is left for as long as that is cheaper than an order to cancel. Then gives such an order, and continues to
    /// read.
    async fn drain(&mut self) -> Result<(), Error> {
        self.wait_for_order().await?;
        while !self.link.core.is_idle() {
            if self.link.is_slow() {
                self.cancel_slow().await?;
            }
            match self.drain_some().await {
                // Its statement was given up: the file ends before its first byte.
                Ok(Reply::LocalInfile(_)) => {
                    let buffers = &mut self.link.buffers;
                    self.link.core.end_local_infile(buffers)?;
                }
                // Nobody has its number: it is closed, with the command that follows.
                Ok(Reply::Prepared(id)) => drop(self.link.statement(id)?),
                Err(error) if error.is_timeout() && self.link.is_slow() => {}
                // An error that ends what nobody waits for is of no interest; one that ends the connection is.
                Err(error) if error.is_closed() || error.server().is_none() => return Err(error),
                _ => {}
            }
        }
        self.link.drained();
        Ok(())
    }

    async fn drain_some(&mut self) -> Result<Reply, Error> {
        let until = self.link.drain_until();
        let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
        let driven = net::drive_duplex(core, buffers, &mut self.stream, &(), until).await;
        let reply = self.link.reply(driven);
        if reply.is_err() && self.link.is_closed() {
            self.stream.shutdown();
        }
        reply
    }

    /// Cancels the statement that is being drained. If that fails, the only option is to continue to read.
    async fn cancel_slow(&mut self) -> Result<(), Error> {
        let (target, generation, connect_by) = self.link.order();
        let ordered = async {
            let mut side = connect(&target, connect_by).await?;
            order(&target, generation, &mut side).await
        };
        let ordered = match self.link.deadline() {
            None => ordered.await,
            Some(deadline) => timeout_at(deadline.into(), ordered)
                .await
                .unwrap_or_else(|_| Err(DriveError::Timeout.into())),
        };
        self.link.ordered();
        self.link.ask_for_rest()?;
        match ordered {
            Err(_) if target.turn.is_lost() => Err(self.lost()),
            Err(error) if target.turn.is_delivering() => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the order in flight is delivered, whether a token or the connection itself gave it.
    async fn wait_for_order(&mut self) -> Result<(), Error> {
        let Some(target) = self.link.delivering() else {
            return Ok(());
        };
        let settled = target.tokio.settle(&target.turn);
        let stuck = stuck_at(&*target.way()?);
        let until = match (stuck, self.link.deadline()) {
            (Some(stuck), Some(deadline)) => Some(stuck.min(deadline)),
            (stuck, deadline) => stuck.or(deadline),
        };
        match until {
            None => settled.await,
            Some(until) => {
                if timeout_at(until.into(), settled).await.is_err() {
                    if Some(until) != stuck {
                        return Err(DriveError::Timeout.into());
                    }
                    target.tokio.give_up(&target.turn);
                }
            }
        }
        if target.turn.is_lost() {
            return Err(self.lost());
        }
        Ok(())
    }

    fn lost(&mut self) -> Error {
        self.stream.shutdown();
        self.link.lost()
    }

    /// Runs a statement that consumes the mark of an order that arrived late.
    async fn barrier(&mut self) -> Result<(), Error> {
        let target = Arc::clone(self.link.target());
        if !target.turn.start_barrier() {
            return Ok(());
        }
        let buffers = &mut self.link.buffers;
        self.link.core.query(buffers, BARRIER)?;
        match self.drive(&()).await {
            Ok(Reply::Ok) => {
                self.finish();
            }
            Ok(_) => return Err(self.link.close("a barrier got another reply than ok")),
            Err(error) if error.is_interrupted() => {}
            // Whether the mark is gone nobody knows, and no command may find out.
            Err(error) if error.server().is_some() && !error.is_closed() => {
                let cause = format!("an order to cancel could not be concluded: {error}");
                return Err(self.link.close(&cause));
            }
            Err(error) => return Err(error),
        }
        target.turn.end_barrier();
        Ok(())
    }
}
