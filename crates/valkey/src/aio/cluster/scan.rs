//! All keys of a cluster.

use std::fmt;
use std::time::Duration;

use super::Cluster;
use crate::cluster::{
    Attempts, ClusterError, Filter, NodeAddress, Place, Progress, Route, Step, Target, View,
};
use crate::command::Flags;
use crate::{Arg, Error, raw};

/// The pause behind a scan of a node that brought nothing, because slots moved.
const PAUSE: Duration = Duration::from_millis(100);

/// Goes over the keys of all primaries, in no order. A key that exists from the first call to the last is returned, also if slots
/// move or primaries fail meanwhile; some keys may be returned more than once.
///
/// ```no_run
/// # async fn example(cluster: onecopy_valkey::aio::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut scan = cluster.scan().matching("user:*").count(1_000);
/// while let Some(keys) = scan.next().await? {
///     println!("{} keys", keys.len());
/// }
/// # Ok(()) }
/// ```
pub struct ClusterScan {
    cluster: Cluster,
    progress: Progress<NodeAddress>,
    filter: Filter,
}

impl Cluster {
    /// Returns a scan of all keys, which begins with the first call of its `next`.
    pub fn scan(&self) -> ClusterScan {
        ClusterScan {
            cluster: self.clone(),
            progress: Progress::new(),
            filter: Filter::default(),
        }
    }
}

impl ClusterScan {
    /// Returns only keys that match a glob pattern.
    #[must_use]
    pub fn matching(mut self, pattern: impl Into<Arg<'static>>) -> Self {
        self.filter.pattern = Some(pattern.into());
        self
    }

    /// Lets the server look at about so many keys for each call of `next`; its default is 10.
    #[must_use]
    pub fn count(mut self, count: i64) -> Self {
        self.filter.count = Some(count);
        self
    }

    /// Returns only keys of this type, as TYPE gives it: `string`, `hash`.
    #[must_use]
    pub fn of_type(mut self, kind: impl Into<Arg<'static>>) -> Self {
        self.filter.kind = Some(kind.into());
        self
    }

    /// Returns the next keys, which may be none, or `None` when all nodes were scanned.
    ///
    /// # Errors
    /// Fails if a node can't be reached within [`ClusterConfig::max_wait`](crate::cluster::ClusterConfig::max_wait), or if slots
    /// move all the time. The scan may be continued then.
    ///
    /// # Cancel safety
    /// Cancel-safe: the next call repeats what the dropped one has begun.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut attempts = Attempts::new(self.cluster.handle.inner.config.patience());
        loop {
            let step = self.progress.step();
            let (done, node) = match &step {
                Step::Done => return Ok(None),
                Step::Stuck(slot) => {
                    return Err(Error::cluster_error(ClusterError::SlotMoves(*slot)));
                }
                Step::Choose(slot) => (self.choose(*slot).map(|()| None), None),
                Step::Look(node) => (self.look(node).await.map(|()| None), Some(node)),
                Step::Scan(node, cursor) => (self.scan(node, *cursor).await.map(Some), Some(node)),
            };
            let error = match done {
                Ok(None) => continue,
                Ok(keys) => return Ok(keys),
                Err(error) => error,
            };
            self.progress.failed();
            let inner = &self.cluster.handle.inner;
            let again = inner.again(&mut attempts, (error, node.cloned()), Flags::READONLY)?;
            inner.pause(again.pause).await?;
        }
    }

    fn choose(&mut self, slot: u16) -> Result<(), Error> {
        let route = Route {
            slot: Some(slot),
            flags: Flags::NONE,
        };
        let (place, _) = self.cluster.handle.inner.find(route, &Target::Primary)?;
        self.progress.chosen(place.address);
        Ok(())
    }

    /// Looks at a node, before it is scanned and behind that.
    async fn look(&mut self, node: &NodeAddress) -> Result<(), Error> {
        let inner = &self.cluster.handle.inner;
        let shared = inner.connected(&on(node)).await?;
        let info = shared.run(&raw("INFO").arg("server")).await?;
        let nodes = shared.run(&raw("CLUSTER").arg("NODES")).await?;
        let view = View::read(nodes.reply().bytes(), info.reply().bytes());
        let view =
            view.map_err(|problem| Error::cluster_error(ClusterError::BadTopology(problem)))?;
        if !self.progress.looked(view) {
            inner.want_refresh();
            inner.pause(PAUSE).await?;
        }
        Ok(())
    }

    async fn scan(&mut self, node: &NodeAddress, cursor: u64) -> Result<Vec<Vec<u8>>, Error> {
        let shared = self.cluster.on_node(node).await?;
        let response = shared.run(&self.filter.command(cursor)).await?;
        let scanned = response.get()?;
        let keys = scanned
            .elements
            .iter()
            .filter(|key| self.progress.is_new(key));
        let keys = keys.map(<[u8]>::to_vec).collect();
        self.progress.scanned(scanned.cursor);
        Ok(keys)
    }
}

fn on(node: &NodeAddress) -> Place {
    Place {
        address: node.clone(),
        is_replica: false,
    }
}

impl fmt::Debug for ClusterScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterScan")
            .field("next", &self.progress.step())
            .finish_non_exhaustive()
    }
}
