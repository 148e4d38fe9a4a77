//! Buffers that no session needs now, and how much memory all of them may take.

use onecopy_wire::{BufferConfig, Buffers, Meter};

/// A row or two of ordinary size; read sizes go up from here where more comes at once.
const SMALL_READ: usize = 16 << 10;

/// The largest read: beyond it calls get no cheaper.
const LARGE_READ: usize = 256 << 10;

/// One direction of a session while it has something to carry.
#[derive(Debug)]
pub(crate) struct Loan {
    pub(crate) buffers: Box<Buffers>,
    /// The capacity that the pool knows of.
    counted: usize,
}

/// The buffers of one worker.
#[derive(Debug)]
pub(crate) struct Pool {
    #[allow(clippy::vec_box)] // they go from hand to hand
    free: Vec<Box<Buffers>>,
    /// The fewest that were free since the last trim: these were needed by nobody.
    unused: usize,
    /// Bytes of all buffers, as far as they are known.
    bytes: usize,
    budget: usize,
    lent: usize,
    /// What buffers counted that are gone.
    gone: Meter,
}

impl Pool {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            free: Vec::new(),
            unused: 0,
            bytes: 0,
            budget,
            lent: 0,
            gone: Meter::default(),
        }
    }

    /// Buffers may take so many bytes from now on. What is too much goes as it comes back.
    pub(crate) fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    /// Takes over a session's own buffers, which hold what came during its login; they go when they are empty.
    #[cold]
    pub(crate) fn adopt(&mut self, buffers: Buffers) -> Loan {
        let counted = buffers.capacity();
        self.bytes += counted;
        self.lent += 1;
        Loan {
            buffers: Box::new(buffers),
            counted,
        }
    }

    /// Whether somebody could get buffers now.
    pub(crate) fn can_lend(&self) -> bool {
        // There is always one, or nothing would ever go on.
        !self.free.is_empty() || self.lent == 0 || self.bytes + SMALL_READ <= self.budget
    }

    /// Buffers for one direction; `None` where the budget is used up, until some come back.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Loan> {
        let buffers = match self.free.pop() {
            Some(buffers) => buffers,
            None if !self.can_lend() => return None,
            None => Box::new(Buffers::new(BufferConfig {
                initial_read: SMALL_READ,
                max_read: LARGE_READ,
                max_buffer: 2 * LARGE_READ,
                idle_keep: LARGE_READ,
            })),
        };
        self.unused = self.unused.min(self.free.len());
        self.lent += 1;
        // A new one holds nothing yet, and soon will.
        let counted = buffers.capacity().max(SMALL_READ);
        self.bytes += counted - buffers.capacity();
        Some(Loan { buffers, counted })
    }

    /// Takes buffers back. Nothing may be pending.
    #[inline]
    pub(crate) fn put(&mut self, loan: Loan) {
        let Loan { buffers, counted } = loan;
        debug_assert!(buffers.pending().is_empty());
        self.lent -= 1;
        self.bytes = self.bytes - counted + buffers.capacity();
        let is_adopted = buffers.config().max_read < LARGE_READ;
        if self.bytes > self.budget || is_adopted {
            return self.retire(buffers);
        }
        self.free.push(buffers);
    }

    /// Takes back what a session was carrying when it ended.
    #[cold]
    pub(crate) fn discard(&mut self, loan: Loan) {
        self.lent -= 1;
        self.bytes = self.bytes - loan.counted + loan.buffers.capacity();
        self.retire(loan.buffers);
    }

    /// Learns what a loan has grown to.
    pub(crate) fn recount(&mut self, loan: &mut Loan) {
        let capacity = loan.buffers.capacity();
        self.bytes = self.bytes - loan.counted + capacity;
        loan.counted = capacity;
    }

    /// Gives memory back that nobody has needed since the last time.
    pub(crate) fn trim(&mut self) {
        for _ in 0..self.unused {
            if !self.free.is_empty() {
                let buffers = self.free.remove(0);
                self.retire(buffers);
            }
        }
        self.unused = self.free.len();
    }

    #[cold]
    fn retire(&mut self, buffers: Box<Buffers>) {
        self.bytes -= buffers.capacity();
        self.gone = self.gone.plus(&buffers.meter());
    }

    /// What all buffers counted, but those that are lent.
    pub(crate) fn meter(&self) -> Meter {
        let free = self.free.iter().map(|buffers| buffers.meter());
        let sum = free.fold(self.gone, |sum, meter| sum.plus(&meter));
        Meter {
            capacity_now: self.bytes as u64,
            ..sum
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn lent(&self) -> usize {
        self.lent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carry(loan: &mut Loan, bytes: usize) {
        loan.buffers.need(1, 0);
        loan.buffers.prepare().unwrap();
        let mut targets = loan.buffers.targets();
        let n = bytes.min(targets.total());
        assert!(targets.single().unwrap().len() >= n);
        loan.buffers.commit(n);
        loan.buffers.forward(n);
    }

    #[test]
    fn buffers_are_used_again_and_go_when_nobody_needs_them() {
        let mut pool = Pool::new(1 << 20);
        let mut loans: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
        loans.iter_mut().for_each(|loan| carry(loan, 100));
        loans.into_iter().for_each(|loan| pool.put(loan));
        assert_eq!((pool.bytes(), pool.lent()), (3 * SMALL_READ, 0));
        pool.trim(); // some were needed since the last time
        let one = pool.take().unwrap();
        pool.put(one);
        pool.trim();
        assert_eq!(pool.bytes(), SMALL_READ);
        pool.trim();
        pool.trim();
        assert_eq!(pool.bytes(), 0);
        assert_eq!(pool.meter().bytes_read, 300);
    }

    #[test]
    fn no_more_are_lent_than_the_budget_allows() {
        let mut pool = Pool::new(2 * SMALL_READ);
        let mut first = pool.take().unwrap();
        carry(&mut first, 1);
        pool.recount(&mut first);
        let mut second = pool.take().unwrap();
        carry(&mut second, 1);
        pool.recount(&mut second);
        assert!(pool.take().is_none());
        pool.put(first);
        let third = pool.take().unwrap();
        pool.discard(third);
        pool.discard(second);
        assert_eq!((pool.bytes(), pool.lent()), (0, 0));
        assert_eq!(pool.meter().bytes_written, 2);
    }
}
