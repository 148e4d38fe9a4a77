//! What a URL names: one server, the primary that sentinels watch, or a cluster.

use std::fmt;

use onecopy_valkey::blocking::{Cluster, Connection, Sentinel};
use onecopy_valkey::cluster::{ClusterConfig, NodeAddress};
use onecopy_valkey::sentinel::SentinelConfig;
use onecopy_valkey::{Config, Endpoint, Refusal};

use super::format::FormatName;
use super::peer::Peer;
use crate::failure::Failure;

/// Where commands go.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Server(Box<Config>),
    Sentinel(Box<SentinelConfig>),
    Cluster(Box<ClusterConfig>),
}

impl Target {
    /// Reads a URL. `is_cluster`: it names a node of a cluster, whatever its scheme.
    pub(crate) fn of_url(url: &str, is_cluster: bool) -> Result<Self, Failure> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        if scheme.ends_with("+sentinel") {
            if is_cluster {
                return Err(Failure::other(
                    "sentinels watch a primary without a cluster: leave out -c",
                ));
            }
            return Ok(Self::Sentinel(Box::new(SentinelConfig::from_url(url)?)));
        }
        if scheme.ends_with("+cluster") {
            return Ok(Self::Cluster(Box::new(ClusterConfig::from_url(url)?)));
        }
        let node = Config::from_url(url)?;
        Ok(match is_cluster {
            true => {
                let mut config = ClusterConfig::default();
                config.seeds = vec![node.endpoint.clone()];
                config.node = node;
                Self::Cluster(Box::new(config))
            }
            false => Self::Server(Box::new(node)),
        })
    }

    /// The settings of a connection; of a cluster without the address.
    pub(super) fn node(&self) -> &Config {
        match self {
            Self::Server(config) => config,
            Self::Sentinel(config) => &config.server,
            Self::Cluster(config) => &config.node,
        }
    }

    pub(super) fn node_mut(&mut self) -> &mut Config {
        match self {
            Self::Server(config) => config,
            Self::Sentinel(config) => &mut config.server,
            Self::Cluster(config) => &mut config.node,
        }
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    pub(super) fn connect(&self, format: FormatName) -> Result<Peer, Failure> {
        let connected = match self {
            Self::Server(_) | Self::Sentinel(_) => {
                let config = self.server()?;
                Connection::connect_with(&config).map(|conn| Peer::Server(Box::new(conn)))
            }
            Self::Cluster(config) => {
                if !config.seeds.iter().any(is_tcp) {
                    return Err(Failure::other(
                        "a cluster is reached over TCP: write redis+cluster://HOST:PORT",
                    ));
                }
                Cluster::connect_with(config).map(|cluster| Peer::Cluster(Box::new(cluster)))
            }
        };
        connected.map_err(|error| match error.refusal() {
            Some(Refusal::NoProto) if format == FormatName::Json => Failure::other(
                "the format json needs RESP3, which this server does not speak: use -f raw or -f readable",
            ),
            _ => error.into(),
        })
    }

    /// The settings of a connection to the one server: sentinels are asked who is the primary now.
    pub(crate) fn server(&self) -> Result<Config, Failure> {
        let Self::Sentinel(config) = self else {
            return Ok(self.node().clone());
        };
        let primary = Sentinel::connect_with(config)?.primary();
        let lost = || Failure::other("the primary has just closed its connection");
        Ok(self.of_node(&primary.ok_or_else(lost)?))
    }

    /// The settings of a connection to each server that has keys, and its name: the one server, or all primaries of the
    /// cluster.
    pub(super) fn servers(&self) -> Result<Vec<(String, Config)>, Failure> {
        match self {
            Self::Server(_) | Self::Sentinel(_) => {
                let config = self.server()?;
                Ok(vec![(config.endpoint.to_string(), config)])
            }
            Self::Cluster(config) => {
                let cluster = Cluster::connect_with(config)?;
                let of = |address: NodeAddress| (address.to_string(), self.of_node(&address));
                Ok(cluster.primaries().into_iter().map(of).collect())
            }
        }
    }

    /// The settings of a connection to this server of those that the URL leads to.
    pub(super) fn of_node(&self, address: &NodeAddress) -> Config {
        let mut config = self.node().clone();
        config.endpoint = Endpoint::Tcp {
            host: address.host().to_owned(),
            port: address.port(),
        };
        config
    }
}

fn is_tcp(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Tcp { .. })
}

/// As prompts show it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(config) => config.endpoint.fmt(f),
            Self::Sentinel(config) => write!(f, "sentinel {}", config.name),
            Self::Cluster(config) => {
                f.write_str("cluster")?;
                match config.seeds.first() {
                    Some(seed) => write!(f, " {seed}"),
                    None => Ok(()),
                }
            }
        }
    }
}
