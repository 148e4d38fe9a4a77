//! How a session makes a connection that there is none of yet.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use super::Stage;
use super::connecting::Connecting;
use crate::backend::{Backend, Nobody, Part};
use crate::failure::{Failure, NO_ANSWER};
use crate::open_files;
use crate::pooling::connections::Connections;
use crate::pooling::servers::NoRoom;
use crate::session::{Context, End, Phase, Session};

impl Session {
    /// From now on the session is one of the listener as the last reload has left it: its accounts and servers are in force.
    pub(super) fn follow_reloads(&mut self) {
        let newest = self.newest_pooled();
        if !Arc::ptr_eq(newest, &self.listener) {
            self.listener = Arc::clone(newest);
        }
    }

    /// Begins a new connection, where there may be one more. Where there is no backend the command that is next gets an error.
    pub(super) fn connect(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        self.follow_reloads();
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let key = Arc::clone(&pooled.key);
        if key.rests.load(SeqCst) > 0 {
            // Those that rest give theirs back for it, or say that they do not.
            self.wait_for_connection(context);
            if key.rests.load(SeqCst) > 0 {
                return Ok(false);
            }
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let ticket = match &pooled.stage {
            Stage::Waiting(ticket) => Some(ticket.number),
            _ => None,
        };
        let now = context.now;
        let refused = pooled.refused_by(&self.listener.backends, now);
        let mut tried = pooled.tried.clone();
        tried.extend(refused.iter().map(|(backend, ..)| Arc::clone(backend)));
        if !refused.is_empty()
            && self
                .listener
                .backends
                .choose_for(key.part, &tried, &[])
                .err()
                == Some(Nobody::Up)
        {
            return match key.part {
                Part::Reads | Part::ReadsOf(_) => self.read_from_primary(context),
                _ => Ok(self.wait_or_refuse(refused, context)),
            };
        }
        if !pooled.pool.may_grow(&key, ticket, now) {
            return Ok(self.wait_for_connection(context));
        }
        // Who waits comes by here with each event: with the pool full there is nothing to choose.
        let all = self.listener.backends.all().iter();
        let all = all.filter(|backend| {
            key.part == Part::All || backend.serves_part(key.part) != Some(false)
        });
        let mut all = all.peekable();
        let is_full = all.peek().is_some() && pooled.pool.is_full(all);
        if is_full && !(context.connections).close_idle(&pooled.pool, &pooled.key, now) {
            return Ok(self.wait_for_connection(context));
        }
        let mut full: Vec<Arc<Backend>> = Vec::new();
        let mut next: Option<Instant> = None;
        let (place, room) = loop {
            match self.listener.backends.choose_for(key.part, &tried, &full) {
                // It may be a replica, which would refuse what it is sent.
                Ok(place) if place.backend().is_part_awaited(key.part) => {
                    drop(place);
                    self.wait_for_backend(context);
                    return Ok(false);
                }
                Ok(place) => match pooled.pool.grow(place.backend(), &pooled.key, now) {
                    Ok(room) => break (place, room),
                    Err(why) => {
                        if let NoRoom::Until(when) = why {
                            next = Some(next.map_or(when, |next| next.min(when)));
                        }
                        full.push(Arc::clone(place.backend()));
                    }
                },
                Err(Nobody::Full) => {
                    if let Some(next) = next {
                        context.connections.wake_at(next, &pooled.pool);
                        return Ok(self.wait_for_connection(context));
                    }
                    // One of another kind makes room.
                    match (context.connections).close_idle(&pooled.pool, &pooled.key, now) {
                        true => full.clear(),
                        false => return Ok(self.wait_for_connection(context)),
                    }
                }
                Err(Nobody::Up) if key.part.is_of_replicas() => {
                    return self.read_from_primary(context);
                }
                Err(Nobody::Up) => {
                    if self.has_no_backend() {
                        return Err(Failure::backend_removed().into());
                    }
                    self.wait_for_backend(context);
                    return Ok(false);
                }
            }
        };
        let Some(account) = self.listener.accounts.find(&pooled.key.user) else {
            return Err(Failure::account_removed(&pooled.key.user).into());
        };
        // Without it the server would be asked with an empty password, and its refusal would hold back those that log in rightly.
        if !account.can_log_in() {
            return Err(Failure::password_unknown(&pooled.key.user).into());
        }
        let backend = Arc::clone(place.backend());
        let Some(address) = backend.next_address(&[]) else {
            pooled.tried.push(backend);
            return self.connect(context);
        };
        let address = Arc::new(address);
        let slot = context.connections.open(context.index);
        // From now on this worker may have one that others wait for.
        pooled.pool.note_idle(&context.connections.recipient, 0);
        let begun = Connecting::begin(
            (&self.listener, account),
            (place, room),
            &pooled.key,
            Arc::clone(&address),
            slot,
            (context.poller, now),
        );
        match begun {
            Ok((connecting, server)) => {
                self.server = Some(server);
                self.server_token = Connections::token(slot);
                self.server_address = Some(address);
                let connecting = Stage::Connecting(Box::new(connecting));
                if let Stage::Waiting(ticket) = std::mem::replace(&mut pooled.stage, connecting) {
                    pooled.waited = Some((ticket.number, ticket.since));
                    ticket.end(false, now);
                }
                self.go_on_connecting(context)
            }
            Err(error) => {
                context.connections.forget(slot);
                if open_files::are_used_up(&error) {
                    return Err(Failure::open_files().into());
                }
                backend.connect_failed(&address);
                pooled.fails_because(format!("backend '{}': {error}", backend.name()));
                pooled.tried.push(backend);
                self.connect(context)
            }
        }
    }

    pub(super) fn go_on_connecting(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let (Stage::Connecting(connecting), Some(server)) = (&mut pooled.stage, &mut self.server)
        else {
            return Ok(false);
        };
        match connecting.go_on(server) {
            Ok(false) => Ok(false),
            Ok(true) => self.pooled_connected(context),
            Err(why) => self.connect_failed(&why, context),
        }
    }

    /// Its time is over: it is given up if nothing has come meanwhile.
    pub(super) fn connect_overdue(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        if let Some(server) = &mut self.server {
            server.look_again();
        }
        self.go_on_connecting(context)?;
        if let Phase::Pooled(pooled) = &self.phase
            && let Stage::Connecting(connecting) = &pooled.stage
            && context.now >= connecting.deadline
        {
            self.connect_failed(NO_ANSWER, context)?;
        }
        Ok(())
    }

    /// The connection is logged in and set up.
    fn pooled_connected(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let Stage::Connecting(connecting) = std::mem::replace(&mut pooled.stage, Stage::Detached)
        else {
            return Ok(false);
        };
        let Some(server) = self.server.take() else {
            return Ok(false);
        };
        pooled.tried.clear();
        pooled.reason = None;
        let connection = connecting.finish(server.stream, context.now);
        Ok(self.attached(connection, context).is_none())
    }

    /// This backend does not do now: another one is tried.
    pub(super) fn connect_failed(
        &mut self,
        why: &str,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        let Stage::Connecting(connecting) = std::mem::replace(&mut pooled.stage, Stage::Detached)
        else {
            return Ok(false);
        };
        context.connections.forget(connecting.slot);
        self.server_address = None;
        let backend = Arc::clone(connecting.place.backend());
        pooled.fails_because(format!("backend '{}': {why}", backend.name()));
        if !connecting.failed(context.now) {
            pooled.tried.push(backend);
        }
        if let Some(mut server) = self.server.take() {
            server.leave(false, context);
        }
        self.attach(context)
    }
}
