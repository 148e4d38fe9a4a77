//! Commands on keys of several slots, split.

use super::Cluster;
use crate::cluster::Split;
use crate::responses::ClusterResponses;
use crate::{Arg, Error, Reply};

/// Commands on keys of any slots, which one command can't have in a cluster. They are split by slot and sent as a pipeline: *not
/// atomic*, so others may see and change keys in between, and if it fails for some slots it may have been executed for others.
impl Cluster {
    /// MGET of keys of any slots: the values in the order of their keys, `None` for keys that don't exist or hold no string.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn mget_non_atomic<'k, K: Into<Arg<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let split = Split::of_keys("MGET", keys);
        split.values(replies(&self.run_split(&split).await?))
    }

    /// MSET of keys of any slots.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be set.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn mset_non_atomic<'k, K: Into<Arg<'k>>, V: Into<Arg<'k>>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), Error> {
        let split = Split::of_pairs("MSET", pairs);
        let responses = self.run_split(&split).await?;
        replies(&responses).try_for_each(|reply| reply.map(drop))
    }

    /// DEL of keys of any slots: how many existed.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be deleted.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn del_non_atomic<'k, K: Into<Arg<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("DEL", keys)).await
    }

    /// UNLINK of keys of any slots: how many existed.
    ///
    /// # Errors
    /// Fails with the first error of a part; other keys may be deleted.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn unlink_non_atomic<'k, K: Into<Arg<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("UNLINK", keys)).await
    }

    /// EXISTS of keys of any slots: how many exist; a key that is given twice counts twice.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn exists_non_atomic<'k, K: Into<Arg<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("EXISTS", keys)).await
    }

    /// TOUCH of keys of any slots: how many exist.
    ///
    /// # Errors
    /// Fails with the first error of a part.
    ///
    /// # Cancel safety
    /// Cancel-safe: see [the type](Self).
    pub async fn touch_non_atomic<'k, K: Into<Arg<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, Error> {
        self.count_split(Split::of_keys("TOUCH", keys)).await
    }

    async fn count_split(&self, split: Split<'_>) -> Result<u64, Error> {
        split.sum(replies(&self.run_split(&split).await?))
    }

    async fn run_split(&self, split: &Split<'_>) -> Result<ClusterResponses, Error> {
        let mut pipeline = self.pipeline();
        for command in split.commands() {
            pipeline.push(&command)?;
        }
        pipeline.run().await
    }
}

fn replies(responses: &ClusterResponses) -> impl Iterator<Item = Result<Reply<'_>, Error>> {
    (0..responses.len()).map(|position| responses.get::<crate::Raw<'_>>(position))
}
