//! How a session comes to a connection, and how it gives it back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::StatusFlags;
use onecopy_net::evented::{ReadOutcome, Stream};
use onecopy_wire::{BufferConfig, Buffers};

use super::{IN_TRANSACTION, Pooled, Stage};
use crate::config::Mode;
use crate::pooling::connection::Connection;
use crate::pooling::connections::Connections;
use crate::pooling::pin::Pin;
use crate::session::peer::Peer;
use crate::session::{Context, End, Phase, Session, Status};

/// A connection that was used a moment ago is there: its server's close would have been an event.
const FRESH: Duration = Duration::from_millis(10);

impl Session {
    /// Has a connection, or finds a way to one: `false` where the session has to wait.
    pub(super) fn attach(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(false);
        };
        match pooled.stage {
            Stage::Attached => return Ok(true),
            Stage::Connecting(_) => return self.go_on_connecting(context),
            Stage::Waiting(_) | Stage::Detached => {}
        }
        let ticket = match &pooled.stage {
            Stage::Waiting(ticket) => Some(ticket.number),
            _ => None,
        };
        if pooled.pool.is_paused() {
            pooled.fails_because("the listener is paused (RESUME on the admin listener)");
            self.wait_for_backend(context);
            return Ok(false);
        }
        let (key, index) = (Arc::clone(&pooled.key), context.index);
        if pooled.pool.may_take(&key, ticket) {
            while let Some(connection) = context.connections.take(&key, index, context.now) {
                match self.attached(connection, context) {
                    None => return Ok(true),
                    // It is in a schema, or its server has closed it meanwhile.
                    Some(connection) => context.connections.close(connection),
                }
            }
        }
        self.connect(context)
    }

    /// Takes a connection; gives it back where it is of no use.
    pub(super) fn attached(
        &mut self,
        mut connection: Box<Connection>,
        context: &mut Context<'_>,
    ) -> Option<Box<Connection>> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Some(connection);
        };
        // A connection that is in a schema can't leave it for none.
        let is_in_other = pooled.wanted.schema().is_none() && connection.actual.schema().is_some();
        if is_in_other || pooled.suspects(&connection) {
            return Some(connection);
        }
        let Some(mut stream) = connection.stream.take() else {
            return Some(connection);
        };
        let idle = context.now.saturating_duration_since(connection.idle_since);
        if idle >= FRESH && !is_quiet(&mut stream) {
            connection.stream = Some(stream);
            return Some(connection);
        }
        let mut peer = Peer::new(stream);
        peer.is_readable = false;
        self.server = Some(peer);
        self.server_token = Connections::token(connection.slot);
        self.server_address = Some(Arc::clone(&connection.address));
        let backend = connection.place.backend().name();
        self.route = context.counters.route(&self.listener.config.name, backend);
        let is_elsewhere = connection.key.part != pooled.last.part;
        if connection.last_user != pooled.number || is_elsewhere {
            pooled.last.moves(connection.has_diagnostics);
        }
        connection.last_user = pooled.number;
        pooled.client.takes(connection.id, connection.server);
        pooled.connection = Some(connection);
        pooled.stage = Stage::Attached;
        pooled.waited = None;
        // They are of this command's search.
        pooled.without_backend = None;
        pooled.tried.clear();
        pooled.reason = None;
        None
    }

    pub(super) fn wait_for_connection(&mut self, context: &mut Context<'_>) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        if let Stage::Detached = pooled.stage {
            context.connections.press(&pooled.pool);
            let here = (&context.connections.recipient, context.index);
            let again = pooled.waited.take();
            let ticket = pooled.pool.wait(&pooled.key, here, again, context.now);
            pooled.stage = Stage::Waiting(ticket);
        }
        false
    }

    /// What this session waited for under a number is there.
    pub(crate) fn granted(
        &mut self,
        number: u64,
        connection: Box<Connection>,
        context: &mut Context<'_>,
    ) -> Status {
        let is_waiting = match &self.phase {
            Phase::Pooled(pooled) => {
                matches!(&pooled.stage, Stage::Waiting(ticket) if ticket.number == number)
            }
            _ => false,
        };
        if !is_waiting {
            context
                .connections
                .release(connection, context.now, context.poller);
            return Status::Waiting;
        }
        if let Phase::Pooled(pooled) = &mut self.phase
            && let Stage::Waiting(ticket) = std::mem::replace(&mut pooled.stage, Stage::Detached)
        {
            pooled.waited = Some((ticket.number, ticket.since));
        }
        if let Some(connection) = self.attached(connection, context) {
            context.connections.close(connection);
        }
        self.go_on(context)
    }

    /// There may be room for a new connection.
    pub(crate) fn look_again(&mut self, number: u64, context: &mut Context<'_>) -> Status {
        match &self.phase {
            Phase::Pooled(pooled) if matches!(&pooled.stage, Stage::Waiting(ticket) if ticket.number == number) => {
                self.go_on(context)
            }
            // It has one meanwhile: then the room is for the next one.
            Phase::Pooled(pooled) => {
                pooled.pool.call();
                Status::Waiting
            }
            _ => Status::Waiting,
        }
    }

    /// The time of one that keeps what its last command has left may be over; `false` once it does not keep it any more.
    pub(crate) fn end_hold(&mut self, context: &mut Context<'_>) -> bool {
        match &self.phase {
            Phase::Pooled(pooled) if pooled.hold_until.is_none() && !pooled.is_resting => {
                return false;
            }
            Phase::Pooled(pooled) if pooled.is_held(context.now) => return true,
            Phase::Pooled(pooled) if pooled.rests(context.now) => return true,
            Phase::Pooled(_) => {}
            _ => return false,
        }
        if let Err(end) = self.settle(context) {
            let _ = self.end(end, context);
        }
        false
    }

    /// Gives the connection back; `is_marked` where it has to be made as new first.
    pub(super) fn detach(&mut self, is_marked: bool, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let (Some(mut connection), Some(peer)) = (pooled.connection.take(), self.server.take())
        else {
            return;
        };
        pooled.stage = Stage::Detached;
        pooled.waited = None;
        pooled.hold_until = None;
        pooled.stop_resting();
        pooled.forget_cancel();
        let shares_none = pooled.mode == Mode::Pass;
        if !pooled.client.gives_back() {
            return context.connections.close(connection);
        }
        connection.status = self.relay.status();
        let is_lost = peer.is_closed || peer.is_shut || peer.has_unsent();
        // Something may have arrived that nobody has asked for.
        let may_have_more = peer.is_readable && !is_marked;
        let mut stream = peer.stream;
        let is_lost = is_lost || may_have_more && !is_quiet(&mut stream);
        connection.stream = Some(stream);
        if is_lost || shares_none {
            return context.connections.close(connection);
        }
        self.give_back(connection, is_marked, context);
    }

    fn give_back(
        &mut self,
        connection: Box<Connection>,
        is_marked: bool,
        context: &mut Context<'_>,
    ) {
        let (now, poller) = (context.now, context.poller);
        match is_marked {
            true => context.connections.clean(connection, now, poller),
            false => context.connections.release(connection, now, poller),
        }
    }

    /// The session ends: what becomes of its connection.
    pub(in crate::session) fn leave_pool(&mut self, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        // A reset leaves it as it is.
        let has_role = pooled.pins.iter().any(|pin| pin == Pin::Role);
        pooled.unpin_all();
        pooled.stop_resting();
        pooled.pool.clients.remove(pooled.client.id);
        let is_in_order = matches!(pooled.stage, Stage::Attached)
            && self.relay.is_idle()
            && pooled.exchange.is_none()
            && pooled.ahead.is_empty()
            && self.up.cleared == 0
            && !has_role;
        if is_in_order {
            return self.detach(true, context);
        }
        if let Stage::Connecting(connecting) = std::mem::replace(&mut pooled.stage, Stage::Detached)
        {
            context.connections.forget(connecting.slot);
        }
        if let Some(connection) = pooled.connection.take() {
            context.connections.forget(connection.slot);
        }
    }

    /// Looks at the time of one that waits, connects or keeps its connection for its next command.
    pub(in crate::session) fn tick_pooled(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        let now = context.now;
        if pooled.timeout.is_some() {
            self.limit_time(context);
        }
        if self.tick_failover(context)? {
            return Ok(());
        }
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        match &pooled.stage {
            Stage::Waiting(ticket)
                if now.saturating_duration_since(ticket.since)
                    >= pooled.pool.config().wait_timeout =>
            {
                self.waited_in_vain(now);
            }
            Stage::Connecting(connecting) if now >= connecting.deadline => {
                return self.connect_overdue(context);
            }
            Stage::Attached if pooled.is_held(now) || pooled.rests(now) => {
                context.connections.hold(context.index);
            }
            Stage::Attached if pooled.hold_until.is_some() || pooled.is_resting => {
                return self.settle(context);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Pooled {
    /// Whether what the last command has left is kept for the next one.
    #[inline]
    pub(super) fn is_held(&self, now: Instant) -> bool {
        self.hold_until
            .is_some_and(|until| self.holds_until(until, now))
    }

    #[inline(never)]
    fn holds_until(&self, until: Instant, now: Instant) -> bool {
        match self.is_served() {
            true => now < until || self.pool.waiting_for(&self.key) == 0,
            // A drain waits for that time. A server that has lost its part, or its cluster, is left at once.
            false => now < until && self.is_drained(),
        }
    }

    /// Whether the session needs its connection for more than the command that is over.
    pub(super) fn is_kept(&self, status: StatusFlags, now: Instant) -> bool {
        self.has_state(status) || self.is_held(now)
    }

    /// Whether something of the session is on its connection that is nowhere else.
    pub(super) fn has_state(&self, status: StatusFlags) -> bool {
        !self.pins.is_empty()
            || status.intersects(IN_TRANSACTION)
            || self.exchange.is_some()
            || !self.ahead.is_empty()
    }
}

/// Whether nothing has arrived, and the other end is there.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut probe = Buffers::new(BufferConfig {
        initial_read: 64,
        max_read: 64,
        max_buffer: 64,
        idle_keep: 0,
    });
    matches!(stream.read(&mut probe), Ok(ReadOutcome::WouldBlock))
}
