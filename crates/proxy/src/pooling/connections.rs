//! The pooled connections of one worker: idle ones, those that sessions have, and those that are made as new.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Registry as Poller, Token};
use onecopy_mysql_proto::packet::CommandByte;
use onecopy_net::evented::{ReadOutcome, Stream};
use onecopy_wire::{BufferConfig, Buffers};

use super::connection::Connection;
use super::exchange::{Exchange, put_packet};
use super::line::{Next, QUANTUM};
use super::pool::{Key, Pool};
use super::recipient::Recipient;
use super::setup;

/// Tokens of pooled connections begin here: above those of sessions and of unfinished logins.
pub(crate) const FIRST: usize = usize::MAX / 8 * 3;

/// How long a connection may take to be made as new.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct Connections {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Places that were freed in this turn: events of the connections before may still be on the list.
    freed: Vec<usize>,
    /// By key, the one that was used last at the end.
    idle: Vec<(Arc<Key>, Vec<usize>)>,
    /// Connections for sessions of this worker that wait for them.
    granted: VecDeque<(usize, u64, Box<Connection>)>,
    /// Sessions that keep their connection for a command that asks for warnings.
    held: VecDeque<usize>,
    /// Pools whose connections others wait for.
    pressed: Vec<Arc<Pool>>,
    /// When sessions of a pool may make connections again.
    wakes: Vec<(Instant, Arc<Pool>)>,
    pub(crate) recipient: Arc<dyn Recipient>,
}

#[derive(Debug)]
enum Slot {
    Free,
    /// A session has it.
    Taken(usize),
    /// It is made for nobody yet.
    Warming,
    Idle(Box<Connection>),
    Cleaning(Box<Cleaning>),
}

/// A connection that forgets what a session has done with it.
#[derive(Debug)]
struct Cleaning {
    connection: Box<Connection>,
    exchange: Box<Exchange>,
    buffers: Buffers,
    deadline: Instant,
}

impl Connections {
    pub(crate) fn new(recipient: Arc<dyn Recipient>) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            idle: Vec::new(),
            granted: VecDeque::new(),
            held: VecDeque::new(),
            pressed: Vec::new(),
            wakes: Vec::new(),
            recipient,
        }
    }

    /// A place for a connection that a session is about to make.
    pub(crate) fn open(&mut self, session: usize) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        });
        self.slots[slot] = Slot::Taken(session);
        slot
    }

    /// The same for one that is made for nobody yet.
    pub(crate) fn open_for_nobody(&mut self) -> usize {
        let slot = self.open(0);
        self.slots[slot] = Slot::Warming;
        slot
    }

    /// A session keeps its connection for its next command.
    pub(crate) fn hold(&mut self, session: usize) {
        if !self.held.contains(&session) {
            self.held.push_back(session);
        }
    }

    /// Others wait for a connection of this pool.
    pub(crate) fn press(&mut self, pool: &Arc<Pool>) {
        if !self.pressed.iter().any(|one| Arc::ptr_eq(one, pool)) {
            self.pressed.push(Arc::clone(pool));
        }
    }

    /// Whether those sessions are to be asked soon whether they still do, or idle connections may have to be given up.
    pub(crate) fn is_pressed(&mut self) -> bool {
        if self.pressed.is_empty() {
            return false;
        }
        self.pressed.retain(|pool| pool.waiting() > 0);
        let has_idle = || self.idle.iter().any(|(_, idle)| !idle.is_empty());
        !self.pressed.is_empty() && (!self.held.is_empty() || has_idle())
    }

    /// Nobody of a pool may make a connection before that: then who waits is called.
    pub(crate) fn wake_at(&mut self, when: Instant, pool: &Arc<Pool>) {
        let known = self.wakes.iter_mut();
        match known.into_iter().find(|(_, one)| Arc::ptr_eq(one, pool)) {
            Some((known, _)) => *known = when.min(*known),
            None => self.wakes.push((when, Arc::clone(pool))),
        }
    }

    /// When that is.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.wakes.iter().map(|(when, _)| *when).min()
    }

    /// Calls those that wait for such a time.
    #[cold]
    pub(crate) fn wake(&mut self, now: Instant) {
        let due = self.wakes.extract_if(.., |(when, _)| *when <= now);
        due.for_each(|(_, pool)| pool.call());
    }

    /// How many sessions do.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// The next one of them, to be asked whether it still does.
    pub(crate) fn next_held(&mut self) -> Option<usize> {
        self.held.pop_front()
    }

    /// The token of a place's stream.
    pub(crate) fn token(slot: usize) -> Token {
        Token(FIRST + slot)
    }

    /// The session that has the connection of a token.
    #[inline]
    pub(crate) fn owner(&self, token: usize) -> Option<usize> {
        match self.slots.get(token.checked_sub(FIRST)?) {
            Some(Slot::Taken(session)) => Some(*session),
            _ => None,
        }
    }

    /// A connection for a session: the one that was used last.
    pub(crate) fn take(
        &mut self,
        key: &Arc<Key>,
        session: usize,
        now: Instant,
    ) -> Option<Box<Connection>> {
        loop {
            let (_, idle) = self
                .idle
                .iter_mut()
                .find(|(one, _)| Arc::ptr_eq(one, key))?;
            let slot = idle.pop()?;
            let connection = self.take_slot(slot, Slot::Taken(session))?;
            if connection.is_usable(now) {
                return Some(connection);
            }
            self.close(connection);
        }
    }

    /// The very connection that a session used last, where nobody else has used it since.
    pub(crate) fn take_last(
        &mut self,
        key: &Arc<Key>,
        user: u64,
        session: usize,
    ) -> Option<Box<Connection>> {
        let (_, idle) = self
            .idle
            .iter_mut()
            .find(|(one, _)| Arc::ptr_eq(one, key))?;
        let slots = &self.slots;
        let at = idle.iter().rposition(
            |&slot| matches!(&slots[slot], Slot::Idle(connection) if connection.last_user == user),
        )?;
        let slot = idle.remove(at);
        self.take_slot(slot, Slot::Taken(session))
    }

    /// Takes an idle connection out, which is on no list of idle ones any more.
    fn take_slot(&mut self, slot: usize, then: Slot) -> Option<Box<Connection>> {
        match std::mem::replace(&mut self.slots[slot], then) {
            Slot::Idle(connection) => {
                connection.room.pool().note_idle(&self.recipient, -1);
                Some(connection)
            }
            other => {
                self.slots[slot] = other;
                None
            }
        }
    }

    /// A session gives its connection back, in a known state: the next one that waits gets it.
    pub(crate) fn release(
        &mut self,
        mut connection: Box<Connection>,
        now: Instant,
        poller: &Poller,
    ) {
        connection.idle_since = now;
        self.offer(connection, now, poller);
    }

    /// Gives a free connection to the next one that waits, where one does.
    fn offer(&mut self, connection: Box<Connection>, now: Instant, poller: &Poller) {
        let pool = connection.room.pool();
        if !connection.is_usable(now) || pool.is_over(connection.place.backend()) {
            return self.close(connection);
        }
        match pool.next_for(&connection, &self.recipient, now) {
            Next::Nobody => self.keep(connection),
            Next::Close => self.close(connection),
            Next::Session(next) => {
                let (number, (recipient, session)) = (next.number, next.place);
                if Arc::ptr_eq(&recipient, &self.recipient) {
                    self.slots[connection.slot] = Slot::Taken(session);
                    return self.granted.push_back((session, number, connection));
                }
                let mut connection = connection;
                self.forget(connection.slot);
                let stream = connection.stream.as_mut();
                if stream.is_some_and(|stream| stream.deregister(poller).is_ok()) {
                    // Where the other worker is gone, so is the session.
                    let _ = recipient.grant(session, number, connection);
                }
            }
        }
    }

    fn keep(&mut self, connection: Box<Connection>) {
        connection.room.pool().note_idle(&self.recipient, 1);
        let (key, slot) = (Arc::clone(&connection.key), connection.slot);
        self.slots[slot] = Slot::Idle(connection);
        match self.idle.iter_mut().find(|(one, _)| Arc::ptr_eq(one, &key)) {
            Some((_, idle)) => idle.push(slot),
            None => self.idle.push((key, vec![slot])),
        }
    }

    /// A connection from another worker for a session here; `None` where it can't be watched.
    pub(crate) fn adopt(
        &mut self,
        mut connection: Box<Connection>,
        session: usize,
        poller: &Poller,
    ) -> Option<Box<Connection>> {
        let slot = self.open(session);
        // This worker has one that others may wait for.
        connection.room.pool().note_idle(&self.recipient, 0);
        connection.slot = slot;
        let stream = connection.stream.as_mut()?;
        if stream
            .register_for_reading(poller, Self::token(slot))
            .is_err()
        {
            self.forget(slot);
            return None;
        }
        Some(connection)
    }

    /// The next session of this worker that was given a connection.
    pub(crate) fn next_granted(&mut self) -> Option<(usize, u64, Box<Connection>)> {
        self.granted.pop_front()
    }

    pub(crate) fn has_granted(&self) -> bool {
        !self.granted.is_empty()
    }

    pub(crate) fn granted(&self) -> usize {
        self.granted.len()
    }

    /// Another worker's session waits: offers idle connections of the pool.
    pub(crate) fn spare(&mut self, pool: &Arc<Pool>, now: Instant, poller: &Poller) {
        self.press(pool);
        self.offer_idle(pool, Duration::ZERO, now, poller);
    }

    /// Offers those connections to who waits that have been idle for so long as others are not to wait for them.
    pub(crate) fn offer_unused(&mut self, now: Instant, poller: &Poller) {
        for at in 0..self.pressed.len() {
            if let Some(pool) = self.pressed.get(at).map(Arc::clone) {
                self.offer_idle(&pool, QUANTUM, now, poller);
            }
        }
    }

    fn offer_idle(&mut self, pool: &Arc<Pool>, least: Duration, now: Instant, poller: &Poller) {
        let is_meant = |slot: &Slot| match slot {
            Slot::Idle(connection) => {
                Arc::ptr_eq(connection.room.pool(), pool)
                    && now.saturating_duration_since(connection.idle_since) >= least
            }
            _ => false,
        };
        let slots = self.slots.iter().enumerate();
        let meant = slots.filter_map(|(at, slot)| is_meant(slot).then_some(at));
        for slot in meant.collect::<Vec<_>>() {
            if pool.waiting() == 0 {
                return;
            }
            self.take_off_list(slot);
            if let Some(connection) = self.take_slot(slot, Slot::Free) {
                self.offer(connection, now, poller);
            }
        }
    }

    /// Ends an idle connection of a pool to make room for another kind; `false` where there is none here that may go.
    pub(crate) fn close_idle(&mut self, pool: &Arc<Pool>, key: &Key, now: Instant) -> bool {
        let mut slots = self.slots.iter();
        let found = slots.find_map(|slot| match slot {
            Slot::Idle(connection)
                if Arc::ptr_eq(connection.room.pool(), pool)
                    && pool.may_replace(connection, key, now) =>
            {
                Some(connection.slot)
            }
            _ => None,
        });
        if let Some(slot) = found {
            self.drop_idle(slot);
        }
        found.is_some()
    }

    /// Ends a connection.
    pub(crate) fn close(&mut self, mut connection: Box<Connection>) {
        self.forget(connection.slot);
        if let Some(stream) = &mut connection.stream {
            let mut quit = Vec::new();
            put_packet(&mut quit, CommandByte::QUIT, &[]);
            // It ends either way.
            let _ = stream.write(&[IoSlice::new(&quit)]);
            if stream.is_tls() {
                stream.shutdown();
            }
        }
    }

    /// A place is free, as of the next turn.
    pub(crate) fn forget(&mut self, slot: usize) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Slot::Free;
            self.freed.push(slot);
        }
    }

    /// The turn is over.
    pub(crate) fn end_turn(&mut self) {
        self.free.append(&mut self.freed);
    }

    /// A session that has left its mark gives its connection back: it is made as new first.
    pub(crate) fn clean(&mut self, mut connection: Box<Connection>, now: Instant, poller: &Poller) {
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::RESET_CONNECTION, &[]);
        setup::put_trackers(&mut out, connection.capabilities, connection.key.part);
        put_packet(&mut out, CommandByte::QUERY, b"SELECT DATABASE()");
        connection.room.pool().counts.resets.fetch_add(1, SeqCst);
        let sent = connection
            .stream
            .as_mut()
            .map(|stream| stream.write(&[IoSlice::new(&out)]));
        let exchange = Exchange::new(connection.capabilities, &out);
        let (Some(Ok(Some(n))), Ok(exchange)) = (sent, exchange) else {
            return self.close(connection);
        };
        // So little fits into an empty socket.
        if n < out.len() {
            return self.close(connection);
        }
        connection.prepared.clear();
        connection.last_insert_id = None;
        let slot = connection.slot;
        self.slots[slot] = Slot::Cleaning(Box::new(Cleaning {
            connection,
            exchange,
            buffers: Buffers::new(BufferConfig {
                initial_read: 1 << 10,
                max_read: 4 << 10,
                max_buffer: 16 << 10,
                idle_keep: 0,
            }),
            deadline: now + PATIENCE,
        }));
        self.go_on_cleaning(slot, now, poller);
    }

    /// An event of a connection that no session has.
    pub(crate) fn note(&mut self, token: usize, event: &Event, now: Instant, poller: &Poller) {
        let slot = token - FIRST;
        match self.slots.get_mut(slot) {
            Some(Slot::Cleaning(cleaning)) => {
                if let Some(stream) = &mut cleaning.connection.stream {
                    stream.observe(event);
                }
                self.go_on_cleaning(slot, now, poller);
            }
            // An idle server has nothing to say but goodbye.
            Some(Slot::Idle(_))
                if event.is_readable() || event.is_read_closed() || event.is_error() =>
            {
                self.drop_idle(slot);
            }
            _ => {}
        }
    }

    fn take_off_list(&mut self, slot: usize) {
        let Some(Slot::Idle(connection)) = self.slots.get(slot) else {
            return;
        };
        let mut idle = self.idle.iter_mut();
        if let Some((_, idle)) = idle.find(|(one, _)| Arc::ptr_eq(one, &connection.key)) {
            idle.retain(|one| *one != slot);
        }
    }

    fn drop_idle(&mut self, slot: usize) {
        self.take_off_list(slot);
        if let Some(connection) = self.take_slot(slot, Slot::Free) {
            self.close(connection);
        }
    }

    fn go_on_cleaning(&mut self, slot: usize, now: Instant, poller: &Poller) {
        let Some(Slot::Cleaning(cleaning)) = self.slots.get_mut(slot) else {
            return;
        };
        let is_over = cleaning.read();
        if is_over == Some(false) {
            return;
        }
        let Slot::Cleaning(cleaning) = std::mem::replace(&mut self.slots[slot], Slot::Free) else {
            return;
        };
        let Cleaning {
            mut connection,
            exchange,
            ..
        } = *cleaning;
        if is_over.is_none() || exchange.error().is_some() {
            return self.close(connection);
        }
        // A reset leaves the schema as it is, and a procedure that failed may have left another one.
        let schema = exchange.value.filter(|name| !name.is_empty());
        let schema = schema.map(Vec::into_boxed_slice);
        connection.actual = Arc::new(connection.after_reset.with_schema(schema));
        self.release(connection, now, poller);
    }

    /// Ends idle connections of a pool that must not be used any more, or all of them.
    pub(crate) fn tidy(&mut self, pool: &Arc<Pool>, all: bool, now: Instant) {
        for slot in 0..self.slots.len() {
            if let Some(Slot::Idle(connection)) = self.slots.get(slot)
                && Arc::ptr_eq(connection.room.pool(), pool)
                && (all || !connection.is_usable(now))
            {
                self.drop_idle(slot);
            }
        }
    }

    /// Ends what has been idle or alive for too long, and what a backend no longer serves.
    pub(crate) fn tick(&mut self, now: Instant) {
        for slot in 0..self.slots.len() {
            match &self.slots[slot] {
                Slot::Idle(connection)
                    if !connection.is_usable(now) || connection.is_spare(now) =>
                {
                    self.drop_idle(slot);
                }
                Slot::Cleaning(cleaning) if now >= cleaning.deadline => {
                    let slot = std::mem::replace(&mut self.slots[slot], Slot::Free);
                    if let Slot::Cleaning(cleaning) = slot {
                        self.close(cleaning.connection);
                    }
                }
                _ => {}
            }
        }
        self.idle.retain(|(_, idle)| !idle.is_empty());
    }
}

impl Cleaning {
    /// Reads what has arrived: whether it is over; `None` where the connection is lost.
    fn read(&mut self) -> Option<bool> {
        let stream: &mut Stream = self.connection.stream.as_mut()?;
        loop {
            match stream.read(&mut self.buffers) {
                Ok(ReadOutcome::Bytes { .. }) => {
                    let (n, need) = self.exchange.feed(self.buffers.pending()).ok()?;
                    self.buffers.forward(n);
                    self.buffers.need(need, 0);
                    if self.exchange.is_over() {
                        return self.buffers.pending().is_empty().then_some(true);
                    }
                }
                Ok(ReadOutcome::WouldBlock) => return Some(false),
                Ok(ReadOutcome::Closed) | Err(_) => return None,
            }
        }
    }
}
