//! A `KILL` by a client of a pooled listener: ids of clients are the proxy's.
//!
//! It is run on the server of the connection that the client has at that moment, as two servers have threads of the same number. Where
//! the client that kills is on the same server, its own connection runs the `KILL`. Else the session that is to be killed has it run,
//! as for its `query-timeout`, and the client that kills gets its OK at once.
//!
//! Where the client gives its connection back before the server executes the `KILL`, the connection is closed and the server does not
//! know it any more. The server's error 1094 is replaced by OK then: the client was there.

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, OkHeader};

use super::Current;
use super::login::FIRST_ID;
use super::serve::Begun;
use super::timeout::QueryTimeout;
use crate::failure::Failure;
use crate::kill::For;
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
            target.kill(is_query);
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

    /// Runs a `KILL` of this session on the server that it is on, for a client that is on another. Nothing where its connection has gone
    /// back meanwhile, or has nothing to do.
    pub(crate) fn kill_on_server(
        &mut self,
        id: u32,
        is_query: bool,
        context: &mut Context<'_>,
    ) -> Status {
        let is_busy = !self.relay.is_idle();
        let (Phase::Pooled(pooled), true) = (&mut self.phase, self.pooled_id == id) else {
            return Status::Waiting;
        };
        let is_there = pooled.client.is_killed() && is_busy;
        if is_query {
            if is_there {
                QueryTimeout::interrupt(&mut pooled.timeout);
                self.limit_time(context);
            }
            return Status::Waiting;
        }
        if is_there && let Some(job) = self.kill_job("CONNECTION", For::Client, context) {
            // Where too many wait, the server notices that the connection is closed.
            let _ = context.kills.ask(job);
        }
        self.stop(Failure::killed(), context)
    }

    /// Replaces the server's error 1094 by OK if the command is a `KILL` whose target existed; whether it is.
    pub(super) fn note_missed_kill(&mut self) -> bool {
        let last_error = self.relay.last_error();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        if !pooled.current.is_kill || last_error != Some(NO_SUCH_THREAD) {
            return false;
        }
        // The error is left on the connection, where nobody may find it.
        if let Some(connection) = &mut pooled.connection {
            connection.has_diagnostics = true;
        }
        pooled.last.forget();
        let mut payload = Vec::new();
        self.ok_of_its_own()
            .encode(OkHeader::Ok, self.relay.capabilities(), &mut payload);
        self.replace_error(NO_SUCH_THREAD, &payload);
        true
    }
}
