//! What a URL names: one server, or a cluster.

use std::fmt;

use onecopy_valkey::blocking::{Cluster, Connection};
use onecopy_valkey::cluster::{ClusterConfig, NodeAddress};
use onecopy_valkey::{Config, Endpoint, Error, Refusal};

use super::format::FormatName;
use super::peer::Peer;
use crate::failure::Failure;

/// Where commands go.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Server(Box<Config>),
    Cluster(Box<ClusterConfig>),
}

impl Target {
    /// Reads a URL. `is_cluster`: it names a node of a cluster, whatever its scheme.
    pub(crate) fn of_url(url: &str, is_cluster: bool) -> Result<Self, Error> {
        if url
            .split_once("://")
            .is_some_and(|(scheme, _)| scheme.ends_with("+cluster"))
        {
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
            Self::Cluster(config) => &config.node,
        }
    }

    pub(super) fn node_mut(&mut self) -> &mut Config {
        match self {
            Self::Server(config) => config,
            Self::Cluster(config) => &mut config.node,
        }
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    pub(super) fn connect(&self, format: FormatName) -> Result<Peer, Failure> {
        let connected = match self {
            Self::Server(config) => {
                Connection::connect_with(config).map(|conn| Peer::Server(Box::new(conn)))
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

    /// The settings of a connection to each server that has keys, and its name: the one server, or the primaries of the cluster.
    pub(super) fn servers(&self) -> Result<Vec<(String, Config)>, Failure> {
        match self {
            Self::Server(config) => Ok(vec![(config.endpoint.to_string(), (**config).clone())]),
            Self::Cluster(config) => {
                let cluster = Cluster::connect_with(config)?;
                let of = |address: NodeAddress| (address.to_string(), self.of_node(&address));
                Ok(cluster.primaries().into_iter().map(of).collect())
            }
        }
    }

    /// The settings of a connection to this node of the cluster.
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
