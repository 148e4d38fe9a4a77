//! Templates of the statements that were met last, by the start of their texts.

use onecopy_mysql_proto::digest::Template;

use super::{Known, STATEMENT_BYTES};

/// Templates of one start that are kept. Those that differ only behind the first literal are in one set.
const WAYS: usize = 4;

/// Texts for each digest: the same statement comes with other blanks, in other cases and with lists of other lengths.
const TEXTS: usize = 2;

#[derive(Debug)]
pub(super) struct Found {
    key: u64,
    pub(super) template: Template,
    pub(super) known: Known,
}

/// Sets of places, by key. A new template takes the places of its set one after the other.
#[derive(Debug)]
pub(super) struct Templates {
    places: Vec<Option<Found>>,
    /// Which place of each set is next.
    next: Vec<usize>,
}

impl Templates {
    pub(super) fn new(digests: usize) -> Self {
        let sets = match digests {
            0 => 0,
            count => (TEXTS * count).div_ceil(WAYS).next_power_of_two(),
        };
        let mut places = Vec::new();
        places.resize_with(WAYS * sets, || None);
        Self {
            places,
            next: vec![0; sets],
        }
    }

    #[inline]
    pub(super) fn at(&self, at: usize) -> Option<&Found> {
        self.places.get(at)?.as_ref()
    }

    pub(super) fn at_mut(&mut self, at: usize) -> Option<&mut Found> {
        self.places.get_mut(at)?.as_mut()
    }

    /// The place of a template that a whole statement matches.
    pub(super) fn find(&self, sql: &[u8]) -> Option<usize> {
        let key = Template::key(sql);
        let first = WAYS * self.set(key)?;
        (first..first + WAYS).find(|at| {
            let found = self.at(*at);
            found.is_some_and(|found| found.key == key && found.template.matches(sql))
        })
    }

    /// Keeps the template of a whole statement, if it has one.
    pub(super) fn insert(&mut self, sql: &[u8], known: Known) -> Option<usize> {
        if sql.len() > STATEMENT_BYTES {
            return None;
        }
        let template = Template::new(sql)?;
        let key = Template::key(sql);
        let set = self.set(key)?;
        let next = self.next.get_mut(set)?;
        let at = WAYS * set + *next;
        *next = (*next + 1) % WAYS;
        *self.places.get_mut(at)? = Some(Found {
            key,
            template,
            known,
        });
        Some(at)
    }

    fn set(&self, key: u64) -> Option<usize> {
        let sets = self.next.len() as u64;
        // The high bits are the mixed ones.
        (sets > 0)
            .then(|| (key >> 32) & (sets - 1))
            .and_then(|set| usize::try_from(set).ok())
    }
}
