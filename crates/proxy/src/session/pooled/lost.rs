//! A server that is lost while its session needs it no more than any other one: the session goes on without it.
//!
//! ```text
//!   nothing of the command was sent            --> it waits for another connection
//!   a read was sent, nothing of its result came --> with `retry-reads` it is sent once more
//!   the proxy saw to the connection alone       --> it has no connection
//!   it was between the commands of a transaction --> the session ends with error 2013, the answer to the next command
//!   anything else                              --> the session ends with error 2013
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use onecopy_mysql_proto::StatusFlags;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, ErrPacket, err};

use super::failover::fate_of_transaction;
use super::serve::Begun;
use super::{After, Current, IN_TRANSACTION, Pooled, Stage};
use crate::config::Mode;
use crate::failure::Failure;
use crate::pooling::connection::Connection;
use crate::pooling::exchange::Exchange;
use crate::pooling::look::Look;
use crate::pooling::refusals::Refused;
use crate::session::{Context, End, Phase, Session};

/// The longest command that is kept.
const MOST_BYTES: usize = 16 << 10;

/// How many connections a command may lose before it is sent.
const MOST_LOST: u8 = 3;

/// `ER_SERVER_SHUTDOWN`.
pub(super) const SERVER_SHUTDOWN: u16 = 1053;

/// The same, MariaDB's `ER_CONNECTION_KILLED` and MySQL's `ER_CLIENT_INTERACTION_TIMEOUT`: the server closes behind them.
pub(super) const FAREWELLS: [u16; 3] = [SERVER_SHUTDOWN, 1927, 4031];

/// A read that is kept until its result begins, and what has become of it before.
/// In a box: idle clients are many, and have none.
#[derive(Debug, Default)]
pub(super) struct Lost(Option<Box<Loss>>);

#[derive(Debug, Default)]
struct Loss {
    /// The command under way as its client has sent it, where it may be sent once more.
    command: Option<Box<[u8]>>,
    /// Where it was lost first.
    first: Option<First>,
    /// Connections that the command that is next has lost.
    connections: u8,
}

/// The server, by its number among those of the pool, and when it was lost. Its other connections of that time are likely to be lost too: the
/// command is not sent there.
#[derive(Debug, Clone, Copy)]
struct First {
    server: u32,
    time: Instant,
}

impl Lost {
    /// Whether the command under way may be sent once more.
    #[inline]
    pub(super) fn keeps_command(&self) -> bool {
        let loss = self.0.as_ref();
        loss.is_some_and(|loss| loss.command.is_some())
    }

    #[inline]
    fn first(&self) -> Option<First> {
        self.0.as_ref()?.first
    }

    fn loss_mut(&mut self) -> &mut Loss {
        self.0.get_or_insert_default()
    }

    /// A command that was not sent yet does without one more connection; whether it may.
    pub(super) fn may_lose_another(&mut self) -> bool {
        let loss = self.loss_mut();
        loss.connections += 1;
        loss.connections <= MOST_LOST
    }

    /// Whether the reply to a command that may be sent once more is the error of a server that is shutting down.
    #[inline]
    pub(super) fn is_turned_away(&self, reply: &[u8]) -> bool {
        let [low, high] = SERVER_SHUTDOWN.to_le_bytes();
        self.keeps_command()
            && reply.get(HEADER_BYTES..HEADER_BYTES + 3) == Some(&[err::HEADER, low, high])
    }

    /// The command under way is answered.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.0 = None;
    }

    /// The command that is next was sent, or refused.
    #[inline]
    pub(super) fn comes_to_next(&mut self) {
        if let Some(loss) = &mut self.0 {
            loss.connections = 0;
        }
    }
}

impl Session {
    /// Keeps a copy of the command that is about to be sent, where it may be sent once more.
    #[inline]
    pub(super) fn keep_read(&mut self, command: CommandByte, look: Look) {
        if self.listener.config.retry_reads {
            self.keep_if_read(command, look);
        }
    }

    #[cold]
    fn keep_if_read(&mut self, command: CommandByte, look: Look) {
        let status = self.relay.status();
        let asks_for_cursor = self.asks_for_cursor(command);
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let bytes = self.up.pending();
        let packet = whole_packet(bytes).filter(|packet| packet.len() <= MOST_BYTES);
        let changes_nothing = match command {
            CommandByte::STMT_PREPARE => true,
            CommandByte::QUERY | CommandByte::STMT_EXECUTE => {
                look.only_reads() && !look.refers_to_last_result() && !asks_for_cursor
            }
            _ => false,
        };
        let may_be_kept = changes_nothing
            && pooled.mode == Mode::Transaction
            && pooled.lost.first().is_none()
            && !look.is_partial
            && status.contains(StatusFlags::AUTOCOMMIT)
            && !pooled.needs_connection(status);
        let kept = packet.filter(|_| may_be_kept).map(Box::from);
        if kept.is_some() || pooled.lost.keeps_command() {
            pooled.lost.loss_mut().command = kept;
        }
    }

    /// The server is lost. Whether the session can do without it: nothing of it was left there but what a question about warnings would
    /// have found, and nothing was sent there that may not be sent once more.
    pub(super) fn lose_connection(&mut self, context: &mut Context<'_>) -> bool {
        let status = self.relay.status();
        let is_unanswered = self.relay.outstanding() == 1
            && self.relay.client_is_between_payloads()
            && !self.relay.reply_begun()
            && self.down.cleared == 0;
        // Whoever has gone waits for nothing.
        let is_awaited = !self.client.is_closed;
        let (is_idle, cleared) = (self.relay.is_idle(), self.up.cleared);
        let is_answered = self.down.cleared == 0;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        let may_be = pooled.mode == Mode::Transaction && !self.has_said_goodbye;
        if !may_be || !matches!(pooled.stage, Stage::Attached) {
            return false;
        }
        let waits_with_command =
            matches!(pooled.after, After::Command | After::Wait | After::CatchUp);
        // It concerns the connection alone, or reads go to the primary where its answer is lost.
        let is_of_connection = matches!(
            pooled.after,
            After::Trackers | After::Forgotten | After::OwnChange | After::Barrier
        );
        let is_under_way = !is_idle || pooled.exchange.is_some() && !is_of_connection;
        let can_do_without = match (&pooled.exchange, is_idle) {
            (None, true) => pooled.ahead.is_empty() && cleared == 0,
            (Some(_), true) if is_of_connection => cleared == 0 && is_answered,
            // What comes before a command, of which nothing was sent yet.
            (Some(_), true) if cleared == 0 && waits_with_command && is_awaited => {
                pooled.exchange = None;
                pooled.ahead.clear();
                pooled.lost.may_lose_another()
            }
            (_, false) => is_unanswered && is_awaited && pooled.may_send_again(),
            _ => false,
        };
        if !can_do_without || pooled.needs_connection(status) {
            return false;
        }
        if !is_idle && !self.send_again(context) {
            return false;
        }
        if let Phase::Pooled(pooled) = &mut self.phase
            && let Some(connection) = &pooled.connection
        {
            if !is_idle {
                pooled.lost.loss_mut().first.get_or_insert(First {
                    server: connection.server,
                    time: context.now,
                });
            }
            if is_under_way {
                // Elsewhere first: it may be shutting down.
                pooled.tried.push(Arc::clone(connection.place.backend()));
            }
        }
        self.do_without(!is_idle, context);
        true
    }

    /// The connection is gone, and the session not.
    fn do_without(&mut self, is_in_command: bool, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        pooled.exchange = None;
        pooled.ahead.clear();
        if pooled.has_hidden_change() {
            pooled.found_own_change(None);
        }
        pooled.client.gives_back();
        pooled.stop_resting();
        if let Some(connection) = pooled.connection.take() {
            context.connections.forget(connection.slot);
        }
        (pooled.stage, pooled.hold_until) = (Stage::Detached, None);
        // What the statement before has left is not elsewhere.
        pooled.last.moves(true);
        pooled.forget_cancel();
        pooled.turns_again();
        if let Some(mut server) = self.server.take() {
            server.leave(is_in_command, context);
        }
        self.down.discard(context.pool);
        self.moved = context.now;
    }

    /// The server is lost. Whether the session goes on without it, if only to tell its client so.
    pub(super) fn goes_on_without(&mut self, why: &str, context: &mut Context<'_>) -> bool {
        self.lose_connection(context) || self.lose_transaction(why, context)
    }

    /// The server is lost between two commands of a transaction. Whether the session waits for the next one, to say so: a client that finds its
    /// connection closed instead is not told what has become of its transaction.
    fn lose_transaction(&mut self, why: &str, context: &mut Context<'_>) -> bool {
        let is_between = self.relay.is_idle() && self.relay.in_transaction() && self.up.is_empty();
        let is_there = !self.client.is_closed && !self.has_said_goodbye;
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        let is_between = is_between && pooled.exchange.is_none() && self.down.cleared == 0;
        if !is_between || !is_there || !matches!(pooled.stage, Stage::Attached) {
            return false;
        }
        let when = format!(
            "between commands{}",
            fate_of_transaction(pooled.may_have_ended)
        );
        let failure = Failure::backend_lost(self.backend_name(), &when, why);
        self.do_without(false, context);
        if let Phase::Pooled(pooled) = &mut self.phase {
            let refused = Refused {
                is_end: true,
                ..failure.into()
            };
            pooled.refused = Some(Box::new(refused));
        }
        true
    }

    /// The session ends with the next command of a transaction whose server was lost before. It waits for that.
    #[cold]
    pub(super) fn end_of_transaction(&mut self, refused: Box<Refused>) -> Result<Begun, End> {
        match self.up.pending().get(HEADER_BYTES) {
            None => {
                if let Phase::Pooled(pooled) = &mut self.phase {
                    pooled.refused = Some(refused);
                }
                Ok(Begun::Needs(HEADER_BYTES + 1, 0))
            }
            Some(&command) if CommandByte(command) == CommandByte::QUIT => Err(End::Clean),
            Some(_) => Err(Failure::backend_was_lost(refused.message).into()),
        }
    }

    /// The server is shutting down, and has not executed the command. Where it can't be sent once more, its client hears so.
    #[cold]
    pub(super) fn turned_away(&mut self, context: &mut Context<'_>) {
        if !self.lose_connection(context)
            && let Phase::Pooled(pooled) = &mut self.phase
        {
            pooled.lost.answered();
        }
    }

    /// The server has an error for the proxy's own commands.
    pub(super) fn exchange_failed(
        &mut self,
        exchange: Box<Exchange>,
        after: After,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let error = exchange.error().unwrap_or_default().to_vec();
        let code = ErrPacket::decode(&error).map(|error| error.code);
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.exchange = Some(exchange);
        }
        if code.is_ok_and(|code| FAREWELLS.contains(&code)) && self.lose_connection(context) {
            return Ok(());
        }
        Err(self.replay_failed(error, after))
    }

    /// The statement of the command that is next could not be prepared again: as it would have failed at the execution, because its table is
    /// gone, or it may not run now. A server that closes behind this error has said nothing about the statement.
    pub(super) fn prepare_failed(
        &mut self,
        exchange: Box<Exchange>,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let error = exchange.unprepared().unwrap_or_default().to_vec();
        let code = ErrPacket::decode(&error).map(|error| error.code);
        if code.is_ok_and(|code| FAREWELLS.contains(&code)) {
            if let Phase::Pooled(pooled) = &mut self.phase {
                pooled.exchange = Some(exchange);
            }
            if self.lose_connection(context) {
                return Ok(());
            }
        }
        if let Phase::Pooled(pooled) = &mut self.phase {
            (pooled.exchange, pooled.current.preparing) = (None, None);
            pooled.lost.answered();
        }
        self.answer_unprepared(&error, context)?;
        if let Phase::Pooled(pooled) = &mut self.phase {
            pooled.comes_to_next();
        }
        Ok(())
    }

    /// Puts the command that was not answered in front of what its client has sent since, as if nothing of it had been sent; `false` if there is
    /// no memory for that, and all is as it was.
    #[cold]
    fn send_again(&mut self, context: &mut Context<'_>) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return false;
        };
        let Some(command) = pooled.lost.loss_mut().command.take() else {
            return false;
        };
        if !self.up.put_in_front(&command, context.pool) {
            return false;
        }
        pooled.current = Current::default();
        // It was counted, and its rule is known.
        (pooled.is_counted, pooled.is_ruled) = (true, true);
        pooled.pool.counts.read_retries.fetch_add(1, Relaxed);
        self.count_unanswered(context);
        let commands = self.relay.commands().saturating_sub(1);
        let status = self.relay.status();
        self.relay = Pooled::relay(self.relay.capabilities()).with_status(status);
        self.relay.set_commands(commands);
        self.client.is_readable = true;
        true
    }
}

impl Pooled {
    /// Whether a connection is not for a second try: the server of the first one had it already, or is to be left while there are others.
    #[inline]
    pub(super) fn suspects(&self, connection: &Connection) -> bool {
        let first = self.lost.first();
        first.is_some_and(|first| self.had(first, connection))
    }

    #[cold]
    fn had(&self, first: First, connection: &Connection) -> bool {
        let backend = connection.place.backend();
        let is_tried = || self.tried.iter().any(|tried| Arc::ptr_eq(tried, backend));
        connection.server == first.server && (connection.made <= first.time || is_tried())
    }

    /// Whether the command under way, which is not answered, may be sent once more.
    fn may_send_again(&self) -> bool {
        self.lost.keeps_command() && !self.client.is_killed() && !self.awaits_cancel()
    }

    /// Whether something of the session is on its connection, or may be, that can't be had elsewhere.
    pub(super) fn needs_connection(&self, status: StatusFlags) -> bool {
        !self.pins.is_empty()
            || status.intersects(IN_TRANSACTION)
            || self.has_insert_id
            || self.has_collation
            || self.has_mode
            || self.has_switches
            || self.may_be_in_transaction
            || self.has_characteristics
            || self.has_unreported
    }
}

/// The packet that comes next, where all of it is there.
fn whole_packet(bytes: &[u8]) -> Option<&[u8]> {
    let &[a, b, c, _] = bytes.first_chunk::<HEADER_BYTES>()?;
    bytes.get(..HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize)
}
