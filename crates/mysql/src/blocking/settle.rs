//! What happens before a command: the replies of earlier commands are read to their end, or cancelled.

use std::sync::Arc;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::{Reply, StatementId};
use onecopy_net::blocking as net;

use super::Connection;
use super::cancel_token::{connect, order};
use crate::Error;
use crate::cancel::BARRIER;
use crate::link::Before;

impl Connection {
    /// Makes sure that no reply is outstanding and no order to cancel is in flight.
    #[inline]
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.link.start_statement();
        match self.link.before() {
            Ok(Before::Ready) => Ok(()),
            before => self.settle_slow(before),
        }
    }

    /// The same within the deadline of the call under way.
    pub(super) fn settle_on(&mut self) -> Result<(), Error> {
        match self.link.before() {
            Ok(Before::Ready) => Ok(()),
            before => self.settle_slow(before),
        }
    }

    #[cold]
    fn settle_slow(&mut self, before: Result<Before, Error>) -> Result<(), Error> {
        let settled = self.settle_all(before);
        // Of the command that is to follow nothing was sent.
        settled.map_err(|error| error.after_sending(false))
    }

    fn settle_all(&mut self, mut before: Result<Before, Error>) -> Result<(), Error> {
        loop {
            if before.is_err() && self.link.is_closed() {
                self.stream.shutdown();
            }
            match before? {
                Before::Ready => return Ok(()),
                Before::Drain => self.drain()?,
                Before::Forget(statement) => self.forget(statement)?,
                Before::Await => self.wait_for_order()?,
                Before::Barrier => self.barrier()?,
                Before::Prelude => self.prelude()?,
                Before::Verify => self.verify()?,
            }
            before = self.link.before();
        }
    }

    /// Makes sure of the same, and that nothing is queued in front of the next command.
    pub(super) fn settle_alone(&mut self) -> Result<(), Error> {
        self.settle()?;
        if !self.link.core.is_idle() {
            self.prelude()?;
        }
        Ok(())
    }

    /// Rolls back what was dropped, without another command.
    fn prelude(&mut self) -> Result<(), Error> {
        self.ok()?;
        self.link.mark();
        Ok(())
    }

    /// Learns from the server's status whether the transaction is still open.
    fn verify(&mut self) -> Result<(), Error> {
        self.link.core.ping(&mut self.link.buffers)?;
        self.ok()?;
        self.link.verified();
        Ok(())
    }

    /// Makes the server discard the long data of a statement.
    #[cold]
    fn forget(&mut self, statement: StatementId) -> Result<(), Error> {
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
        match self.drive(&()) {
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
    #[cold]
    fn drain(&mut self) -> Result<(), Error> {
        self.wait_for_order()?;
        while !self.link.core.is_idle() {
            if self.link.is_slow() {
                self.cancel_slow()?;
            }
            match self.drain_some() {
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

    fn drain_some(&mut self) -> Result<Reply, Error> {
        let until = self.link.drain_until();
        let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
        let driven = net::drive_duplex(core, buffers, &mut self.stream, &(), until);
        let reply = self.link.reply(driven);
        if reply.is_err() && self.link.is_closed() {
            self.stream.shutdown();
        }
        reply
    }

    /// Cancels the statement that is being drained. If that fails, the only option is to continue to read.
    fn cancel_slow(&mut self) -> Result<(), Error> {
        let (target, generation, connect_by) = self.link.order();
        let wait_until = self.link.deadline();
        let ordered = connect(&target, connect_by)
            .and_then(|mut side| order(&target, generation, &mut side, wait_until));
        self.link.ordered();
        self.link.ask_for_rest()?;
        match ordered {
            Err(_) if target.turn.is_lost() => Err(self.lost()),
            Err(error) if target.turn.is_delivering() => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the order in flight is delivered, whether a token or the connection itself gave it.
    fn wait_for_order(&mut self) -> Result<(), Error> {
        let Some(target) = self.link.delivering() else {
            return Ok(());
        };
        let deadline = self.link.deadline();
        target.blocking.settle(&target.turn, deadline)?;
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
    fn barrier(&mut self) -> Result<(), Error> {
        let target = Arc::clone(self.link.target());
        if !target.turn.start_barrier() {
            return Ok(());
        }
        let buffers = &mut self.link.buffers;
        self.link.core.query(buffers, BARRIER)?;
        match self.drive(&()) {
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
