//! Large values: each in a home of its own, which reads fill straight.

use super::Buffers;
use crate::home::HomeAdvice;
use crate::{Span, WireError};

impl Buffers {
    /// Gives a value of `total` bytes, of which the last `buffered` pending ones are the first, an allocation of its own;
    /// all further bytes of it are read straight there. The buffered part is copied, and metered.
    ///
    /// # Errors
    /// The allocator's no. Nothing has changed then, but for an offered vector that was too small, which is gone.
    ///
    /// # Panics
    /// When fewer bytes are pending, or more than the value has: a core's bug.
    pub fn begin_home(&mut self, total: usize, buffered: usize) -> Result<(), WireError> {
        if total > u32::MAX as usize {
            return Err(WireError::LimitExceeded {
                needed: total as u64,
                max: u64::from(u32::MAX),
            });
        }
        assert!(buffered <= total, "more is buffered than the value has");
        let pending = self.input.pending();
        let head = &pending[pending.len() - buffered..];
        self.homes.begin(total, head, &mut self.meter)?;
        self.input.drop_tail(buffered);
        if buffered > self.config.initial_read {
            // Where one value is large the next one often is: what is read ahead of it has to be copied too.
            self.input.read_less();
        }
        self.note_capacity();
        Ok(())
    }

    /// The value under way, whose home is full, goes on for `more` bytes: for payloads whose length is told packet by
    /// packet. Pending bytes that belong to it are copied there, and metered; so is a growth of the home.
    ///
    /// # Errors
    /// The allocator's no, or a value of 4 GiB and more. Nothing has changed then.
    pub fn extend_home(&mut self, more: usize) -> Result<(), WireError> {
        let total = self.homes.total().saturating_add(more);
        if total > u32::MAX as usize {
            return Err(WireError::LimitExceeded {
                needed: total as u64,
                max: u64::from(u32::MAX),
            });
        }
        let pending = self.input.pending();
        let head = &pending[..pending.len().min(more)];
        let n = head.len();
        self.homes.extend(more, head, &mut self.meter)?;
        self.input.consume(n);
        self.note_capacity();
        Ok(())
    }

    /// Bytes that the large home under way still misses.
    #[inline]
    pub fn home_missing(&self) -> usize {
        self.homes.missing()
    }

    /// The large home is full: its value as a span.
    #[allow(clippy::cast_possible_truncation)] // `begin_home` refused more than u32::MAX
    pub fn finish_home(&mut self) -> Span {
        let (home, len) = self.homes.finish();
        Span::of_home(home, len as u32)
    }

    /// Has `advice` be asked about the memory of each further value of some megabytes, once the first of them has come.
    pub fn set_home_advice(&mut self, advice: HomeAdvice) {
        self.homes.set_advice(advice);
    }

    /// Offers a vector as the home of the next large value: it is replaced, by one of just the size, only if it is too small.
    pub fn offer_home(&mut self, home: Vec<u8>) {
        self.homes.offer(home);
    }

    /// Takes back a vector that no large value has used.
    pub fn withdraw_home(&mut self) -> Option<Vec<u8>> {
        self.homes.withdraw_offer()
    }

    /// Takes a large value out, without a copy. `None` where the span lies in the read buffer.
    pub fn take_home(&mut self, span: Span) -> Option<Vec<u8>> {
        if span.home == 0 {
            return None;
        }
        let taken = self.homes.take(span.home);
        self.note_capacity();
        Some(taken)
    }

    /// The row is over: its large homes may be used again.
    #[inline]
    pub fn recycle_homes(&mut self) {
        self.homes.recycle();
    }

    /// A vector to be filled in place of the [`targets`](Self::targets), by drivers that can read into memory that was never
    /// written: it is a large home of which only what has come was written, and the read fills nothing else. Append to it what
    /// one read brings, up to its capacity and without growing it, and [`commit`](Self::commit) that; or
    /// [`prepare`](Self::prepare) again. The home's memory is not set to zero then, and the read may bring more than a
    /// [`STEP`](crate::STEP). `None` wherever the targets must be used.
    #[inline]
    pub fn untouched_home(&mut self) -> Option<&mut Vec<u8>> {
        if self.plan.home == 0 || self.plan.spare > 0 || self.plan.external {
            return None;
        }
        self.plan_untouched_home()
    }

    #[inline(never)]
    fn plan_untouched_home(&mut self) -> Option<&mut Vec<u8>> {
        let missing = self.homes.missing();
        if self.side.size > 0 && self.side.distance < missing {
            return None;
        }
        let home = self.homes.untouched()?;
        self.plan.home = missing;
        Some(home)
    }
}
