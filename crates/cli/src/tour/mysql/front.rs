//! A proxy of the tour's own, in front of its server.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{env, fs, io};

use onecopy_mysql::{Config, Endpoint};
use onecopy_net::Endpoint as Way;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config as ProxyConfig, ListenerConfig, Secret};

use crate::bench::failure::Failure;

/// A proxy in front of the tour's server, with a listener of each kind.
pub(super) struct Front {
    pub(super) proxy: Proxy,
    /// The client's way through it, of the kind of the direct one, so that only the proxy makes a difference.
    pub(super) through: Config,
    pub(super) address: SocketAddr,
    /// Where its socket is.
    _folder: Folder,
}

impl Front {
    /// Starts a proxy on a port of the loopback address and on a socket, with what `listener` says of both; with a page and an
    /// admin listener where there is a password for it.
    pub(super) fn start(
        config: &Config,
        listener: ListenerConfig,
        admin: Option<&str>,
    ) -> Result<Self, Failure> {
        let server = match &config.endpoint {
            Endpoint::Unix(path) => Way::Unix(path.clone()),
            Endpoint::Tcp { host, port } => Way::Tcp {
                host: host.clone(),
                port: *port,
            },
        };
        let free_port = || Way::Tcp {
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let folder = Folder::new()?;
        let socket = folder.0.join("proxy.sock");
        let mut settings = ProxyConfig {
            listeners: vec![ListenerConfig {
                listen: vec![free_port(), Way::Unix(socket.clone())],
                backends: vec![BackendConfig::new(server)],
                ..listener
            }],
            ..ProxyConfig::default()
        };
        if let Some(password) = admin {
            settings.web.listen = Some(free_port());
            settings.admin.listen = Some(free_port());
            settings.admin.password = Secret::new(password);
        }
        let proxy = Proxy::start(settings).map_err(|error| Failure::said(error.to_string()))?;
        let address = proxy
            .tcp_address()
            .ok_or_else(|| Failure::said("the proxy listens nowhere"))?;
        let mut through = config.clone();
        through.endpoint = match &config.endpoint {
            Endpoint::Unix(_) => Endpoint::Unix(socket),
            Endpoint::Tcp { .. } => Endpoint::Tcp {
                host: address.ip().to_string(),
                port: address.port(),
            },
        };
        Ok(Self {
            proxy,
            through,
            address,
            _folder: folder,
        })
    }
}

/// A folder of nobody else's, gone with the proxy.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let name = format!("onecopy-tour-{:016x}", RandomState::new().hash_one(0));
        let path = env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
