//! Both directions of a pooled session.

use std::io::IoSlice;

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::relay::Event;
use onecopy_net::evented::ReadOutcome;

use super::Stage;
use crate::failure::{CLOSED, Failure};
use crate::session::{Context, End, Phase, Session, Status};

/// Reads of one session in each direction before others have their turn.
const TURNS: u32 = 16;

/// What may pass is sent before a packet behind it is rewritten. So much at most is moved up to the packet instead, so that both are one
/// write, which costs far more than the move.
const MOVED_AT_MOST: usize = 1 << 10;

/// What a direction has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    Something,
    Starved,
}

/// What became of a look at the client's bytes.
pub(super) enum Begun {
    /// They may be sent, or were answered here.
    Something,
    /// So many are needed, and the packet has so many behind all that have arrived.
    Needs(usize, usize),
    /// It waits for a connection, or for a reply.
    Waits,
}

impl Session {
    /// Serves the client as far as it goes.
    pub(in crate::session) fn serve_pooled(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Status, End> {
        for _ in 0..TURNS {
            let up = self.go_up(context)?;
            if !matches!(self.phase, Phase::Pooled(_)) {
                // It logs in again.
                return Ok(Status::Busy);
            }
            let down = self.go_down(context)?;
            match (up, down) {
                (Step::Starved, _) | (_, Step::Starved) => return Ok(Status::Starved),
                (Step::Nothing, Step::Nothing) => return Ok(Status::Waiting),
                _ => {}
            }
        }
        Ok(Status::Busy)
    }

    /// From the client to the backend.
    fn go_up(&mut self, context: &mut Context<'_>) -> Result<Step, End> {
        let mut step = Step::Nothing;
        let mut has_read = false;
        loop {
            if !self.send_up(context)? {
                return Ok(step);
            }
            let Phase::Pooled(pooled) = &mut self.phase else {
                return Err(End::Clean);
            };
            let is_between = self.relay.client_is_between_payloads();
            let begun = if !is_between {
                self.look_up_or_pass_over(context)?
            } else if self.relay.outstanding() > 0
                || pooled.exchange.is_some()
                || pooled.awaits_cancel()
                || !self.down.is_empty()
                || !pooled.words.is_empty()
                || self.client.has_unsent()
            {
                // One command at a time: what was sent ahead waits.
                Begun::Waits
            } else {
                self.begin_or_refuse(context)?
            };
            let (need, until_end) = match begun {
                Begun::Something if !matches!(self.phase, Phase::Pooled(_)) => return Ok(step),
                Begun::Something => {
                    step = Step::Something;
                    continue;
                }
                Begun::Needs(need, until_end) => (need, until_end),
                // Whether the client is still there is seen where nothing of it waits.
                Begun::Waits if self.up.is_empty() => (1, 0),
                Begun::Waits => return Ok(step),
            };
            if !self.client.is_readable {
                if self.up.is_empty() {
                    self.up.rest(context.pool);
                }
                if self.client.is_closed {
                    return self.client_closed(step);
                }
                return Ok(step);
            }
            if has_read {
                return Ok(Step::Something);
            }
            has_read = true;
            self.up.need = need;
            let Some(loan) = self.up.borrow(context.pool) else {
                return Ok(Step::Starved);
            };
            let pending = loan.buffers.pending().len();
            loan.buffers
                .need(need.saturating_sub(pending).max(1), until_end);
            match self.client.stream.read(&mut loan.buffers) {
                Ok(ReadOutcome::Bytes { is_drained, len }) => {
                    if is_drained {
                        self.client.is_readable = false;
                    } else {
                        context.pool.widen(loan, len);
                    }
                    self.moved = context.now;
                    step = Step::Something;
                }
                Ok(ReadOutcome::WouldBlock) => self.client.is_readable = false,
                Ok(ReadOutcome::Closed) => {
                    (self.client.is_readable, self.client.is_closed) = (false, true);
                }
                Err(_) => return Err(Failure::client_lost().into()),
            }
        }
    }

    /// The client sends nothing more: it still gets what it waits for.
    fn client_closed(&mut self, step: Step) -> Result<Step, End> {
        if !self.relay.client_is_between_payloads() {
            // The rest of its command never comes, and so no reply.
            return Err(Failure::client_lost().into());
        }
        let is_awaited = self.relay.outstanding() > 0
            || !self.down.is_empty()
            || self.client.has_unsent()
            || matches!(&self.phase, Phase::Pooled(pooled) if !pooled.words.is_empty());
        if self.relay.outstanding() > 0 {
            // As without the proxy: the server ends what nobody waits for. The connection goes with it.
            self.shut_server();
        }
        match is_awaited {
            true => Ok(step),
            false if self.is_quitting => Err(End::Clean),
            false => Err(Failure::client_lost().into()),
        }
    }

    /// Sends the proxy's own bytes and what may pass of the client's; `false` where it has to wait.
    pub(super) fn send_up(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        let Some(server) = &mut self.server else {
            return Ok(true);
        };
        if !matches!(pooled.stage, Stage::Attached) {
            return Ok(true);
        }
        while !pooled.ahead.is_empty() || self.up.cleared > 0 {
            if !server.is_writable {
                return Ok(false);
            }
            let pending = self
                .up
                .loan
                .as_mut()
                .map_or(&mut [][..], |loan| loan.buffers.pending_mut());
            let cleared = pending.get(..self.up.cleared).unwrap_or_default();
            let slices = [IoSlice::new(&pooled.ahead), IoSlice::new(cleared)];
            let slices = match pooled.ahead.is_empty() {
                true => &slices[1..],
                false => &slices[..],
            };
            match server.stream.write(slices) {
                Ok(Some(n)) => {
                    let own = n.min(pooled.ahead.len());
                    if own == pooled.ahead.len() {
                        pooled.ahead.clear();
                    } else {
                        pooled.ahead.drain(..own);
                    }
                    let n = n - own;
                    if let Some(loan) = &mut self.up.loan {
                        loan.buffers.forward(n);
                    }
                    self.up.cleared -= n;
                    if let Some(route) = context.counters.routes.get_mut(self.route) {
                        route.bytes_from_clients += n as u64;
                    }
                    self.moved = context.now;
                }
                Ok(None) => {
                    server.is_writable = false;
                    return Ok(false);
                }
                Err(_) => {
                    // The backend may have said why before: that is in flight.
                    server.is_writable = false;
                    server.is_readable = true;
                    pooled.ahead.clear();
                    if pooled.lost.keeps_command() {
                        self.up.consume_cleared();
                    } else if self.up.cleared > 0 {
                        self.up.discard(context.pool);
                        self.client.is_readable = false;
                    }
                    return Ok(false);
                }
            }
        }
        if server.stream.has_unsent() && server.is_writable {
            match server.stream.flush() {
                Ok(true) => {}
                Ok(false) => server.is_writable = false,
                Err(_) => server.is_readable = true,
            }
        }
        Ok(true)
    }

    /// The rest of a command, a file, or an answer. A command behind it is not looked at yet: it may need another connection or
    /// another id.
    pub(super) fn look_up(&mut self) -> Result<Begun, End> {
        let Some(loan) = &mut self.up.loan else {
            return Ok(Begun::Needs(1, 0));
        };
        let bytes = loan.buffers.pending_mut();
        let mut passed = 0;
        loop {
            let rest = bytes.get(passed..).unwrap_or_default();
            let packet = match (self.relay.client_left(), rest.first_chunk()) {
                (0, Some(&[a, b, c, _])) => {
                    HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize
                }
                (0, None) => rest.len(),
                (left, _) => left,
            };
            let packet = rest.get(..packet.min(rest.len())).unwrap_or_default();
            let passage = match self.relay.client(packet) {
                Ok(passage) => passage,
                Err(error) => return Err(self.fault_of_client(error).into()),
            };
            passed += passage.pass;
            let is_over = self.relay.client_is_between_payloads();
            if passage.pass == 0 && passed == 0 {
                return Ok(Begun::Needs(passage.need.max(1), passage.until_end));
            }
            if is_over || passage.pass == 0 || passed == bytes.len() {
                self.up.cleared = passed;
                return Ok(Begun::Something);
            }
        }
    }

    /// From the backend to the client.
    fn go_down(&mut self, context: &mut Context<'_>) -> Result<Step, End> {
        let mut step = Step::Nothing;
        let mut has_read = false;
        loop {
            if !self.send_down(context, &mut step)? {
                return Ok(step);
            }
            let Phase::Pooled(pooled) = &mut self.phase else {
                return Err(End::Clean);
            };
            if let Stage::Waiting(_) | Stage::Connecting(_) = pooled.stage {
                return Ok(step);
            }
            if pooled.changed.is_some() || self.down.pending().len() > self.down.cleared {
                let before = (self.down.cleared, self.down.pending().len());
                self.look_down(context)?;
                if (self.down.cleared, self.down.pending().len()) != before {
                    step = Step::Something;
                    continue;
                }
            }
            let Some(server) = &mut self.server else {
                self.down.rest(context.pool);
                return Ok(step);
            };
            if !server.is_readable {
                self.down.rest(context.pool);
                if server.is_closed {
                    return match !self.is_quitting && self.goes_on_without(CLOSED, context) {
                        true => Ok(Step::Something),
                        false => Err(self.backend_closed()),
                    };
                }
                return Ok(step);
            }
            if has_read {
                return Ok(Step::Something);
            }
            has_read = true;
            let (cleared, need, until_end) =
                (self.down.cleared, self.down.need, self.down.until_end);
            let Some(loan) = self.down.borrow(context.pool) else {
                return Ok(Step::Starved);
            };
            let untold = loan.buffers.pending().len() - cleared;
            loan.buffers
                .need(need.saturating_sub(untold).max(1), until_end);
            match server.stream.read(&mut loan.buffers) {
                Ok(ReadOutcome::Bytes { is_drained, len }) => {
                    if is_drained {
                        server.is_readable = false;
                    } else {
                        context.pool.widen(loan, len);
                    }
                    self.moved = context.now;
                    step = Step::Something;
                    self.look_down(context)?;
                }
                Ok(ReadOutcome::WouldBlock) => server.is_readable = false,
                Ok(ReadOutcome::Closed) => (server.is_readable, server.is_closed) = (false, true),
                Err(error) => {
                    let why = error.to_string();
                    return match !self.is_quitting && self.goes_on_without(&why, context) {
                        true => Ok(Step::Something),
                        false => Err(self.backend_lost(&why)),
                    };
                }
            }
        }
    }

    /// Sends replies of the proxy's own, then what may pass of the backend's; `false` where the client takes no more.
    fn send_down(&mut self, context: &mut Context<'_>, step: &mut Step) -> Result<bool, End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Err(End::Clean);
        };
        while !pooled.words.is_empty() && self.down.cleared == 0 {
            if !self.client.is_writable {
                return Ok(false);
            }
            match self.client.stream.write(&[IoSlice::new(&pooled.words)]) {
                Ok(Some(n)) if n == pooled.words.len() => pooled.words = Vec::new(),
                Ok(Some(n)) => drop(pooled.words.drain(..n)),
                Ok(None) => self.client.is_writable = false,
                Err(_) => return Err(Failure::client_lost().into()),
            }
            *step = Step::Something;
        }
        while self.down.cleared > 0 {
            if !self.client.is_writable {
                return Ok(false);
            }
            let Some(loan) = &mut self.down.loan else {
                break;
            };
            let bytes = loan.buffers.pending().get(..self.down.cleared);
            match self
                .client
                .stream
                .write(&[IoSlice::new(bytes.unwrap_or_default())])
            {
                Ok(Some(n)) => {
                    loan.buffers.forward(n);
                    self.down.cleared -= n;
                    if let Some(route) = context.counters.routes.get_mut(self.route) {
                        route.bytes_from_backend += n as u64;
                    }
                    self.moved = context.now;
                    *step = Step::Something;
                }
                Ok(None) => self.client.is_writable = false,
                Err(_) => return Err(Failure::client_lost().into()),
            }
        }
        if self.client.stream.has_unsent() && self.client.is_writable {
            match self.client.stream.flush() {
                Ok(is_sent) => self.client.is_writable = is_sent,
                Err(_) => return Err(Failure::client_lost().into()),
            }
        }
        Ok(true)
    }

    /// Tells what may pass of what the backend has sent.
    fn look_down(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        loop {
            let Phase::Pooled(pooled) = &mut self.phase else {
                return Err(End::Clean);
            };
            if let Some(len) = pooled.changed {
                if self.down.cleared > MOVED_AT_MOST {
                    return Ok(());
                }
                pooled.changed = None;
                let len = len as usize;
                match pooled.takes_left_out() {
                    true => self.end_without_rest(len),
                    false => self.note_changes(len)?,
                }
            }
            let Phase::Pooled(pooled) = &mut self.phase else {
                return Err(End::Clean);
            };
            if pooled.exchange.is_none()
                && self.relay.is_idle()
                && self.down.cleared == 0
                && !self.down.is_empty()
                && self.lose_connection(context)
            {
                // Nobody has asked: the server says why it closes a connection that the session can do without.
                self.down.discard(context.pool);
                return Ok(());
            }
            let Phase::Pooled(pooled) = &mut self.phase else {
                return Err(End::Clean);
            };
            let Some(loan) = &mut self.down.loan else {
                return Ok(());
            };
            let bytes = loan.buffers.pending().get(self.down.cleared..);
            let bytes = bytes.unwrap_or_default();
            if bytes.is_empty() {
                return Ok(());
            }
            if let Some(exchange) = &mut pooled.exchange {
                // What is passed over is at the front of the buffer.
                if self.down.cleared > 0 {
                    return Ok(());
                }
                let (n, need) = match exchange.feed(bytes) {
                    Ok(fed) => fed,
                    Err(error) => return Err(self.fault_of_backend(error).into()),
                };
                let is_over = exchange.is_over();
                let _ = loan.buffers.consume(n);
                (self.down.need, self.down.until_end) = (need, 0);
                if !is_over {
                    return Ok(());
                }
                self.exchanged(context)?;
                continue;
            }
            if pooled.lost.is_turned_away(bytes) {
                self.turned_away(context);
                continue;
            }
            let passage = match self.relay.server(bytes) {
                Ok(passage) => passage,
                Err(error) => return Err(self.fault_of_backend(error).into()),
            };
            self.down.cleared += passage.pass;
            self.counted.passed[1] += passage.pass as u64;
            (self.down.need, self.down.until_end) = (passage.need, passage.until_end);
            match passage.event {
                None if passage.need == 0 => {}
                None => return Ok(()),
                Some(Event::StateChanged { len }) => pooled.changed = u32::try_from(len).ok(),
                Some(Event::Prepared { id, parameters, .. }) => self.note_prepared(id, parameters),
                Some(Event::Done {
                    command, failed, ..
                }) => {
                    if failed {
                        self.note_interrupted();
                    }
                    let failed = failed && !self.note_missed_kill();
                    self.replied(command, failed, context)?;
                }
                Some(Event::Farewell { .. }) => self.has_said_goodbye = true,
                Some(Event::LeftOut { len }) => pooled.result_left_out(len),
                Some(_) => {}
            }
        }
    }
}
