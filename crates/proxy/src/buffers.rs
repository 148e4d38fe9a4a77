//! Buffers that no session needs now, and how much memory all of them may take.
//!
//! Each loan has room that the budget counts, whether it has grown so far or not; one that a read has filled asks for more.

mod scarce;

use onecopy_wire::{BufferConfig, Buffers, Meter};

use crate::config::LEAST_BUDGET;

/// A row or two of ordinary size; read sizes go up from here where more comes at once.
const SMALL_READ: usize = 16 << 10;

// With less than one such read a worker could not serve a session.
const _: () = assert!(SMALL_READ <= LEAST_BUDGET);

/// The largest read: beyond it calls get no cheaper.
const LARGE_READ: usize = 256 << 10;

/// What a session may keep in a squeezed loan, or in TLS, without being asked for it: the beginning of a packet is far smaller.
pub(crate) const OF_NO_USE: usize = 1 << 10;

/// What sessions may hold beside loans where the budget is smaller: some hundred of them in the middle of a compressed frame.
const LEAST_BESIDE_LOANS: usize = 16 << 20;

/// One direction of a session while it has something to carry.
#[derive(Debug)]
pub(crate) struct Loan {
    pub(crate) buffers: Box<Buffers>,
    /// What the buffers may grow to, and what the budget counts for them. A `u32`, as each session has two loans.
    room: u32,
    /// It has room for an ordinary read, and can be borrowed again. One that has not is of a login, or was squeezed.
    is_ordinary: bool,
}

impl Loan {
    pub(crate) fn room(&self) -> usize {
        self.room as usize
    }

    /// Whether others could use what it takes.
    pub(crate) fn is_of_use(&self) -> bool {
        self.is_ordinary || self.room() > OF_NO_USE
    }

    fn set_room(&mut self, bytes: usize) {
        self.buffers.set_max_buffer(bytes);
        // The largest is far below.
        self.room = u32::try_from(bytes).unwrap_or(u32::MAX);
    }
}

/// What decides whether queued sessions can be served: bytes, loans, and loans kept for the queue.
type Standing = (usize, usize, usize);

/// The buffers of one worker.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<Loan>,
    /// Those that are free while sessions are queued: only for the session that is called.
    kept: Vec<Loan>,
    /// The fewest that were free since the last trim: these were needed by nobody.
    unused: usize,
    /// Room of all loans, those that are free among them, and `of_logins_and_tls`.
    bytes: usize,
    /// Above it, returned buffers are examined: the budget, or 0 while sessions are queued.
    limit: usize,
    budget: usize,
    /// What sessions hold beside loans.
    of_logins_and_tls: usize,
    borrowed: usize,
    /// Of these, how many are not ordinary.
    borrowed_small: usize,
    /// Queued sessions.
    waiting: usize,
    /// One of them is being served.
    is_serving: bool,
    /// How things stood when nobody of the line could do anything with what there is.
    in_vain: Option<Standing>,
    /// What buffers counted that are gone.
    gone: Meter,
}

impl Pool {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            free: Vec::new(),
            kept: Vec::new(),
            unused: 0,
            bytes: 0,
            limit: budget,
            budget,
            of_logins_and_tls: 0,
            borrowed: 0,
            borrowed_small: 0,
            waiting: 0,
            is_serving: false,
            in_vain: None,
            gone: Meter::default(),
        }
    }

    /// Buffers may take so many bytes from now on. What is too much goes as it comes back.
    pub(crate) fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
        self.set_waiting(self.waiting);
    }

    /// Takes over a session's own buffers, which hold what came during its login; they go when they are empty.
    #[cold]
    pub(crate) fn adopt(&mut self, buffers: Buffers) -> Loan {
        let mut loan = Loan {
            buffers: Box::new(buffers),
            room: 0,
            is_ordinary: false,
        };
        loan.set_room(loan.buffers.capacity());
        self.bytes += loan.room();
        self.borrowed += 1;
        self.borrowed_small += 1;
        loan
    }

    /// Buffers for one direction; `None` where the budget is used up, until some come back.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Loan> {
        let loan = match self.free.pop() {
            Some(loan) => loan,
            None => self.take_another()?,
        };
        self.unused = self.unused.min(self.free.len());
        self.borrowed += 1;
        Some(loan)
    }

    #[cold]
    fn take_another(&mut self) -> Option<Loan> {
        if self.must_wait() || !self.can_lend() {
            return None;
        }
        if let Some(loan) = self.kept.pop() {
            return Some(loan);
        }
        let mut loan = Loan {
            buffers: Box::new(Buffers::new(BufferConfig {
                initial_read: SMALL_READ,
                max_read: LARGE_READ,
                max_buffer: LARGE_READ,
                idle_keep: LARGE_READ,
            })),
            room: 0,
            is_ordinary: true,
        };
        loan.set_room(SMALL_READ);
        self.bytes += SMALL_READ;
        Some(loan)
    }

    /// Takes buffers back. Nothing may be pending.
    #[inline]
    pub(crate) fn put(&mut self, loan: Loan) {
        debug_assert!(loan.buffers.pending().is_empty());
        self.borrowed -= 1;
        if self.bytes > self.limit || !loan.is_ordinary {
            return self.put_away(loan);
        }
        self.free.push(loan);
    }

    /// Where too much is there, or others wait.
    #[cold]
    fn put_away(&mut self, loan: Loan) {
        self.borrowed_small -= usize::from(!loan.is_ordinary);
        if self.bytes > self.budget || !loan.is_ordinary {
            return self.retire(loan);
        }
        // One that has grown is of use to one session alone, and its memory to several.
        if loan.room() > SMALL_READ {
            return self.retire(loan);
        }
        self.kept.push(loan);
    }

    /// A read has filled `len` bytes: there may be larger ones from now on, where there is memory for them.
    pub(crate) fn widen(&mut self, loan: &mut Loan, len: usize) {
        let room = loan.room();
        let was_full = len >= room / 2;
        if !was_full || room >= LARGE_READ || !loan.is_ordinary || self.waiting > 0 {
            return;
        }
        if self.make_space(room) {
            self.bytes += room;
            loan.set_room(2 * room);
        }
    }

    /// Whether the budget has so many bytes left. Those that nobody has go for them, where that is enough.
    fn make_space(&mut self, bytes: usize) -> bool {
        let missing = (self.bytes + bytes).saturating_sub(self.budget);
        if missing == 0 {
            return true;
        }
        // One of them is empty: while sessions are queued, all free buffers are kept for them.
        let rooms = self.kept.iter().chain(&self.free).map(Loan::room);
        let mut found = 0;
        let count = rooms
            .take_while(|room| {
                let is_needed = found < missing;
                found += if is_needed { *room } else { 0 };
                is_needed
            })
            .count();
        if found < missing {
            return false;
        }
        let kept = count.min(self.kept.len());
        self.retire_first(kept, |pool| &mut pool.kept);
        self.retire_first(count - kept, |pool| &mut pool.free);
        true
    }

    /// Those that were used the longest time ago.
    #[cold]
    fn retire_first(&mut self, count: usize, of: impl Fn(&mut Self) -> &mut Vec<Loan>) {
        let loans = of(self);
        let count = count.min(loans.len());
        let gone: Vec<_> = loans.drain(..count).collect();
        gone.into_iter().for_each(|loan| self.retire(loan));
    }

    /// Takes back what a session was carrying when it ended.
    #[cold]
    pub(crate) fn discard(&mut self, loan: Loan) {
        self.borrowed -= 1;
        self.borrowed_small -= usize::from(!loan.is_ordinary);
        self.retire(loan);
    }

    /// Learns what a session holds beside loans; `counted` is what was known of it.
    pub(crate) fn count(&mut self, counted: &mut u32, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let before = std::mem::replace(counted, bytes);
        let apart = self.of_logins_and_tls - before as usize + bytes as usize;
        self.bytes = self.bytes - self.of_logins_and_tls + apart;
        self.of_logins_and_tls = apart;
    }

    /// Whether that alone is more than there may be of all.
    pub(crate) fn is_crowded(&self) -> bool {
        self.of_logins_and_tls > self.budget
    }

    /// The same by so much that nobody may begin with more of it.
    pub(crate) fn is_overcharged(&self) -> bool {
        self.is_crowded() && self.of_logins_and_tls > LEAST_BESIDE_LOANS
    }

    /// Gives memory back that nobody has needed since the last time.
    pub(crate) fn trim(&mut self) {
        self.retire_first(self.unused, |pool| &mut pool.free);
        self.unused = self.free.len();
    }

    #[cold]
    fn retire(&mut self, loan: Loan) {
        self.bytes -= loan.room();
        self.gone = self.gone.plus(&loan.buffers.meter());
    }

    /// A session that is over had so many bytes copied by TLS.
    pub(crate) fn note_copied_by_tls(&mut self, bytes: u64) {
        self.gone.bytes_copied_by_tls += bytes;
    }

    /// What all buffers counted, but those that are borrowed.
    pub(crate) fn meter(&self) -> Meter {
        let free = self.free.iter().chain(&self.kept);
        let meters = free.map(|loan| loan.buffers.meter());
        let sum = meters.fold(self.gone, |sum, meter| sum.plus(&meter));
        Meter {
            capacity_now: self.bytes as u64,
            ..sum
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn of_logins_and_tls(&self) -> usize {
        self.of_logins_and_tls
    }

    pub(crate) fn borrowed(&self) -> usize {
        self.borrowed
    }
}

#[cfg(test)]
mod tests;
