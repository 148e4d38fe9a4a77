//! What changes while the budget is used up and sessions are queued for buffers.
//!
//! Returned buffers go only to queued sessions, in order. A session that still has data to forward returns its buffers as soon as
//! they are empty and is queued behind the others. Data that cannot be sent yet is moved into the smallest buffer that holds it.

use super::{Loan, Pool, SMALL_READ, Standing};

impl Pool {
    /// So many sessions are queued from now on.
    pub(crate) fn set_waiting(&mut self, waiting: usize) {
        self.waiting = waiting;
        self.in_vain = None;
        if waiting == 0 {
            self.limit = self.budget;
            self.free.append(&mut self.kept);
        } else {
            // Every loan that comes back is looked at, and none is borrowed past the line.
            self.limit = 0;
            self.kept.append(&mut self.free);
            self.unused = 0;
        }
    }

    /// The next session in the queue is being served, or was served.
    pub(crate) fn serve(&mut self, is_serving: bool) {
        self.is_serving = is_serving;
    }

    /// Whether sessions are queued.
    #[inline]
    pub(crate) fn has_line(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a queued session can be served without an event.
    #[inline]
    pub(crate) fn can_serve(&self) -> bool {
        self.has_line() && self.can_lend() && self.in_vain != Some(self.standing())
    }

    /// Whether queued sessions can't be served.
    pub(crate) fn is_short(&self) -> bool {
        self.has_line() && !self.can_serve()
    }

    /// Every queued session was tried, and none could continue: each needs more at once than is available. They are
    /// asked again when something is different.
    pub(crate) fn note_in_vain(&mut self) {
        self.in_vain = Some(self.standing());
    }

    fn standing(&self) -> Standing {
        (self.bytes, self.borrowed, self.kept.len())
    }

    /// Whether there are buffers to be borrowed now.
    pub(crate) fn can_lend(&self) -> bool {
        // There are always some, or nothing would ever continue.
        !self.free.is_empty()
            || !self.kept.is_empty()
            || self.borrowed == self.borrowed_small
            || self.bytes + SMALL_READ <= self.budget
    }

    /// Whether more is there than may be: sessions that are new must not make it worse.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes > self.budget
    }

    /// Whether others have their turn before a session that asks now.
    #[inline]
    pub(super) fn must_wait(&self) -> bool {
        self.waiting > 0 && !self.is_serving
    }

    /// Whether buffers that are borrowed may be read into again without a check.
    #[inline]
    pub(crate) fn may_go_on(&self, loan: &Loan, need: usize) -> bool {
        loan.is_ordinary && need <= loan.room() && !self.must_wait()
    }

    /// Whether buffers that are borrowed may be read into again, at least `need` bytes. `false`: the session is queued,
    /// and what it does not need meanwhile is given up.
    #[cold]
    pub(crate) fn renew(&mut self, held: &mut Option<Loan>, need: usize) -> bool {
        if self.must_wait() {
            self.squeeze(held);
            return false;
        }
        held.as_mut().is_none_or(|loan| self.enlarge(loan, need))
    }

    /// Room for an ordinary read, and for what must be there at once.
    fn enlarge(&mut self, loan: &mut Loan, need: usize) -> bool {
        let room = need.max(SMALL_READ).next_power_of_two().max(loan.room());
        let more = room - loan.room();
        // Beside those that are squeezed it is the only one: it always gets what it needs, or nothing would ever continue.
        let is_alone = self.borrowed - self.borrowed_small == usize::from(loan.is_ordinary);
        if !self.make_space(more) && !is_alone {
            return false;
        }
        self.bytes += more;
        loan.set_room(room);
        // A login's own are never borrowed to another.
        if !loan.is_ordinary && loan.buffers.config().initial_read == SMALL_READ {
            loan.is_ordinary = true;
            self.borrowed_small -= 1;
        }
        true
    }

    /// Leaves a direction no more than what it holds takes: nothing where nothing is pending.
    #[cold]
    pub(crate) fn squeeze(&mut self, held: &mut Option<Loan>) {
        if let Some(loan) = held.take_if(|loan| loan.buffers.pending().is_empty()) {
            return self.put(loan);
        }
        let Some(loan) = held else { return };
        // Half of it is not worth a copy of the other half.
        if loan.buffers.pending().len() > loan.room() / 4 {
            return;
        }
        loan.buffers.release_to(0);
        let room = loan.buffers.capacity();
        self.bytes = self.bytes - loan.room() + room;
        loan.set_room(room);
        if loan.is_ordinary && room < SMALL_READ {
            loan.is_ordinary = false;
            self.borrowed_small += 1;
        }
    }
}
