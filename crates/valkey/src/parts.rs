//! The large arguments of one call, lent to the driver until they have left.

use bytes::Bytes;
use onecopy_wire::Lent;

/// Parts that own their memory are numbered from here on.
const OWNED: u32 = 1 << 31;

/// Large arguments by the numbers that they have in the write queue.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    lent: Vec<&'a [u8]>,
    owned: Vec<Bytes>,
}

impl<'a> Parts<'a> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self {
            lent: Vec::new(),
            owned: Vec::new(),
        }
    }

    /// Where a command that outlives the call puts its own.
    #[inline]
    pub(crate) fn lent(&mut self) -> &mut Vec<&'a [u8]> {
        &mut self.lent
    }

    /// Where any other puts its own, and the first one's number.
    #[inline]
    pub(crate) fn owned(&mut self) -> (&mut Vec<Bytes>, u32) {
        (&mut self.owned, OWNED)
    }
}

impl Lent for Parts<'_> {
    fn part(&self, index: u32) -> &[u8] {
        if index < OWNED {
            return self.lent.get(index as usize).copied().unwrap_or_default();
        }
        let owned = self.owned.get((index - OWNED) as usize);
        owned.map_or(&[], |bytes| bytes)
    }
}
