//! Commands that are executed all together or not at all.

use onecopy_resp_proto::{Frame, Kind};

use super::Connection;
use crate::command::Command;
use crate::link::{EXEC, MULTI, Queueing};
use crate::observe::{BatchKind, Observed, Operations};
use crate::parts::Parts;
use crate::script::Sent;
use crate::transaction::{Executed, Results};
use crate::{Error, ScriptCall};

/// Commands between MULTI and EXEC, sent together in one pipeline by [`exec`](Self::exec). If the transaction is dropped before
/// that, nothing is sent.
///
/// To watch keys, call `run(&transactions::watch(keys))` on the same connection first, and read the keys. If one of them changes
/// before EXEC, the transaction is aborted.
///
/// ```no_run
/// use onecopy_valkey::Executed;
/// use onecopy_valkey::command::{string, transactions};
///
/// # async fn example() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = onecopy_valkey::aio::Connection::connect("redis://localhost").await?;
/// conn.run(&transactions::watch("stock")).await?;
/// let is_there = conn.run(&string::get("stock")).await?.is_some();
/// if is_there {
///     let mut transaction = conn.transaction()?;
///     transaction.push(&string::decr("stock"))?.push(&string::incr("sold"))?;
///     match transaction.exec().await? {
///         Executed::Done(mut results) => println!("{:?} left", results.next::<string::Decr>()?),
///         Executed::Aborted => println!("another client changed the key: try again"),
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Transaction<'c, 'a> {
    conn: &'c mut Connection,
    parts: Parts<'a>,
    scripts: Sent,
    queued: usize,
    operations: Operations,
}

impl<'c, 'a> Transaction<'c, 'a> {
    pub(super) fn new(conn: &'c mut Connection) -> Result<Self, Error> {
        conn.link.queue_encoded(MULTI)?;
        Ok(Self {
            conn,
            parts: Parts::new(),
            scripts: Sent::none(),
            queued: 0,
            operations: Operations::none(),
        })
    }

    /// Adds a command that need not outlive the call. Large arguments that own their bytes share them; large borrowed ones are
    /// copied.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if the connection does not accept the command. The other commands stay.
    pub fn push<C: Command>(&mut self, command: &C) -> Result<&mut Self, Error> {
        self.conn.link.queue_owned(command, &mut self.parts)?;
        self.queued += 1;
        self.operations.add(command);
        Ok(self)
    }

    /// Adds a command that outlives the transaction. Its arguments of 16 KiB and more are sent without a copy.
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_borrowed<C: Command>(&mut self, command: &'a C) -> Result<&mut Self, Error> {
        self.conn.link.queue(command, &mut self.parts)?;
        self.queued += 1;
        self.operations.add(command);
        Ok(self)
    }

    /// Adds a call of a script, which need not outlive the call. The first call of each script in the transaction is sent with the
    /// code of the script, further ones with its digest: none can fail because the server does not know the script. Read the
    /// result as one of a [`ScriptCall`].
    ///
    /// # Errors
    /// Fails like [`push`](Self::push).
    pub fn push_script(&mut self, call: &ScriptCall<'_>) -> Result<&mut Self, Error> {
        if self.scripts.is_first(call) {
            self.push(&call.with_code())?;
            self.scripts.add(call);
            return Ok(self);
        }
        self.push(call)
    }

    /// Returns the number of commands that were added.
    pub fn len(&self) -> usize {
        self.queued
    }

    /// Returns whether no command was added.
    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Sends all commands and returns their replies. Afterwards no keys are watched any more.
    ///
    /// # Errors
    /// Fails with the server's error if the server refuses one of the commands: [`Error::command_index`] says which one, and
    /// nothing was executed. Fails if the connection fails: then it is unknown whether the commands were executed.
    ///
    /// # Cancel safety
    /// If the future is dropped before anything was sent, the transaction is not executed. After that it may be executed, as a
    /// whole.
    pub async fn exec(self) -> Result<Executed<'c>, Error> {
        let Self {
            conn,
            parts,
            queued,
            operations,
            ..
        } = self;
        let (kind, commands) = (BatchKind::Transaction, || queued as u64);
        let mut observed = Observed::batch(kind, &operations, commands, || conn.server());
        conn.link.queue_encoded(EXEC)?;
        // In a transaction no command blocks.
        conn.link.never_blocks();
        let mut queueing = Queueing::default();
        for position in 0..=queued {
            let frame = observed.step(conn.receive(&parts).await)?;
            queueing.look_at(position, conn.link.reply(frame));
        }
        let frame = observed.step(conn.receive(&parts).await)?;
        conn.link.ended(frame);
        observed.check(executed(conn, frame, queueing))
    }
}

fn executed(conn: &Connection, frame: Frame, queueing: Queueing) -> Result<Executed<'_>, Error> {
    let reply = conn.link.reply(frame);
    match (reply.kind(), queueing.error()) {
        (Kind::Array, None) => Ok(Executed::Done(Results::new(reply))),
        (Kind::Null, None) => Ok(Executed::Aborted),
        (_, Some(error)) => Err(error.after_sending(reply.as_error().is_none())),
        (_, None) => match reply.as_error() {
            Some(text) => Err(Error::server_error(text)),
            None => Err(Error::unexpected(
                "the array of a transaction's replies",
                reply,
            )),
        },
    }
}
