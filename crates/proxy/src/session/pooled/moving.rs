//! A session that goes to another process of the proxy, or comes from one.
//!
//! It goes while it has no server connection, nothing of it is under way, and its client has been silent for a while: what the last
//! statement has left on its connection can't go, and may be asked for by the next one. TLS can't go, as its keys stay in the library.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Token;
use onecopy_net::evented::Stream;
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;

use super::last_result::LastResult;
use super::{Pooled, Stage};
use crate::backend::Part;
use crate::client::Client;
use crate::failure::Failure;
use crate::moved::{Arrived, MAX_BYTES, Moved, MovedStatement, Mover, SessionState};
use crate::pooling::clients::PooledClient;
use crate::pooling::look::{Reading, look};
use crate::pooling::statements::{ClientStatement, ClientStatements, Text};
use crate::session::address::ClientAddress;
use crate::session::{Context, Phase, Session, Status};

/// How long one stays that can't go.
const AGAIN: Duration = Duration::from_secs(30);

/// How long a client has to be silent.
const SILENCE: Duration = Duration::from_millis(250);

impl Session {
    /// Whether it may go to another process now.
    pub(crate) fn may_move(&self, now: Instant) -> bool {
        let Phase::Pooled(pooled) = &self.phase else {
            return false;
        };
        now.saturating_duration_since(self.moved) >= SILENCE
            && now.saturating_duration_since(self.began).as_secs() >= pooled.stays_until.into()
            && pooled.may_move()
            && self.server.is_none()
            && !self.client.stream.is_tls()
            && self.client.compressed.is_none()
            && !self.client.is_closed
            && !self.client.has_unsent()
            && !self.is_quitting
            && !self.is_starved
            && !self.is_busy
            && self.leaves_by.is_none()
            && self.relay.is_idle()
            && self.relay.client_is_between_payloads()
            && !self.relay.in_transaction()
            && self.up.is_empty()
            && self.down.is_empty()
    }

    /// Goes, if it can after all. Its place here is free then.
    pub(crate) fn go(&mut self, mover: &Mover, context: &mut Context<'_>) -> Status {
        let Some(bytes) = self.state(context.now).map(|state| state.pack()) else {
            self.note_stays(context.now);
            return Status::Waiting;
        };
        if bytes.len() > MAX_BYTES {
            self.note_stays(context.now);
            return Status::Waiting;
        }
        let Ok(socket) = self.client.stream.as_fd().try_clone_to_owned() else {
            return Status::Waiting;
        };
        // Its events would come here for as long as the other process has it.
        if self.client.stream.deregister(context.poller).is_err() {
            return Status::Waiting;
        }
        let moved = Moved {
            worker: context.worker,
            listener: Arc::clone(&self.listener),
            socket,
            bytes,
        };
        match mover.send(moved) {
            None => Status::Over,
            // Nobody takes it: it goes on here.
            Some(_) => self.watch_client(context),
        }
    }

    fn note_stays(&mut self, now: Instant) {
        self.stay_until(now + AGAIN);
    }

    fn stay_until(&mut self, until: Instant) {
        let age = until.saturating_duration_since(self.began).as_secs();
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.stays_until = u32::try_from(age).unwrap_or(u32::MAX);
        }
    }

    /// Has events of the client come here, and does what it has asked for meanwhile.
    fn watch_client(&mut self, context: &mut Context<'_>) -> Status {
        self.client.is_readable = true;
        match (self.client.stream).register_for_reading(context.poller, self.token) {
            Ok(()) => self.go_on(context),
            Err(_) => self.stop(Failure::client_lost(), context),
        }
    }

    /// All of it; `None` where something is in it that can't go.
    fn state(&self, now: Instant) -> Option<SessionState> {
        let Phase::Pooled(pooled) = &self.phase else {
            return None;
        };
        let (all, last_statement, last_prepare_failed) = pooled.statements.all();
        let statement = |(id, statement): (u32, &ClientStatement)| {
            let text = &statement.text;
            // How a text is read depends on these, of which the session may have had others when it was prepared.
            let reads_alike = [&b"sql_mode"[..], b"character_set_client"]
                .iter()
                .all(|name| text.meaning.get(name) == pooled.wanted.get(name));
            (reads_alike && statement.lost.is_none()).then(|| MovedStatement {
                id,
                sql: text.sql.clone(),
                meaning: text.meaning.clone(),
                parameters: statement.parameters,
                types: statement.types.clone(),
            })
        };
        let statements = all.map(statement).collect::<Option<_>>()?;
        let changes = match &pooled.reads {
            None => None,
            Some(reads) => Some(reads.moved()?),
        };
        let age = now.saturating_duration_since(self.began).as_millis();
        Some(SessionState {
            listener: self.listener.config.name.clone(),
            id: self.pooled_id,
            user: self.user.clone(),
            address: self.address.0,
            agreed: pooled.agreed,
            nonce: pooled.nonce,
            shared: pooled.key.capabilities,
            collation: pooled.key.collation,
            status: self.relay.status(),
            age_millis: u64::try_from(age).unwrap_or(u64::MAX),
            commands: self.relay.commands(),
            knows_of_losses_itself: self.knows_of_losses_itself,
            tells_client: pooled.tells_client,
            has_several: pooled.has_several,
            wanted: (*pooled.wanted).clone(),
            initial: (*pooled.initial).clone(),
            statements,
            last_statement,
            last_prepare_failed,
            last_insert_id: pooled.last_insert_id,
            is_fresh: pooled.last.is_fresh,
            has_diagnostics: pooled.last.has_diagnostics,
            is_to_clear: pooled.last.is_to_clear,
            changes,
        })
    }

    /// A session whose state is still to [arrive](Self::arrive).
    pub(crate) fn arriving(stream: Stream, arrived: &Arrived, token: Token, now: Instant) -> Self {
        let client = Client {
            stream,
            address: arrived.state.address,
            listener: Arc::clone(&arrived.listener),
        };
        Self::new(client, token, now)
    }

    /// It is what it was elsewhere, and goes on.
    pub(crate) fn arrive(&mut self, arrived: Arrived, context: &mut Context<'_>) -> Status {
        self.entrance = context.counters.entrance(&self.listener.config.name);
        context.counters.entrances[self.entrance].sessions += 1;
        let Some(pool) = self.listener.pool.clone() else {
            return Status::Over;
        };
        let state = arrived.state;
        let part = match self.listener.config.replica_reads {
            Some(_) => Part::Writes,
            None => Part::All,
        };
        let key = pool.key(&state.user, state.shared, state.collation, part);
        let recipient = &context.connections.recipient;
        let client = PooledClient::new(state.id, &state.user, recipient, context.index);
        pool.clients.insert(&client);
        let mut pooled = Pooled::new(
            &self.listener,
            &pool,
            key,
            None,
            state.tells_client,
            client,
            context.now,
        );
        pooled.agreed = state.agreed;
        pooled.nonce = state.nonce;
        pooled.has_several = state.has_several;
        pooled.last_insert_id = state.last_insert_id;
        pooled.last = LastResult {
            is_fresh: state.is_fresh,
            has_diagnostics: state.has_diagnostics,
            is_to_clear: state.is_to_clear,
            ..LastResult::default()
        };
        if let Some(reads) = &mut pooled.reads {
            reads.restore(state.changes.as_ref());
        }
        pooled.comes_from_some_server();
        let statement = |moved: MovedStatement| {
            let reading = Reading::of(state.status, &moved.meaning, state.collation);
            let look = look(&moved.sql, reading);
            let text = Text::new(moved.sql, moved.meaning, look);
            let statement = ClientStatement {
                text: pool.texts.intern(text),
                parameters: moved.parameters,
                types: moved.types,
                rule: None,
                ruled: 0,
                lost: None,
                digest: None,
            };
            (moved.id, statement)
        };
        let statements = state.statements.into_iter().map(statement);
        let (last, has_failed) = (state.last_statement, state.last_prepare_failed);
        pooled.statements = ClientStatements::restored(statements, last, has_failed);
        pooled.initial = Arc::new(state.initial);
        pooled.wanted = match state.wanted == *pooled.initial {
            true => Arc::clone(&pooled.initial),
            false => Arc::new(state.wanted),
        };
        self.relay = Pooled::relay(state.shared).with_status(state.status);
        self.relay.set_commands(state.commands);
        self.user = state.user;
        self.address = ClientAddress(state.address);
        self.pooled_id = state.id;
        self.user_place = arrived.user_place.map(Box::new);
        self.knows_of_losses_itself = state.knows_of_losses_itself;
        let age = Duration::from_millis(state.age_millis);
        self.began = context.now.checked_sub(age).unwrap_or(context.now);
        self.phase = Phase::Pooled(Box::new(pooled));
        if let Some(until) = arrived.stays_until {
            self.stay_until(until);
        }
        self.watch_client(context)
    }
}

impl Pooled {
    /// Whether it has nothing that can't go to another process.
    fn may_move(&self) -> bool {
        matches!(self.stage, Stage::Detached)
            && self.connection.is_none()
            && self.pins.is_empty()
            && self.exchange.is_none()
            && self.ahead.is_empty()
            && self.words.is_empty()
            && !self.held.has_cursors()
            && self.refused.is_none()
            && !self.passes_over
            && self.waited.is_none()
            && self.without_backend.is_none()
            && self.hold_until.is_none()
            && !self.is_resting
            && !self.has_insert_id
            && !self.has_unknown_state()
            && self.has_results.is_none()
            && !self.has_characteristics
            && !self.awaits_cancel()
            && self.changed.is_none()
    }
}

/// The stream of a client whose socket has come from elsewhere.
pub(crate) fn stream_of(socket: OwnedFd) -> std::io::Result<Stream> {
    match socket_domain(&socket)? == AddressFamily::UNIX {
        true => std::os::unix::net::UnixStream::from(socket).try_into(),
        false => std::net::TcpStream::from(socket).try_into(),
    }
}
