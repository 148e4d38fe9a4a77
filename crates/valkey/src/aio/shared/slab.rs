//! Slots that are reused, and the lists that go through them.
//!
//! ```text
//!   slots:    [ 0 ][ 1 ][ 2 ][ 3 ][ 4 ]      numbers do not change, memory is given back only when all are free
//!   flight:     0 -> 3 -> 1                  each list is two numbers in the slots themselves:
//!   waiting:    4                            nothing is allocated to join one, or to leave its middle
//!   free:       2
//! ```

use onecopy_wire::WireError;

/// No slot.
const NONE: u32 = u32::MAX;

/// Slots that are kept when all of them are free: more than most programs have commands under way.
const KEPT: usize = 256;

/// Lists that a slot can be in at the same time.
const LISTS: usize = 2;

/// A slot's number.
pub(super) type Index = u32;

/// Slots of `T`.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// The first free slot; the next one is in its links.
    free: Index,
    used: usize,
}

#[derive(Debug)]
struct Slot<T> {
    links: [Link; LISTS],
    value: Option<T>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: Index,
    behind: Index,
}

impl Link {
    const NOWHERE: Self = Self {
        before: NONE,
        behind: NONE,
    };
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            used: 0,
        }
    }

    /// Takes a free slot.
    ///
    /// # Errors
    /// Memory that could not be had.
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Result<Index, WireError> {
        if self.free == NONE {
            self.grow()?;
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        self.free = slot.links[0].behind;
        slot.links = [Link::NOWHERE; LISTS];
        slot.value = Some(value);
        self.used += 1;
        Ok(index)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), WireError> {
        let more = self.slots.len().max(16);
        let failed = |_| WireError::OutOfMemory {
            bytes: (more * size_of::<Slot<T>>()) as u64,
        };
        self.slots.try_reserve_exact(more).map_err(failed)?;
        for _ in 0..more {
            // Numbers end long after memory does: a slot has over a hundred bytes.
            let index = Index::try_from(self.slots.len()).unwrap_or(NONE);
            let mut links = [Link::NOWHERE; LISTS];
            links[0].behind = self.free;
            self.slots.push(Slot { links, value: None });
            self.free = index;
        }
        Ok(())
    }

    /// Frees a slot, which is in no list any more.
    #[inline]
    pub(super) fn remove(&mut self, index: Index) {
        let slot = &mut self.slots[index as usize];
        if slot.value.is_none() {
            return;
        }
        slot.value = None;
        slot.links[0].behind = self.free;
        self.free = index;
        self.used -= 1;
        if self.used == 0 && self.slots.capacity() > KEPT {
            *self = Self::new();
        }
    }

    #[inline]
    pub(super) fn get(&self, index: Index) -> Option<&T> {
        self.slots.get(index as usize)?.value.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: Index) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.value.as_mut()
    }

    /// Slots in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    fn link<const BY: usize>(&mut self, index: Index) -> &mut Link {
        &mut self.slots[index as usize].links[BY]
    }
}

/// A list through a slab's slots, by their `BY`-th links. A slot is in it once or not at all: its owner knows.
#[derive(Debug)]
pub(super) struct List<const BY: usize> {
    first: Index,
    last: Index,
    len: usize,
}

impl<const BY: usize> List<BY> {
    pub(super) const fn new() -> Self {
        Self {
            first: NONE,
            last: NONE,
            len: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Index> {
        (self.first != NONE).then_some(self.first)
    }

    pub(super) fn last(&self) -> Option<Index> {
        (self.last != NONE).then_some(self.last)
    }

    /// The slot behind one of the list.
    pub(super) fn behind<T>(&self, slab: &mut Slab<T>, index: Index) -> Option<Index> {
        let behind = slab.link::<BY>(index).behind;
        (behind != NONE).then_some(behind)
    }

    #[inline]
    pub(super) fn push_back<T>(&mut self, slab: &mut Slab<T>, index: Index) {
        self.insert(slab, index, NONE);
    }

    /// Puts a slot in front of `behind`, one of the list; at the end where that is none.
    #[inline]
    pub(super) fn insert_before<T>(
        &mut self,
        slab: &mut Slab<T>,
        index: Index,
        behind: Option<Index>,
    ) {
        self.insert(slab, index, behind.unwrap_or(NONE));
    }

    #[inline]
    fn insert<T>(&mut self, slab: &mut Slab<T>, index: Index, behind: Index) {
        let before = match behind {
            NONE => self.last,
            _ => slab.link::<BY>(behind).before,
        };
        *slab.link::<BY>(index) = Link { before, behind };
        self.join(slab, before, index, index, behind);
        self.len += 1;
    }

    #[inline]
    pub(super) fn remove<T>(&mut self, slab: &mut Slab<T>, index: Index) {
        let link = std::mem::replace(slab.link::<BY>(index), Link::NOWHERE);
        self.join(slab, link.before, link.behind, link.before, link.behind);
        self.len -= 1;
    }

    /// Makes `next` what is behind `before`, and `previous` what is in front of `behind`.
    #[inline]
    fn join<T>(
        &mut self,
        slab: &mut Slab<T>,
        before: Index,
        next: Index,
        previous: Index,
        behind: Index,
    ) {
        match before {
            NONE => self.first = next,
            _ => slab.link::<BY>(before).behind = next,
        }
        match behind {
            NONE => self.last = previous,
            _ => slab.link::<BY>(behind).before = previous,
        }
    }
}

#[cfg(test)]
mod tests;
