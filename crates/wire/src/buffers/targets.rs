//! The destination of one read.

use std::fmt;
use std::io::IoSliceMut;

use super::Side;

/// The slices of one vectored read.
pub struct Targets<'a> {
    slices: [IoSliceMut<'a>; 4],
    len: usize,
}

impl<'a> Targets<'a> {
    pub(super) fn one(slice: &'a mut [u8]) -> Self {
        let len = usize::from(!slice.is_empty());
        Self {
            slices: [IoSliceMut::new(slice), none(), none(), none()],
            len,
        }
    }

    pub(super) fn around(home: &'a mut [u8], side: &'a mut Side, spare: &'a mut [u8]) -> Self {
        let distance = side.distance;
        let mut targets = Self {
            slices: [none(), none(), none(), none()],
            len: 0,
        };
        if side.size == 0 || distance > home.len() + spare.len() {
            targets.push(home);
            targets.push(spare);
            return targets;
        }
        let slot = &mut side.bytes[side.filled..side.size];
        if distance < home.len() {
            let (before, after) = home.split_at_mut(distance);
            targets.push(before);
            targets.push(slot);
            targets.push(after);
            targets.push(spare);
        } else {
            let (before, after) = spare.split_at_mut(distance - home.len());
            targets.push(home);
            targets.push(before);
            targets.push(slot);
            targets.push(after);
        }
        targets
    }

    fn push(&mut self, slice: &'a mut [u8]) {
        if !slice.is_empty() {
            self.slices[self.len] = IoSliceMut::new(slice);
            self.len += 1;
        }
    }

    /// Returns the slice if there is only one. A plain read is slightly cheaper than a vectored one.
    #[inline]
    pub fn single(&mut self) -> Option<&mut [u8]> {
        if self.len == 1 {
            Some(&mut self.slices[0])
        } else {
            None
        }
    }

    /// Returns the total length of the slices in bytes.
    pub fn total(&self) -> usize {
        self.slices[..self.len]
            .iter()
            .map(|slice| slice.len())
            .sum()
    }
}

impl fmt::Debug for Targets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.slices[..self.len].iter().map(|slice| slice.len());
        f.debug_list().entries(lengths).finish()
    }
}

impl<'a> AsMut<[IoSliceMut<'a>]> for Targets<'a> {
    fn as_mut(&mut self) -> &mut [IoSliceMut<'a>] {
        &mut self.slices[..self.len]
    }
}

fn none<'a>() -> IoSliceMut<'a> {
    IoSliceMut::new(&mut [])
}
