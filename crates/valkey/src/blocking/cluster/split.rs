//! Commands on keys of several slots, split.

use super::Cluster;
use crate::blocking::Response;
use crate::cluster::Split;
use crate::{Arg, Error, Raw, Reply};

/// Commands on keys of any slots, which one command can't have in a cluster. They are split by slot and run one after the other:
/// *not atomic*, so others may see and change keys in between, and if it fails for some slots it may have been executed for others.
impl Cluster {
    /// MGET of keys of any slots: the values in the order of their keys, `None` for keys that don't exist or hold no string.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    pub fn mget_non_atomic<'k, K: Into<Arg<'k>>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let split = Split::of_keys("MGET", keys);
        split.values(replies(&self.run_split(&split)?))
    }

    /// MSET of keys of any slots.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be set.
    pub fn mset_non_atomic<'k, K: Into<Arg<'k>>, V: Into<Arg<'k>>>(
        &mut self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), Error> {
        let split = Split::of_pairs("MSET", pairs);
        self.run_split(&split).map(drop)
    }

    /// DEL of keys of any slots: how many existed.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be deleted.
    pub fn del_non_atomic<'k, K: Into<Arg<'k>>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("DEL", keys))
    }

    /// UNLINK of keys of any slots: how many existed.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be deleted.
    pub fn unlink_non_atomic<'k, K: Into<Arg<'k>>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("UNLINK", keys))
    }

    /// EXISTS of keys of any slots: how many exist; a key that is given twice counts twice.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    pub fn exists_non_atomic<'k, K: Into<Arg<'k>>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("EXISTS", keys))
    }

    /// TOUCH of keys of any slots: how many exist.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    pub fn touch_non_atomic<'k, K: Into<Arg<'k>>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("TOUCH", keys))
    }

    fn count_split(&mut self, split: Split<'_>) -> Result<u64, Error> {
        split.sum(replies(&self.run_split(&split)?))
    }

    fn run_split<'s>(&mut self, split: &'s Split<'_>) -> Result<Vec<Response<Raw<'s>>>, Error> {
        split.commands().map(|command| self.run(&command)).collect()
    }
}

fn replies<'r>(
    responses: &'r [Response<Raw<'_>>],
) -> impl Iterator<Item = Result<Reply<'r>, Error>> {
    responses.iter().map(|response| Ok(response.reply()))
}
