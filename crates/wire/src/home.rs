//! Large-value buffers: the final memory of one value each, filled directly from the socket.

use std::fmt;
use std::mem::MaybeUninit;

use crate::{Meter, STEP, WireError};

/// A function that is called with the memory that a large value is about to fill, none of which was touched yet. It may ask the
/// system for larger pages.
pub type HomeAdvice = fn(&mut [MaybeUninit<u8>]);

/// Advice is asked for once this much of a value has arrived: 1 MiB. Before that, its length is only announced, and does not
/// justify even one large page.
const ADVISE_BEHIND: usize = 1 << 20;

/// Advice is asked for only if at least this much is still to come: 4 MiB, which is two of the usual large pages and the parts
/// around them.
const ADVISE_FROM: usize = 4 << 20;

/// One value's memory. `bytes.len()` is what was ever initialised, `len` the value's own length.
#[derive(Default)]
struct Home {
    bytes: Vec<u8>,
    len: usize,
}

/// Sizes only: the bytes are the caller's.
impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} B", self.len, self.bytes.capacity())
    }
}

/// The homes of the row under way; recycled from row to row until they are taken.
#[derive(Default)]
pub(crate) struct Homes {
    /// The first `used` belong to the row under way, the rest wait to be used again.
    homes: Vec<Home>,
    used: usize,
    /// Bytes of the row that had most of them in homes, since memory was last given back.
    largest_row: usize,
    /// A vector that the caller wants the next large value in.
    offered: Option<Vec<u8>>,
    /// Length that the last used home is to have, while it is being filled.
    total: usize,
    filled: usize,
    advice: Option<HomeAdvice>,
    /// Whether advice was asked for the memory of the home under way.
    is_advised: bool,
}

impl Homes {
    pub(crate) fn set_advice(&mut self, advice: HomeAdvice) {
        self.advice = Some(advice);
    }

    /// Bytes still to come for the home under way.
    #[inline]
    pub(crate) fn missing(&self) -> usize {
        self.total - self.filled
    }

    /// Length that the home under way is to have.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn offer(&mut self, home: Vec<u8>) {
        self.offered = Some(home);
    }

    pub(crate) fn withdraw_offer(&mut self) -> Option<Vec<u8>> {
        self.offered.take()
    }

    /// Starts a home of `total` bytes with `head` as its first bytes. Reserved once and exactly.
    pub(crate) fn begin(
        &mut self,
        total: usize,
        head: &[u8],
        meter: &mut Meter,
    ) -> Result<(), WireError> {
        debug_assert_eq!(self.missing(), 0, "one home at a time");
        if self.used == self.homes.len() {
            self.homes
                .try_reserve(1)
                .map_err(|_| WireError::OutOfMemory {
                    bytes: size_of::<Home>() as u64,
                })?;
            self.homes.push(Home::default());
        }
        let home = &mut self.homes[self.used].bytes;
        if let Some(offered) = self.offered.take() {
            *home = offered;
        }
        if home.capacity() < total {
            // Freed before it is asked for again: nothing is copied, and the two are never there at once.
            *home = Vec::new();
            home.try_reserve_exact(total)
                .map_err(|_| WireError::OutOfMemory {
                    bytes: total as u64,
                })?;
        }
        if home.len() < head.len() {
            home.clear();
            home.extend_from_slice(head);
        } else {
            home[..head.len()].copy_from_slice(head);
        }
        meter.bytes_copied_to_homes += head.len() as u64;
        meter.large_values += 1;
        self.homes[self.used].len = 0;
        self.used += 1;
        self.total = total;
        self.filled = head.len();
        self.is_advised = false;
        Ok(())
    }

    /// The home under way becomes `more` bytes longer, `head` being the first of them. Grows by doubling, so that what is
    /// copied for it stays below what the value has.
    pub(crate) fn extend(
        &mut self,
        more: usize,
        head: &[u8],
        meter: &mut Meter,
    ) -> Result<(), WireError> {
        debug_assert_eq!(self.missing(), 0, "the home is not full yet");
        let total = self.total + more;
        let home = &mut self.homes[self.used - 1].bytes;
        home.truncate(self.filled);
        if home.capacity() < total {
            home.try_reserve(more).map_err(|_| WireError::OutOfMemory {
                bytes: total as u64,
            })?;
            self.is_advised = false;
            meter.growths += 1;
            meter.bytes_copied_by_growth += self.filled as u64;
        }
        home.extend_from_slice(head);
        meter.bytes_copied_to_homes += head.len() as u64;
        self.total = total;
        self.filled += head.len();
        Ok(())
    }

    /// How much of the home's missing part the next read may fill: one step at the most. Advice is asked for here.
    #[inline]
    pub(crate) fn plan(&mut self) -> usize {
        let planned = self.missing().min(STEP);
        if planned > 0 && !self.is_advised && self.filled >= ADVISE_BEHIND {
            self.advise(planned);
        }
        planned
    }

    #[cold]
    fn advise(&mut self, planned: usize) {
        let home = &mut self.homes[self.used - 1].bytes;
        let Some(advice) = self.advice else {
            return;
        };
        if self.filled + planned > home.len() {
            self.is_advised = true;
            if self.total - self.filled >= ADVISE_FROM {
                advice(home.spare_capacity_mut());
            }
        }
    }

    /// The planned part, set to zero as far as it was never written: safe Rust demands it of memory that is borrowed as a slice.
    pub(crate) fn target(&mut self, planned: usize, meter: &mut Meter) -> &mut [u8] {
        match self.used.checked_sub(1) {
            Some(last) if planned > 0 => {
                let home = &mut self.homes[last].bytes;
                let until = self.filled + planned;
                if until > home.len() {
                    meter.bytes_zeroed += (until - home.len()) as u64;
                    home.resize(until, 0);
                }
                &mut home[self.filled..until]
            }
            _ => &mut [],
        }
    }

    /// The vector of the home under way, where all that it has beyond what has arrived was never written and is of this value.
    pub(crate) fn untouched(&mut self) -> Option<&mut Vec<u8>> {
        let missing = self.missing();
        let home = &mut self.homes[self.used.checked_sub(1)?].bytes;
        let is_exact = home.len() == self.filled && home.capacity() - self.filled == missing;
        (is_exact && missing > 0).then_some(home)
    }

    pub(crate) fn commit(&mut self, n: usize) {
        self.filled += n;
        debug_assert!(self.filled <= self.total);
        debug_assert!(self.filled <= self.homes[self.used - 1].bytes.len());
    }

    /// The home under way is full: it gets its exact length and its number, counted from 1.
    #[allow(clippy::cast_possible_truncation)] // at most one home a column
    pub(crate) fn finish(&mut self) -> (u32, usize) {
        debug_assert_eq!(self.missing(), 0, "the home is not full");
        let len = self.total;
        self.homes[self.used - 1].len = len;
        (self.total, self.filled) = (0, 0);
        (self.used as u32, len)
    }

    #[inline]
    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        let home = &self.homes[number as usize - 1];
        &home.bytes[..home.len]
    }

    pub(crate) fn take(&mut self, number: u32) -> Vec<u8> {
        let home = std::mem::take(&mut self.homes[number as usize - 1]);
        let mut bytes = home.bytes;
        bytes.truncate(home.len);
        bytes
    }

    /// The row is over: its homes may be used again.
    #[inline]
    pub(crate) fn recycle(&mut self) {
        if self.used > 0 {
            self.end_row();
        }
    }

    /// Keeps the homes unless they are together more than twice the largest row: each grows to the largest value that its
    /// place in a row has ever had, so that rows which are large in one place after the other would add up.
    fn end_row(&mut self) {
        // A value that was cut short counts with the length that it was to have.
        let row: usize = self.homes[..self.used].iter().map(|home| home.len).sum();
        self.largest_row = self.largest_row.max(row + self.total);
        if self.capacity() / 2 > self.largest_row {
            self.homes = Vec::new();
        }
        self.used = 0;
        (self.total, self.filled) = (0, 0);
    }

    pub(crate) fn capacity(&self) -> usize {
        self.homes.iter().map(|home| home.bytes.capacity()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.homes.is_empty()
    }

    pub(crate) fn shrink(&mut self, keep: usize) {
        if self.used == 0 && self.capacity() > keep {
            self.homes = Vec::new();
            self.largest_row = 0;
        }
    }
}

impl fmt::Debug for Homes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Homes")
            .field("homes", &self.homes)
            .field("used", &self.used)
            .field("missing", &self.missing())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
