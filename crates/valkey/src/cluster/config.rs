//! How a cluster is reached.

use std::time::Duration;

use onecopy_net::Endpoint;

use super::attempts::Patience;
use crate::{Config, Error};

/// From which nodes commands that only read are answered. Replicas may be behind their primary: a read from them may miss the
/// caller's own last write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadFrom {
    /// From primaries only.
    #[default]
    Primary,
    /// From the replicas in turn; from the primary if there is none or it fails.
    Replica,
    /// From the primary and the replicas in turn.
    Any,
    /// From the nodes of this availability zone in turn; if there is none, as with [`Replica`](Self::Replica). Nodes say where they
    /// are since Valkey 8.0, if `availability-zone` is configured there.
    Zone(Box<str>),
}

/// The settings of a client of a cluster. Create it from a URL, or from [`ClusterConfig::default`] and set its fields.
///
/// ```no_run
/// use onecopy_valkey::blocking::Cluster;
/// use onecopy_valkey::cluster::{ClusterConfig, ReadFrom};
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut config = ClusterConfig::from_url("redis+cluster://:password@node-a,node-b:6380")?;
/// config.read_from = ReadFrom::Replica;
/// let mut cluster = Cluster::connect_with(&config)?;
/// cluster.run(&string::set("greeting", "hello"))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterConfig {
    /// Nodes of the cluster, of which the others are learned. One that answers is enough. Default: `localhost:6379`.
    pub seeds: Vec<Endpoint>,
    /// The settings of the connections to all nodes. Its endpoint is not used.
    pub node: Config,
    /// From which nodes commands that only read are answered. Default: from primaries.
    pub read_from: ReadFrom,
    /// How many redirections of one command are followed in a row. Default: 5.
    pub max_redirects: u32,
    /// How long a command is repeated while its slot has no node that executes it, from its first failure on. Default: 10 seconds.
    /// A failover takes about [`cluster-node-timeout`](https://valkey.io/topics/cluster-tutorial/) and a second. Zero: it fails at
    /// once.
    pub max_wait: Duration,
    /// How many commands may wait at a time for the cluster to recover; further ones fail at once. Default: 10,000.
    pub max_waiting: usize,
    /// How often the slots are asked for although nothing went wrong, to learn of new replicas. A quarter less at random. Default:
    /// 60 seconds. `None`: never. Less than a second counts as a second.
    pub refresh_interval: Option<Duration>,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        let node = Config::default();
        Self {
            seeds: vec![node.endpoint.clone()],
            node,
            read_from: ReadFrom::Primary,
            max_redirects: 5,
            max_wait: Duration::from_secs(10),
            max_waiting: 10_000,
            refresh_interval: Some(Duration::from_secs(60)),
        }
    }
}

impl ClusterConfig {
    /// Parses a URL: `redis+cluster://user:password@host-a,host-b:port?option=value&...`.
    ///
    /// | scheme | |
    /// |--------|-|
    /// | `redis+cluster://`, `valkey+cluster://` | TCP in clear text, including the password |
    /// | `rediss+cluster://`, `valkeys+cluster://` | TLS; the nodes are verified |
    ///
    /// The options are those of [`Config::from_url`], and:
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `read-from` | `primary`, `replica`, `any` or `zone:NAME` |
    /// | `max-redirects` | redirections of one command |
    /// | `max-wait` | seconds that a command is repeated while no node executes it; 0: it fails at once |
    /// | `refresh-interval` | seconds; 0 for never |
    ///
    /// # Errors
    /// Fails like [`Config::from_url`].
    pub fn from_url(url: &str) -> Result<Self, Error> {
        crate::url::parse_cluster(url)
    }

    pub(crate) fn patience(&self) -> Patience {
        Patience {
            max_redirects: self.max_redirects,
            max_wait: self.max_wait,
        }
    }
}

impl std::str::FromStr for ClusterConfig {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_several_hosts_and_the_options_of_both() {
        let url = "rediss+cluster://me:secret@a,b:7001,[::1]:7002?read-from=zone:eu-1&max-redirects=3&command-timeout=2&max-wait=0.5";
        let config = ClusterConfig::from_url(url).unwrap();
        let tcp = |host: &str, port| Endpoint::Tcp {
            host: host.into(),
            port,
        };
        assert_eq!(
            config.seeds,
            [tcp("a", 6379), tcp("b", 7001), tcp("::1", 7002)]
        );
        assert!(config.node.tls);
        assert_eq!(config.node.user.as_deref(), Some("me"));
        assert_eq!(config.node.command_timeout, Some(Duration::from_secs(2)));
        assert_eq!(config.read_from, ReadFrom::Zone("eu-1".into()));
        assert_eq!(
            (config.max_redirects, config.max_wait),
            (3, Duration::from_millis(500))
        );
        let plain = ClusterConfig::from_url("valkey+cluster://a?refresh-interval=0").unwrap();
        assert!(!plain.node.tls && plain.refresh_interval.is_none());
        assert_eq!(plain.max_redirects, 5);
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, expected) in [
            ("redis://a", "redis+cluster://"),
            ("redis+cluster://a,,b", "empty"),
            ("redis+cluster://a?read-from=zone:", "zone:NAME"),
            ("redis+cluster://a?max-redirects=x", "max-redirects"),
            ("redis+cluster://a?what=1", "unknown option"),
        ] {
            let text = ClusterConfig::from_url(url).unwrap_err().to_string();
            assert!(text.contains(expected), "{url}: {text}");
        }
        let text = Config::from_url("redis+cluster://a")
            .unwrap_err()
            .to_string();
        assert!(text.contains("Cluster::connect"), "{text}");
    }
}
