//! Asks a node for the slots of its cluster.

use std::time::Duration;

use onecopy_resp_proto::{Limits, OwnedReply, Reply};

use super::address::NodeAddress;
use super::error::ClusterError;
use super::topology::Topology;
use crate::command::{Raw, raw};
use crate::{Config, Error};

/// The largest description: 16,384 ranges, each with a primary and two replicas, in some 400 bytes. A hostile one ends here.
const LIMITS: Limits = Limits {
    max_bulk: 64 << 10,
    max_depth: 16,
    max_elements: 1 << 20,
    max_total: MAX_REPLY as u64,
    max_line: 64 << 10,
    large: usize::MAX,
};

/// Bytes of it: 32 MiB.
const MAX_REPLY: usize = 32 << 20;

/// The longest time for one node: others are asked next.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The commands for one node.
#[derive(Debug)]
pub(crate) struct Query {
    asked: NodeAddress,
    is_tls: bool,
    is_second: bool,
}

/// What a reply has led to.
#[derive(Debug)]
pub(crate) enum Asked {
    /// What the cluster looks like.
    Topology(Topology),
    /// Ask once more, with [`Query::command`].
    More,
}

impl Query {
    pub(crate) fn new(asked: &NodeAddress, config: &Config) -> Self {
        Self {
            asked: asked.clone(),
            is_tls: config.tls,
            is_second: false,
        }
    }

    /// The settings of the connection: one of its own, so that it has its own limits, and waits for nobody's replies.
    pub(crate) fn config(&self, node: &Config) -> Config {
        let at_most = |timeout: Option<Duration>| Some(timeout.unwrap_or(TIMEOUT).min(TIMEOUT));
        Config {
            endpoint: self.asked.endpoint(),
            connect_timeout: at_most(node.connect_timeout),
            command_timeout: at_most(node.command_timeout),
            limits: LIMITS,
            max_reply: MAX_REPLY,
            ..node.clone()
        }
    }

    /// CLUSTER SHARDS tells more; CLUSTER SLOTS is known before 7.0, too.
    pub(crate) fn command(&self) -> Raw<'static> {
        match self.is_second {
            false => raw("CLUSTER").arg("SHARDS"),
            true => raw("CLUSTER").arg("SLOTS"),
        }
    }

    /// Reads what came of the command.
    ///
    /// # Errors
    /// Fails if this node does not help.
    pub(crate) fn answered(&mut self, reply: Result<OwnedReply, Error>) -> Result<Asked, Error> {
        let failed = match reply {
            Ok(reply) => match self.read(reply.reply()) {
                Ok(topology) => return Ok(Asked::Topology(topology)),
                Err(problem) => Error::cluster_error(ClusterError::BadTopology(problem)),
            },
            Err(error) => error,
        };
        // Without a connection there is nothing more to ask for.
        if self.is_second || failed.is_closed() || failed.is_timeout() {
            return Err(failed);
        }
        self.is_second = true;
        Ok(Asked::More)
    }

    fn read(&self, reply: Reply<'_>) -> Result<Topology, String> {
        match self.is_second {
            false => Topology::of_shards(reply, &self.asked, self.is_tls),
            true => Topology::of_slots(reply, &self.asked),
        }
    }
}

/// The more telling one of two failures of nodes that were asked, one after the other.
pub(crate) fn more_telling(before: Option<Error>, error: Error) -> Error {
    before.filter(is_final).unwrap_or(error)
}

/// Whether a login was refused, or a server is not trusted.
fn is_final(error: &Error) -> bool {
    error.refusal().is_some() || error.tls().is_some()
}

/// What a refresh fails with that no node has helped. Why a login was refused or a server is not trusted is worth more than that
/// nobody answered.
pub(crate) fn no_topology(last: Option<Error>) -> Error {
    match last {
        Some(error) if is_final(&error) => error,
        last => {
            let last = last.map_or_else(
                || "there is none to ask".to_owned(),
                |last| last.to_string(),
            );
            Error::cluster_error(ClusterError::NoTopology { last })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_reply;

    fn query() -> Query {
        Query::new(
            &NodeAddress::new(b"10.0.0.1", 7000).unwrap(),
            &Config::default(),
        )
    }

    fn owned(bytes: &[u8]) -> Result<OwnedReply, Error> {
        with_reply(bytes, |reply| match reply.as_error() {
            Some(text) => Err(Error::server_error(text)),
            None => Ok(reply.detach().unwrap()),
        })
    }

    #[test]
    fn slots_are_asked_for_where_shards_are_no_help() {
        for first in [&b"-ERR unknown subcommand\r\n"[..], b"*0\r\n", b"+OK\r\n"] {
            let mut query = query();
            assert!(matches!(query.answered(owned(first)), Ok(Asked::More)));
            let good = owned(b"*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n$1\r\na\r\n:1\r\n");
            let done = query.answered(good).unwrap();
            assert!(matches!(done, Asked::Topology(topology) if topology.assigned() == 10));
        }
    }

    #[test]
    fn a_node_that_helps_with_neither_is_given_up() {
        let mut query = query();
        query.answered(owned(b"*0\r\n")).unwrap();
        let error = query.answered(owned(b"*0\r\n")).unwrap_err();
        assert!(
            matches!(error.cluster(), Some(ClusterError::BadTopology(_))),
            "{error}"
        );
        let disabled = b"-ERR This instance has cluster support disabled\r\n";
        let mut query = self::query();
        query.answered(owned(disabled)).unwrap();
        let error = query.answered(owned(disabled)).unwrap_err();
        let text = no_topology(Some(error)).to_string();
        assert!(text.contains("cluster support disabled"), "{text}");
        let mut query = self::query();
        assert!(query.answered(Err(Error::closed("lost"))).is_err());
    }
}
