//! One direction of a session: bytes that have arrived and have not left.
//!
//! ```text
//!   |    cleared: may be sent    |  not told yet  |
//!   |<----------- pending, where it was read ---->|
//! ```

use onecopy_wire::{Buffers, Meter};

use crate::buffers::{Loan, Pool};

/// One direction. Holds no buffers while nothing is in flight.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) loan: Option<Loan>,
    /// Pending bytes that may be sent.
    pub(crate) cleared: usize,
    /// How many bytes more are needed before it can be told what is to become of them.
    pub(crate) need: usize,
    /// Bytes that the packet under way still has.
    pub(crate) until_end: usize,
    /// What is behind the cleared bytes is to be looked at when these are sent, as frames are counted otherwise from there.
    pub(crate) is_held: bool,
}

impl Flow {
    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        self.loan
            .as_ref()
            .map_or(&[], |loan| loan.buffers.pending())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending().is_empty()
    }

    /// Buffers to read into; `None` if the direction must be queued for them.
    #[inline]
    pub(crate) fn borrow(&mut self, pool: &mut Pool) -> Option<&mut Loan> {
        let may_go_on = match &self.loan {
            Some(loan) => pool.may_go_on(loan, self.need),
            None => {
                self.loan = Some(pool.take()?);
                true
            }
        };
        if !may_go_on && !pool.renew(&mut self.loan, self.need) {
            return None;
        }
        self.loan.as_mut()
    }

    /// Gives the buffers back where nothing is in flight.
    #[inline]
    pub(crate) fn rest(&mut self, pool: &mut Pool) {
        let Some(loan) = &self.loan else { return };
        if loan.buffers.pending().is_empty() {
            if let Some(loan) = self.loan.take() {
                pool.put(loan);
            }
        } else if pool.has_line() {
            self.give_up(pool);
        }
    }

    /// The same, and as much as can be of the rest where something is.
    pub(crate) fn give_up(&mut self, pool: &mut Pool) {
        pool.squeeze(&mut self.loan);
    }

    /// Bytes that have arrived into buffers which others could use, and that have left them: as long as the sum is the same,
    /// nothing moves.
    pub(crate) fn progress(&self) -> Option<u64> {
        let loan = self.loan.as_ref().filter(|loan| loan.is_of_use())?;
        let meter = loan.buffers.meter();
        Some(meter.bytes_read.wrapping_add(meter.bytes_written))
    }

    /// `sum`, and what its buffers counted.
    pub(crate) fn meter(&self, sum: Meter) -> Meter {
        self.loan.as_ref().map_or(sum, |loan| Meter {
            capacity_now: sum.capacity_now,
            ..sum.plus(&loan.buffers.meter())
        })
    }

    /// What may be sent is not sent any more.
    #[cold]
    pub(crate) fn consume_cleared(&mut self) {
        let cleared = std::mem::take(&mut self.cleared);
        if let Some(loan) = &mut self.loan {
            let _ = loan.buffers.consume(cleared);
        }
    }

    /// Has these bytes be the first that have arrived, in place of those that may be sent; `false` if there is no memory for that, and
    /// all is as it was.
    #[cold]
    pub(crate) fn put_in_front(&mut self, bytes: &[u8], pool: &mut Pool) -> bool {
        let behind = self.pending().get(self.cleared..).unwrap_or_default();
        let len = bytes.len() + behind.len();
        let mut other = Self {
            need: len,
            ..Self::default()
        };
        // The second time looks for enough room.
        if other.borrow(pool).is_none() || other.borrow(pool).is_none() {
            other.discard(pool);
            return false;
        }
        let is_filled = other
            .loan
            .as_mut()
            .is_some_and(|loan| fill(&mut loan.buffers, bytes, behind));
        if !is_filled {
            other.discard(pool);
            return false;
        }
        self.discard(pool);
        other.need = 0;
        *self = other;
        true
    }

    pub(crate) fn discard(&mut self, pool: &mut Pool) {
        self.cleared = 0;
        if let Some(loan) = self.loan.take() {
            pool.discard(loan);
        }
    }
}

/// Has both arrive, one behind the other; `false` if there is no room.
fn fill(buffers: &mut Buffers, first: &[u8], second: &[u8]) -> bool {
    let len = first.len() + second.len();
    buffers.need(len, 0);
    if buffers.prepare().is_err() {
        return false;
    }
    let mut targets = buffers.targets();
    let target = targets.single().and_then(|target| target.get_mut(..len));
    let Some((before, behind)) = target.and_then(|target| target.split_at_mut_checked(first.len()))
    else {
        return false;
    };
    before.copy_from_slice(first);
    behind.copy_from_slice(second);
    buffers.commit(len);
    true
}
