//! How the server of a connection is reached a second time.

use std::net::SocketAddr;
use std::time::Duration;

use onecopy_net::Endpoint;

use crate::{Config, Password};

/// Where an order to cancel goes, as whom, and how long getting there takes.
#[derive(Debug)]
pub(crate) struct Way {
    /// The connection's own, but for the default database, which may be gone by then.
    pub(crate) config: Config,
    /// The address that the connection has: the name's others may be other servers.
    pub(crate) endpoint: Endpoint,
    /// What connecting and the login took.
    pub(crate) took: Duration,
}

impl Way {
    /// The way to the server at `peer`, or at the configuration's Unix socket.
    pub(crate) fn new(config: &Config, peer: Option<SocketAddr>, took: Duration) -> Self {
        let config = Config {
            database: None,
            call_timeout: None,
            statement_timeout: None,
            slow_queries: None,
            progress: None,
            ..config.clone()
        };
        let endpoint = peer.map_or_else(|| config.endpoint.clone(), tcp);
        Self {
            config,
            endpoint,
            took,
        }
    }

    /// The same under another login.
    pub(crate) fn with_user(&self, user: &str, password: &Password) -> Self {
        let config = Config {
            user: user.to_owned(),
            password: password.clone(),
            ..self.config.clone()
        };
        Self {
            config,
            endpoint: self.endpoint.clone(),
            took: self.took,
        }
    }
}

fn tcp(address: SocketAddr) -> Endpoint {
    let host = match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            format!("{}%{}", address.ip(), address.scope_id())
        }
        address => address.ip().to_string(),
    };
    let port = address.port();
    Endpoint::Tcp { host, port }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_leads_to_the_address_and_not_to_the_name() {
        let config = Config::from_url("mysql://user@localhost:7/shop?call-timeout=3").unwrap();
        for (address, shown) in [
            ("127.0.0.1:3306", "127.0.0.1:3306"),
            ("[::1]:3306", "[::1]:3306"),
            ("[fe80::1%2]:3306", "[fe80::1%2]:3306"),
        ] {
            let way = Way::new(&config, Some(address.parse().unwrap()), Duration::ZERO);
            assert_eq!(way.endpoint.to_string(), shown);
            // TLS still verifies the name.
            assert_eq!(way.config.endpoint.to_string(), "localhost:7");
            assert_eq!(way.config.database, None);
        }
        let config = Config::from_url("mysql://user@localhost/?socket=/run/server").unwrap();
        let way = Way::new(&config, None, Duration::ZERO);
        assert_eq!(way.endpoint, Endpoint::Unix("/run/server".into()));
    }
}
