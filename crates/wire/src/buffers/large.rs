//! Large values: each has its own memory, its home, which reads fill directly.

use super::Buffers;
use crate::home::HomeAdvice;
use crate::{Span, WireError};

impl Buffers {
    /// Allocates a home for a value of `total` bytes. The last `buffered` pending bytes are the first bytes of the value; they
    /// are copied there, and metered. All further bytes of the value are read directly into the home.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if the value has 4 GiB or more. Nothing has changed then, except that an offered
    /// vector that was too small is gone.
    ///
    /// # Panics
    /// Panics if fewer bytes are pending, or if `buffered` is more than the value has, which is a bug of the state machine.
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

    /// Extends the current value, whose home is full, by `more` bytes. It is for payloads whose length is announced packet by
    /// packet. Pending bytes that belong to the value are copied to its home, and metered; so is any growth of the home.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if the value has 4 GiB or more. Nothing has changed then.
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

    /// Returns the number of bytes that the current large-value buffer still lacks.
    #[inline]
    pub fn home_missing(&self) -> usize {
        self.homes.missing()
    }

    /// Returns the value of the large-value buffer, which must be full, as a span.
    #[allow(clippy::cast_possible_truncation)] // `begin_home` refused more than u32::MAX
    pub fn finish_home(&mut self) -> Span {
        let (home, len) = self.homes.finish();
        Span::of_home(home, len as u32)
    }

    /// Sets a function that is called with the memory of each further value of some megabytes, once its first megabyte has
    /// arrived.
    pub fn set_home_advice(&mut self, advice: HomeAdvice) {
        self.homes.set_advice(advice);
    }

    /// Offers a vector as the home of the next large value. If it is too small, it is replaced by a vector of the exact size.
    pub fn offer_home(&mut self, home: Vec<u8>) {
        self.homes.offer(home);
    }

    /// Takes back the offered vector, if no large value has used it.
    pub fn withdraw_home(&mut self) -> Option<Vec<u8>> {
        self.homes.withdraw_offer()
    }

    /// Takes a large value out of the buffers without a copy. Returns `None` if the span is in the read buffer.
    pub fn take_home(&mut self, span: Span) -> Option<Vec<u8>> {
        if span.home == 0 {
            return None;
        }
        let taken = self.homes.take(span.home);
        self.note_capacity();
        Some(taken)
    }

    /// Marks the end of a row: its large-value buffers may be reused.
    #[inline]
    pub fn recycle_homes(&mut self) {
        self.homes.recycle();
    }

    /// Returns a vector to be filled in place of the [`targets`](Self::targets), for drivers that can read into memory that was
    /// never written. Returns `None` if the targets must be used.
    ///
    /// The vector is a large-value buffer of which only the bytes received so far were written, and which the read fills alone.
    /// Append what one read brings to it, up to its capacity and without growing it, and [`commit`](Self::commit) that number of
    /// bytes; or call [`prepare`](Self::prepare) again. The memory of the home is then not set to zero, and the read may bring more
    /// than a [`STEP`](crate::STEP).
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
