//! Large arguments, held by reference until they have left.

use bytes::Bytes;
use onecopy_wire::Borrowed;

/// The large arguments of what is being sent, by their position.
#[derive(Debug, Default)]
pub(super) struct Shares(Vec<Bytes>);

/// A longer list is given back.
const KEPT: usize = 64;

impl Shares {
    pub(super) fn list(&mut self) -> &mut Vec<Bytes> {
        &mut self.0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.0.iter()
    }

    /// Everything has left.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.0.clear();
        if self.0.capacity() > KEPT {
            self.0 = Vec::new();
        }
    }
}

impl Borrowed for Shares {
    fn part(&self, index: u32) -> &[u8] {
        self.0.get(index as usize).map_or(&[], |bytes| bytes)
    }
}
