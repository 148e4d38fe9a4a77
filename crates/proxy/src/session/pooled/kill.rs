//! A `KILL` by a client of a pooled listener: ids of clients are the proxy's.
//!
//! It is run on the server of the connection that the client has at that moment, as two servers have threads of the same number. Where
//! the client that kills is on the same server, its own connection runs the `KILL`. Else the session that is to be killed has it run,
//! as for its `query-timeout`, and the client that kills gets its OK at once.
//!
//! Ids that servers have given are known to clients by `CONNECTION_ID()` in expressions, which keeps the connection, and by the lists of threads. With one
//! server they go there. With several, such an id means the client that was told it, or a thread of the server that the killing
//! client stays on; if it may mean neither or both, the `KILL` is refused.
//!
//! Where the client gives its connection back before the server executes the `KILL`, the connection is closed and the server does not
//! know it any more. The server's error 1094 is replaced by OK then: the client was there.

use std::sync::Arc;

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, OkHeader};

use super::Current;
use super::login::FIRST_ID;
use super::serve::Begun;
use super::timeout::QueryTimeout;
use crate::failure::Failure;
use crate::kill::{Answer, For};
use crate::pooling::clients::PooledClient;
use crate::pooling::look::{Kind, Look};
use crate::pooling::refusals::Refused;
use crate::session::kill::{Found, Kill, look};
use crate::session::{Context, End, Phase, Session, Status};

/// `ER_KILL_DENIED_ERROR`.
const NOT_OWNER: u16 = 1095;

/// `ER_NO_SUCH_THREAD`.
const NO_SUCH_THREAD: u16 = 1094;

/// Whom a `KILL` is for.
enum Whom {
    /// The client that had this connection of a server's, or whichever it has.
    Client(Arc<PooledClient>, Option<u32>),
    /// For the server to say that the client's connection goes to.
    Servers,
    /// It is not run.
    Refused(Refused),
}

impl Whom {
    fn refused(answer: Answer) -> Self {
        match answer {
            Answer::Failed {
                code,
                sql_state,
                message,
            } => Self::Refused(Refused {
                code,
                sql_state,
                message,
                is_end: false,
            }),
            Answer::Done => Self::Servers,
        }
    }
}

impl Session {
    /// Runs a `KILL` of a client; `None` for everything else, which goes to the backend as it is.
    pub(super) fn begin_kill(
        &mut self,
        command: CommandByte,
        seen: Look,
        whole: usize,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        if !seen.has(Kind::Kill) && command != CommandByte::PROCESS_KILL {
            return Ok(None);
        }
        let found = match self.up.pending().get(HEADER_BYTES..whole) {
            _ if seen.is_several => Found::Unclear,
            Some(payload) => look(payload, true, self.relay.capabilities()),
            // What is that long is not looked at.
            None => Found::Unclear,
        };
        let whom = match found {
            _ if command == CommandByte::STMT_PREPARE => self.whom_by_prepared(found),
            Found::Kill(kill) => self.whom(kill.id),
            Found::Unclear => self.whom_by_server(Answer::unclear),
            _ => Whom::Servers,
        };
        match (whom, found) {
            (Whom::Client(target, id), Found::Kill(kill)) => {
                self.begin_kill_of(kill, &target, id, context)
            }
            (Whom::Refused(answer), _) => self.refuse(answer, context).map(Some),
            _ => Ok(None),
        }
    }

    /// Whom this number means. No two clients of the proxy's have the same, and all servers give the same numbers.
    fn whom(&self, id: u32) -> Whom {
        let Phase::Pooled(pooled) = &self.phase else {
            return Whom::Servers;
        };
        if id >= FIRST_ID {
            // No server has given this id: if no client has it the error comes from there, with all that follows from an error.
            let client = pooled.pool.clients.find(id);
            return client.map_or(Whom::Servers, |client| Whom::Client(client, None));
        }
        if !self.has_several_servers() {
            return Whom::Servers;
        }
        let mut told = pooled.pool.clients.told(id, &self.user);
        match (self.kept_server(), told.pop()) {
            (Some(_), None) => Whom::Servers,
            (Some(own), Some((_, server))) if own == server && told.is_empty() => Whom::Servers,
            (None, Some((client, _))) if told.is_empty() => Whom::Client(client, Some(id)),
            _ => Whom::refused(Answer::unknown(
                id,
                &"a thread of any of this listener's servers may have this id; run BEGIN, SHOW PROCESSLIST and KILL on one \
                  connection, which stays on one server until COMMIT",
            )),
        }
    }

    /// Only a server can tell whom it means. Each would tell otherwise, unless the client knows which one it is on.
    fn whom_by_server(&self, refused: fn() -> Answer) -> Whom {
        match self.has_several_servers() && self.kept_server().is_none() {
            true => Whom::refused(refused()),
            false => Whom::Servers,
        }
    }

    /// It may be executed on another server than it was prepared on.
    fn whom_by_prepared(&self, found: Found) -> Whom {
        let is_by_number = matches!(found, Found::Kill(_) | Found::Unclear);
        match is_by_number && self.has_several_servers() {
            true => Whom::refused(Answer::prepared()),
            false => Whom::Servers,
        }
    }

    /// Whether an id of a server's may be that of another server's, too. The addresses of a single backend may all be of one server.
    fn has_several_servers(&self) -> bool {
        let mut newest = &self.listener;
        while let Some(successor) = newest.successor.get() {
            newest = successor;
        }
        match (newest.backends.all(), &self.phase) {
            ([one], Phase::Pooled(pooled)) => {
                pooled.pool.clients.servers_among(&one.addresses()) > 1
            }
            (all, _) => all.len() > 1,
        }
    }

    /// The server that the client stays on for a while, so that ids which it has read may be from there.
    fn kept_server(&self) -> Option<u32> {
        let Phase::Pooled(pooled) = &self.phase else {
            return None;
        };
        let keeps_all = pooled.mode.keeps_connection() && pooled.reads.is_none();
        let is_kept = keeps_all || pooled.has_state(self.relay.status());
        let connection = pooled.connection.as_ref().filter(|_| is_kept);
        connection.map(|connection| connection.server)
    }

    /// Runs a `KILL` of a client on the server of its connection, which has to have this id of the server's, if any.
    fn begin_kill_of(
        &mut self,
        kill: Kill,
        target: &Arc<PooledClient>,
        expected: Option<u32>,
        context: &mut Context<'_>,
    ) -> Result<Option<Begun>, End> {
        if target.user != self.user {
            let text = format!("You are not owner of thread {}", kill.id);
            return self
                .answer_error(NOT_OWNER, *b"HY000", &text, context)
                .map(Some);
        }
        let is_query = kill.what.starts_with("QUERY");
        if target.id == self.pooled_id {
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
        let (id, server) = match (target.begin_kill(), expected) {
            (Some((id, server)), None) => (id, server),
            (Some((id, server)), Some(expected)) if id == expected => (id, server),
            (_, Some(id)) => {
                let text = format!("Unknown thread id: {id}");
                return self
                    .answer_error(NO_SUCH_THREAD, *b"HY000", &text, context)
                    .map(Some);
            }
            (None, None) => {
                if !is_query {
                    target.end();
                }
                return self.answer_ok(context).map(Some);
            }
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
                ends: (!is_query).then(|| Arc::clone(target)),
                ..Current::default()
            };
        }
        // With the backend's id in place of the client's.
        self.send_instead(CommandByte::QUERY, kill.sql().as_bytes(), context)
            .map(Some)
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
