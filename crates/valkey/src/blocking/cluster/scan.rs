//! All keys of a cluster.

use std::fmt;
use std::time::Duration;

use super::Cluster;
use crate::cluster::{ClusterError, Filter, NodeAddress, Progress, Route, Step, Target, View};
use crate::command::Flags;
use crate::{Arg, Error, raw};

/// The pause behind a scan of a node that brought nothing, because slots moved.
const PAUSE: Duration = Duration::from_millis(100);

/// Goes over the keys of all primaries, in no order. A key that exists from the first call to the last is returned, also if slots
/// move or primaries fail meanwhile; some keys may be returned more than once.
///
/// ```no_run
/// # fn example(cluster: &mut onecopy_valkey::blocking::Cluster) -> Result<(), onecopy_valkey::Error> {
/// let mut scan = cluster.scan().matching("user:*").count(1_000);
/// while let Some(keys) = scan.next()? {
///     println!("{} keys", keys.len());
/// }
/// # Ok(()) }
/// ```
pub struct ClusterScan<'c> {
    cluster: &'c mut Cluster,
    progress: Progress<NodeAddress>,
    filter: Filter,
}

impl Cluster {
    /// Returns a scan of all keys, which begins with the first call of its `next`.
    pub fn scan(&mut self) -> ClusterScan<'_> {
        ClusterScan {
            cluster: self,
            progress: Progress::new(),
            filter: Filter::default(),
        }
    }
}

impl ClusterScan<'_> {
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
    #[allow(clippy::should_implement_trait)] // it can fail, and go on
    pub fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut attempts = self.cluster.attempts();
        loop {
            let step = self.progress.step();
            let (done, node) = match &step {
                Step::Done => return Ok(None),
                Step::Stuck(slot) => {
                    return Err(Error::cluster_error(ClusterError::SlotMoves(*slot)));
                }
                Step::Choose(slot) => (self.choose(*slot).map(|()| None), None),
                Step::Look(node) => (self.look(node).map(|()| None), Some(node)),
                Step::Scan(node, cursor) => (self.scan(node, *cursor).map(Some), Some(node)),
            };
            let error = match done {
                Ok(None) => continue,
                Ok(keys) => return Ok(keys),
                Err(error) => error,
            };
            self.progress.failed();
            let again =
                self.cluster
                    .again(&mut attempts, (error, node.cloned()), Flags::READONLY)?;
            self.cluster.pause(again.pause, None);
        }
    }

    fn choose(&mut self, slot: u16) -> Result<(), Error> {
        let route = Route {
            slot: Some(slot),
            flags: Flags::NONE,
        };
        let place = self.cluster.router.place(route, &Target::Primary)?;
        self.progress.chosen(place.address);
        Ok(())
    }

    /// Looks at a node, before it is scanned and behind that.
    fn look(&mut self, node: &NodeAddress) -> Result<(), Error> {
        let connection = self.cluster.on_node(node)?;
        let info = connection.run_quietly(&raw("INFO").arg("server"))?;
        let nodes = connection.run_quietly(&raw("CLUSTER").arg("NODES"))?;
        let view = View::read(nodes.reply().bytes(), info.reply().bytes());
        let view =
            view.map_err(|problem| Error::cluster_error(ClusterError::BadTopology(problem)))?;
        if !self.progress.looked(view) {
            self.cluster.want_refresh();
            self.cluster.pause(PAUSE, None);
        }
        Ok(())
    }

    fn scan(&mut self, node: &NodeAddress, cursor: u64) -> Result<Vec<Vec<u8>>, Error> {
        let connection = self.cluster.on_node(node)?;
        let scanned = connection.run(&self.filter.command(cursor))?;
        let keys = scanned
            .elements
            .iter()
            .filter(|key| self.progress.is_new(key));
        let keys = keys.map(<[u8]>::to_vec).collect();
        self.progress.scanned(scanned.cursor);
        Ok(keys)
    }
}

impl fmt::Debug for ClusterScan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterScan")
            .field("next", &self.progress.step())
            .finish_non_exhaustive()
    }
}
