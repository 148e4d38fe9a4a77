//! Both directions of a session that is logged in.
//!
//! Bytes are written from where they were read. Each direction reads only what it could send before, so that a slow reader
//! slows its writer down and nothing piles up.

use onecopy_mysql_proto::compression::CompressionError;
use onecopy_mysql_proto::packet::CommandByte;
use onecopy_mysql_proto::relay::{Event, Passage, RelayError, Side};
use onecopy_net::evented::ReadOutcome;

use super::compressed::{self, NextFrame};
use super::counted::Packet;
use super::kill::Inspected;
use super::{Context, End, Phase, Session, Status};
use crate::failure::{CLOSED, Failure, Reason};
use crate::stats::{Kind, Taken};

/// Reads of one session in each direction before others have their turn: 4 MiB of large ones.
const TURNS: u32 = 16;

/// The same of one that is compressed: 512 KiB, which take some milliseconds.
const COMPRESSED_TURNS: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    /// Who speaks.
    fn from(self) -> Side {
        match self {
            Self::Up => Side::Client,
            Self::Down => Side::Server,
        }
    }
}

/// How far a direction got.
enum Carried {
    Nothing,
    Something,
    Starved,
}

impl Session {
    /// Forwards what has arrived, in both directions.
    pub(super) fn transit(&mut self, context: &mut Context<'_>) -> Result<Status, End> {
        let turns = match self.is_compressed {
            false => TURNS,
            true => COMPRESSED_TURNS,
        };
        for _ in 0..turns {
            if self.kill.is_waiting() {
                self.go_on_with_kills(context)?;
            }
            let up = self.carry(Direction::Up, context)?;
            let down = self.carry(Direction::Down, context)?;
            match (up, down) {
                (Carried::Nothing, Carried::Nothing) => return Ok(Status::Waiting),
                (Carried::Starved, _) | (_, Carried::Starved) => return Ok(Status::Starved),
                // Most often the other direction has nothing to do before the next event.
                _ if !self.has_work() => return Ok(Status::Waiting),
                _ => {}
            }
        }
        Ok(Status::Busy)
    }

    #[inline]
    fn has_work(&self) -> bool {
        self.client.is_readable && !self.kill.is_waiting()
            || self.kill.is_held()
            || self
                .server
                .as_ref()
                .is_some_and(|server| server.is_readable)
    }

    /// Sends what may be sent, reads once, and looks at what has arrived, until one of them has to wait.
    fn carry(&mut self, direction: Direction, context: &mut Context<'_>) -> Result<Carried, End> {
        let mut carried = Carried::Nothing;
        let mut has_read = false;
        loop {
            let Some(server) = &mut self.server else {
                return Err(End::Clean);
            };
            let (from, to, flow) = match direction {
                Direction::Up => (&mut self.client, server, &mut self.up),
                Direction::Down => (server, &mut self.client, &mut self.down),
            };
            while flow.cleared > 0 {
                if !to.is_writable {
                    return Ok(carried);
                }
                let Some(loan) = &mut flow.loan else { break };
                let pending = loan.buffers.pending_mut();
                let bytes = pending.get_mut(..flow.cleared).unwrap_or_default();
                match to.write(bytes, context) {
                    Ok(Some(n)) => {
                        loan.buffers.forward(n);
                        flow.cleared -= n;
                        if let Some(route) = context.counters.routes.get_mut(self.route) {
                            match direction {
                                Direction::Up => route.bytes_from_clients += n as u64,
                                Direction::Down => route.bytes_from_backend += n as u64,
                            }
                        }
                        self.moved = context.now;
                        carried = Carried::Something;
                    }
                    Ok(None) => {
                        to.is_writable = false;
                        return Ok(carried);
                    }
                    Err(_) => return self.refused(direction, context),
                }
            }
            if to.compressed.is_some() && std::mem::take(&mut flow.is_held) {
                self.look(direction, context)?;
                continue;
            }
            if to.has_unsent() && to.is_writable {
                match to.flush() {
                    Ok(true) => {}
                    Ok(false) => to.is_writable = false,
                    Err(_) => return self.refused(direction, context),
                }
            }
            if direction == Direction::Up && self.kill.is_waiting() {
                return Ok(carried);
            }
            if !from.is_readable {
                flow.rest(context.pool);
                if from.is_closed {
                    return self.ended(direction, carried);
                }
                return Ok(carried);
            }
            // The next read is the next turn's: a fast sender must not keep the loop.
            if has_read {
                return Ok(carried);
            }
            has_read = true;
            let (cleared, need, until_end) = (flow.cleared, flow.need, flow.until_end);
            let Some(loan) = flow.borrow(context.pool) else {
                return Ok(Carried::Starved);
            };
            let untold = loan.buffers.pending().len() - cleared;
            loan.buffers
                .need(need.saturating_sub(untold).max(1), until_end);
            let outcome = match &mut from.compressed {
                None => from.stream.read(&mut loan.buffers),
                Some(compressed) => {
                    let next = NextFrame::of(direction.from(), &self.relay, untold);
                    compressed.read(&mut from.stream, &mut loan.buffers, next, context)
                }
            };
            match outcome {
                Ok(ReadOutcome::Bytes { is_drained, len }) => {
                    if is_drained {
                        from.is_readable = false;
                    } else {
                        context.pool.widen(loan, len);
                    }
                    self.moved = context.now;
                    carried = Carried::Something;
                    self.look(direction, context)?;
                }
                Ok(ReadOutcome::WouldBlock) => from.is_readable = false,
                Ok(ReadOutcome::Closed) => (from.is_readable, from.is_closed) = (false, true),
                Err(error) => return Err(self.read_failed(direction, &error)),
            }
        }
    }

    /// Looks at what came while the session was logging in.
    pub(super) fn look_at_all(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        for direction in [Direction::Up, Direction::Down] {
            let flow = match direction {
                Direction::Up => &self.up,
                Direction::Down => &self.down,
            };
            if !flow.is_held {
                self.look(direction, context)?;
            }
        }
        Ok(())
    }

    /// Tells what may pass of what has arrived.
    #[inline]
    fn look(&mut self, direction: Direction, context: &mut Context<'_>) -> Result<(), End> {
        loop {
            let flow = match direction {
                Direction::Up => &mut self.up,
                Direction::Down => &mut self.down,
            };
            let Some(loan) = &mut flow.loan else {
                return Ok(());
            };
            let pending = loan.buffers.pending_mut();
            let bytes = pending.get_mut(flow.cleared..).unwrap_or_default();
            let is_packed = self.is_compressed
                && match direction {
                    Direction::Up => self.client.compressed.is_some(),
                    Direction::Down => self
                        .server
                        .as_ref()
                        .is_some_and(|server| server.compressed.is_some()),
                };
            let seen = match direction {
                Direction::Up if self.kill.is_watching() => {
                    let (registry, own) = (&self.listener.registry, &self.server_address);
                    match self
                        .kill
                        .inspect(&self.relay, bytes, registry, own.as_deref())
                    {
                        Inspected::Ordinary if is_packed => self.relay.client_renumbered(bytes),
                        Inspected::Ordinary => self.relay.client(bytes),
                        Inspected::Needs { need, until_end } => {
                            (flow.need, flow.until_end) = (need, until_end);
                            return Ok(());
                        }
                        // Its turn comes with the next one of the session.
                        Inspected::Kill => return Ok(()),
                    }
                }
                Direction::Up if is_packed => self.relay.client_renumbered(bytes),
                Direction::Down if is_packed => self.relay.server_renumbered(bytes),
                Direction::Up => self.relay.client(bytes),
                Direction::Down => self.relay.server(bytes),
            };
            let Passage {
                pass,
                need,
                until_end,
                event,
            } = match seen {
                Ok(passage) => passage,
                Err(RelayError::PasswordExposed) => {
                    return Err(Failure::password_exposed_later().into());
                }
                Err(error) => {
                    return Err(self.fault_of(direction, error).into());
                }
            };
            let before = flow.cleared;
            flow.cleared += pass;
            flow.need = need;
            flow.until_end = until_end;
            self.counted.passed[direction as usize] += pass as u64;
            if self.counted.start.is_some() && direction == Direction::Up {
                let packet = Packet {
                    at: before,
                    end: before + pass,
                    until_end,
                };
                self.count_more(packet, context);
            }
            match event {
                // What is right before an error passes, and the next look gives the error.
                None if need == 0 => {}
                None => return Ok(()),
                Some(event) => {
                    if let Event::Command { at, command } = event
                        && context.digests.is_watching()
                    {
                        let packet = Packet {
                            at: before + at,
                            end: before + pass,
                            until_end,
                        };
                        self.count_command(command, packet, context);
                    }
                    self.on_event(event, before, context)?;
                    if self.is_compressed && self.count_frames(event, before)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// `before`: where what was looked at begins in what has arrived.
    #[inline]
    fn on_event(
        &mut self,
        event: Event,
        before: usize,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        match event {
            Event::Command { at, command } => {
                let kind = Kind::of(command);
                if let Some(route) = context.counters.routes.get_mut(self.route) {
                    route.commands[kind as usize] += 1;
                }
                // One that was sent ahead begins when the one before it is over.
                if self.relay.outstanding() <= 1 {
                    self.asked = context.now;
                }
                if kind == Kind::Other {
                    self.on_other(command, before + at, context)?;
                }
            }
            Event::Done {
                command, failed, ..
            } => {
                let kind = Kind::of(command);
                let time = Taken::from(context.now.saturating_duration_since(self.asked));
                if let Some(route) = context.counters.routes.get_mut(self.route) {
                    route.errors += u64::from(failed);
                    route.latency[kind as usize].add(time);
                }
                self.count_reply((time, failed), context);
                if !matches!(kind, Kind::Query | Kind::Execute) {
                    self.count_done(command, failed);
                }
                if kind == Kind::Other && command == CommandByte::CHANGE_USER {
                    self.user_changed(failed, context)?;
                }
                if self.relay.outstanding() > 0 {
                    self.asked = context.now;
                }
            }
            Event::Farewell { .. } => self.has_said_goodbye = true,
            _ => {}
        }
        Ok(())
    }

    /// A command whose header is at `at` of what the client has sent.
    #[cold]
    fn on_other(
        &mut self,
        command: CommandByte,
        at: usize,
        context: &Context<'_>,
    ) -> Result<(), End> {
        match command {
            // A binary log ends by a close, which is told as it is: an error would be one of the log's.
            CommandByte::QUIT | CommandByte::BINLOG_DUMP | CommandByte::BINLOG_DUMP_GTID => {
                self.is_quitting = true;
            }
            CommandByte::CHANGE_USER => self.user_changes(at, context.digests.logs.is_on())?,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn backend_name(&self) -> &str {
        if let Phase::Pooled(pooled) = &self.phase {
            return pooled.backend_name().unwrap_or_default();
        }
        self.place
            .as_ref()
            .map_or("", |place| place.backend().name())
    }

    /// One side takes nothing any more. The backend may have said why before: that is in flight.
    #[cold]
    fn refused(&mut self, direction: Direction, context: &mut Context<'_>) -> Result<Carried, End> {
        match (direction, &mut self.server) {
            (Direction::Up, Some(server)) => {
                server.is_writable = false;
                self.up.discard(context.pool);
                self.client.is_readable = false;
                Ok(Carried::Something)
            }
            _ => Err(Failure::client_lost().into()),
        }
    }

    /// Whose fault it is that a session can't be followed: not always that of the side whose bytes show it.
    #[cold]
    fn fault_of(&self, direction: Direction, error: RelayError) -> Failure {
        match error.side().unwrap_or(direction.from()) {
            _ if matches!(error, RelayError::OutOfMemory { .. }) => Failure::out_of_memory(),
            Side::Client => Failure::client_broken(&error),
            Side::Server => Failure::backend_broken(self.backend_name(), &error),
        }
    }

    #[cold]
    fn read_failed(&mut self, direction: Direction, error: &std::io::Error) -> End {
        match (direction, compressed::of_io(error)) {
            (_, Some(CompressionError::OutOfMemory)) => Failure::out_of_memory().into(),
            (Direction::Up, Some(why)) => Failure::client_broken(&why).into(),
            (Direction::Up, None) => Failure::client_lost().into(),
            (Direction::Down, Some(why)) => {
                Failure::backend_broken(self.backend_name(), &why).into()
            }
            (Direction::Down, None) => self.server_lost(&error.to_string()),
        }
    }

    /// One side has said that nothing more comes, and all that it had sent was sent on. A client that waits for replies gets
    /// them: the end is forwarded to the backend as well, which closes after them.
    #[cold]
    fn ended(&mut self, direction: Direction, carried: Carried) -> Result<Carried, End> {
        let is_awaited =
            self.relay.outstanding() > 0 || !self.down.is_empty() || self.client.has_unsent();
        let is_shut = self.server.as_ref().map(|server| server.is_shut);
        match (direction, is_shut) {
            // It closes, and may say why before.
            (Direction::Up, Some(is_shut)) if is_awaited || is_shut => {
                self.shut_server();
                Ok(carried)
            }
            // Its last bytes are in flight.
            (Direction::Down, _) if self.client.has_unsent() => Ok(carried),
            _ => Err(self.closed(direction)),
        }
    }

    /// The client says nothing more: the backend is told, as the client has ended: over TLS by a word, or without one.
    #[cold]
    pub(super) fn shut_server(&mut self) {
        let Some(server) = self.server.as_mut().filter(|server| !server.is_shut) else {
            return;
        };
        let shut = match self.client.stream.has_heard_end() {
            true => server.shutdown_write(),
            false => server.shutdown_write_unsaid(),
        };
        // One that takes nothing any more says so when it is read from.
        server.is_shut = shut.unwrap_or(true);
    }

    /// The end of one whose client has said that nothing more comes and waits for nothing any more. The backend was told, and
    /// closes as well; one that does not would keep the session forever, because it causes no event.
    pub(super) fn left_by_client(&mut self) -> Option<End> {
        let is_awaited =
            self.relay.outstanding() > 0 || !self.down.is_empty() || self.client.has_unsent();
        if !self.client.is_closed || is_awaited || !self.up.is_empty() {
            return None;
        }
        Some(self.closed(Direction::Up))
    }

    #[cold]
    fn closed(&mut self, direction: Direction) -> End {
        match direction {
            Direction::Up if self.is_quitting => End::Clean,
            Direction::Up => Failure::client_lost().into(),
            Direction::Down if self.is_quitting => End::Clean,
            Direction::Down if self.client.is_closed => Failure::client_lost().into(),
            // The backend has said why, in its own words.
            Direction::Down if self.has_said_goodbye => {
                End::Told(self.said_why().unwrap_or(Reason::Refused))
            }
            Direction::Down => self.server_lost(CLOSED),
        }
    }

    /// Why the backend closes, where its last error, which was passed on, is such a reason.
    fn said_why(&self) -> Option<Reason> {
        self.relay.last_error().and_then(Reason::behind_error)
    }

    #[cold]
    fn server_lost(&mut self, why: &str) -> End {
        if self.is_quitting {
            return End::Clean;
        }
        if let Some(reason) = self.said_why() {
            return End::Told(reason);
        }
        let name = self.backend_name();
        if self.relay.is_idle() {
            return Failure::backend_gone(name, why).into();
        }
        let when = match self.relay.reply_begun() {
            false => "before replying to a command, which it may have executed",
            true => "in the middle of its reply",
        };
        Failure::backend_lost(name, when, why).into()
    }
}
