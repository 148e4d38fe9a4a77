//! One direction of a session: bytes that have come and have not left.
//!
//! ```text
//!   |    cleared: may be sent    |  not told yet  |
//!   |<----------- pending, where it was read ---->|
//! ```

use onecopy_wire::Meter;

use crate::worker::pool::{Loan, Pool};

/// One direction. Holds no buffers while nothing is on its way.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) loan: Option<Loan>,
    /// Pending bytes that may be sent.
    pub(crate) cleared: usize,
    /// How many bytes more are needed before it can be told what is to become of them.
    pub(crate) need: usize,
    /// Bytes that the packet under way still has.
    pub(crate) until_end: usize,
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

    /// Gives the buffers back where nothing is on its way.
    #[inline]
    pub(crate) fn rest(&mut self, pool: &mut Pool) {
        if let Some(loan) = self.loan.take_if(|loan| loan.buffers.pending().is_empty()) {
            pool.put(loan);
        }
    }

    /// `sum`, and what its buffers counted.
    pub(crate) fn meter(&self, sum: Meter) -> Meter {
        self.loan.as_ref().map_or(sum, |loan| Meter {
            capacity_now: sum.capacity_now,
            ..sum.plus(&loan.buffers.meter())
        })
    }

    pub(crate) fn recount(&mut self, pool: &mut Pool) {
        if let Some(loan) = &mut self.loan {
            pool.recount(loan);
        }
    }

    pub(crate) fn discard(&mut self, pool: &mut Pool) {
        self.cleared = 0;
        if let Some(loan) = self.loan.take() {
            pool.discard(loan);
        }
    }
}
