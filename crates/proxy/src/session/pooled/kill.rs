//! A `KILL` by a client of a pooled listener: ids of clients are the proxy's.
//!
//! It is run on the server of the connection that the client has at that moment: by the connection of whoever kills where that is on
//! the same server, else by the thread for `KILL`s, with the login of the session that is killed, and answered at once.
//!
//! Where the client gives its connection back before the server executes the `KILL`, the connection is closed and the server does not
//! know it any more. The server's error 1094 is replaced by OK then: the client was there.

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, OkHeader};

use super::Current;
use super::login::FIRST_ID;
use super::serve::Begun;
use crate::failure::Failure;
use crate::kill::For;
use crate::pooling::clients::KillOf;
use crate::pooling::connection::Connection;
use crate::pooling::exchange::put_packet;
use crate::pooling::look::{Kind, Look};
use crate::session::kill::{Found, Kill, look};
use crate::session::{Context, End, Phase, Session, Status};

/// `ER_KILL_DENIED_ERROR`.
const NOT_OWNER: u16 = 1095;

/// `ER_NO_SUCH_THREAD`.
const NO_SUCH_THREAD: u16 = 1094;

impl Session {
    /// Runs a `KILL` of a client; `None` for everything else, which goes to the backend as it is.
    pub(super) fn begin_kill(
        &mut self,
        command: CommandByte,
        kind: Kind,
        whole: usize,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        let is_kill = kind == Kind::Kill && command == CommandByte::QUERY
            || command == CommandByte::PROCESS_KILL;
        if !is_kill {
            return Ok(None);
        }
        let payload = self.up.pending().get(HEADER_BYTES..whole);
        let Some(payload) = payload else {
            return Ok(None);
        };
        let kill = match look(payload, true, self.relay.capabilities()) {
            Found::Kill(kill) if kill.id >= FIRST_ID => kill,
            _ => return Ok(None),
        };
        let Phase::Pooled(pooled) = &self.phase else {
            return Ok(None);
        };
        let Some(target) = pooled.pool.clients.find(kill.id) else {
            // No server has given this id: the error comes from there, with all that follows from an error.
            return Ok(None);
        };
        if target.user != self.user {
            let text = format!("You are not owner of thread {}", kill.id);
            return self
                .answer_error(NOT_OWNER, *b"HY000", &text, context)
                .map(Some);
        }
        let is_query = kill.what.starts_with("QUERY");
        if kill.id == self.pooled_id {
            return match is_query {
                true => self.answer_ok(context).map(Some),
                false => Err(Failure::killed().into()),
            };
        }
        if let Some(begun) =
            self.come_to_connection(CommandByte::QUERY, Look::default(), None, context)?
        {
            return Ok(Some(begun));
        }
        // From here on it is done at once: what the target has now goes to nobody else.
        let Some((id, server)) = target.begin_kill() else {
            if !is_query {
                target.end();
            }
            return self.answer_ok(context).map(Some);
        };
        let kill = Kill { id, ..kill };
        let own = match &self.phase {
            Phase::Pooled(pooled) => pooled.connection.as_ref().map(|own| own.server),
            _ => None,
        };
        if own != Some(server) {
            // Two servers have threads of the same number.
            target.kill(KillOf {
                connection: id,
                sql: kill.sql(),
                is_query,
            });
            return self.answer_ok(context).map(Some);
        }
        // A client that ends closes its connection: the server would not know it any more.
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.current = Current {
                is_kill: true,
                ends: (!is_query).then_some(target),
                ..Current::default()
            };
        }
        self.send_kill(&kill, context).map(Some)
    }

    /// Sends it with the backend's id in place of the client's.
    fn send_kill(&mut self, kill: &Kill, context: &mut Context<'_>) -> Result<Begun, End> {
        let begun = self.send_command(context)?;
        if let Some(loan) = &mut self.up.loan {
            let _ = loan.buffers.consume(self.up.cleared);
            self.up.cleared = 0;
        }
        if let Phase::Pooled(pooled) = &mut self.phase {
            put_packet(&mut pooled.ahead, CommandByte::QUERY, kill.sql().as_bytes());
        }
        Ok(begun)
    }

    /// Runs a `KILL` of this session on its own server, for a client that is on another.
    pub(crate) fn kill_itself(
        &mut self,
        id: u32,
        kill: KillOf,
        context: &mut Context<'_>,
    ) -> Status {
        let Phase::Pooled(pooled) = &self.phase else {
            return Status::Waiting;
        };
        if self.pooled_id != id {
            return Status::Waiting;
        }
        let has_it = |own: &Connection| own.id == kill.connection;
        if pooled.connection.as_deref().is_some_and(has_it)
            && let Some(job) = self.kill_job(kill.sql, For::Client, context)
        {
            // Where too many wait the statement goes on, as where a server gets to a KILL too late.
            let _ = context.kills.ask(job);
        }
        match kill.is_query {
            true => Status::Waiting,
            false => self.stop(Failure::killed(), context),
        }
    }

    /// Replaces the server's error 1094 by OK if the command is a `KILL` whose target existed.
    pub(super) fn note_missed_kill(&mut self) {
        let is_kill = matches!(&self.phase, Phase::Pooled(pooled) if pooled.current.is_kill);
        if !is_kill || self.relay.last_error() != Some(NO_SUCH_THREAD) {
            return;
        }
        let mut payload = Vec::new();
        self.ok_of_its_own()
            .encode(OkHeader::Ok, self.relay.capabilities(), &mut payload);
        self.replace_error(NO_SUCH_THREAD, &payload);
    }
}
