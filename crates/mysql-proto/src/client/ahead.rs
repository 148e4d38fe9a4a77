//! Commands that are sent in the same write as the one before them.
//!
//! ```text
//!   command --> query_ahead --> init_db_ahead --> (one write)
//!   reply   <-- expect_ahead, reply <-- expect_ahead, reply
//! ```
//!
//! The state machine follows one command at a time: the replies to the others wait in the buffer or the socket. If the conversation
//! is left before the last of them, nobody knows that they are still to come, and the connection has to be closed.

use onecopy_wire::Buffers;

use super::core::{ClientCore, Source, State};
use crate::Error;
use crate::codec::Put;
use crate::frame::PayloadWriter;
use crate::packet::CommandByte;

impl ClientCore {
    /// Queues COM_QUERY behind the command that was queued last. `sql` is copied.
    ///
    /// After the reply to the command before it, call [`expect_ahead`](Self::expect_ahead). The connection has to be closed if that
    /// does not happen.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`. The commands before it stay queued, so that the connection has to be closed.
    pub fn query_ahead(&mut self, buffers: &mut Buffers, sql: &[u8]) -> Result<(), Error> {
        ahead(buffers, CommandByte::QUERY, sql)
    }

    /// Queues COM_INIT_DB behind the command that was queued last; like [`query_ahead`](Self::query_ahead). The reply is OK.
    ///
    /// # Errors
    /// Fails like [`query_ahead`](Self::query_ahead).
    pub fn init_db_ahead(&mut self, buffers: &mut Buffers, database: &[u8]) -> Result<(), Error> {
        ahead(buffers, CommandByte::INIT_DB, database)
    }

    /// Expects the reply to the next command that was queued ahead.
    ///
    /// # Errors
    /// Fails with `Busy` while the reply to the command before it is outstanding.
    pub fn expect_ahead(&mut self) -> Result<(), Error> {
        self.begin(State::Header)?;
        self.source = Source::Text;
        // The command was sequence 0.
        self.frames.restart(1);
        Ok(())
    }
}

fn ahead(buffers: &mut Buffers, command: CommandByte, text: &[u8]) -> Result<(), Error> {
    let mut sequence = 0;
    let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
    writer.put_u8(command.0);
    writer.put(text);
    writer.finish().map_err(Error::of_call)
}
