//! The proxy's own connections to backends, for health checks and `KILL`: never on a worker, each within its time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, SslMode};
use onecopy_mysql_proto::auth::native_password::PasswordHash;
use onecopy_net::blocking::{self, Stream};
use onecopy_net::evented::Address;
use onecopy_net::proxy_protocol::Addresses;
use onecopy_net::{ConnectError, Endpoint, Verify};

use crate::backend::Backend;
use crate::config::{HealthConfig, HealthLogin};

/// Who the proxy is when it asks for itself; another one after a change of the configuration.
#[derive(Debug, Clone)]
pub(crate) struct Credentials(Arc<Mutex<Arc<HealthConfig>>>);

impl Credentials {
    pub(crate) fn new(config: HealthConfig) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(config))))
    }

    /// Another one from now on.
    pub(crate) fn set(&self, config: HealthConfig) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    pub(crate) fn health(&self) -> Arc<HealthConfig> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A login at one backend.
#[derive(Debug)]
pub(crate) struct Errand<'b> {
    backend: &'b Backend,
    login: HealthLogin,
    hash: Option<PasswordHash>,
    timeout: Duration,
    asks_for_key: bool,
}

impl<'b> Errand<'b> {
    /// `None` where no user is configured.
    pub(crate) fn new(backend: &'b Backend, credentials: &Credentials) -> Option<Self> {
        let health = credentials.health();
        Some(Self::with(backend, health.login.clone()?, health.timeout))
    }

    /// As anybody.
    pub(crate) fn with(backend: &'b Backend, login: HealthLogin, timeout: Duration) -> Self {
        Self {
            backend,
            login,
            hash: None,
            timeout,
            asks_for_key: false,
        }
    }

    /// With this in place of the password.
    pub(crate) fn with_hash(self, hash: Option<PasswordHash>) -> Self {
        Self { hash, ..self }
    }

    /// Whether a server without TLS may be asked for the key that the password goes under.
    pub(crate) fn asking_for_key(self, asks_for_key: bool) -> Self {
        Self {
            asks_for_key,
            ..self
        }
    }

    /// Logs in, at one of the backend's addresses or at any.
    ///
    /// # Errors
    /// As the client's.
    pub(crate) fn connect(
        &self,
        address: Option<&Address>,
    ) -> Result<Connection, onecopy_mysql::Error> {
        let config = self.config();
        let deadline = Instant::now() + self.timeout;
        let endpoint = address.map_or_else(|| self.backend.config.endpoint.clone(), endpoint);
        let mut stream = connect(self.backend, &endpoint, deadline)?;
        if let Some(tls) = &self.backend.config.tls {
            stream.offer_tls(tls.clone());
        }
        Connection::from_stream(&config, stream)
    }

    fn config(&self) -> Config {
        let backend = &self.backend.config;
        let mut config = Config::default();
        config.endpoint = backend.endpoint.clone();
        config.user = self.login.user.clone();
        config.password = String::from_utf8_lossy(self.login.password.expose())
            .as_ref()
            .into();
        config.password_hash = self.hash.clone();
        config.auth_plugins = backend.auth_plugins;
        config.server_public_key = backend.public_key.clone();
        config.get_server_public_key = self.asks_for_key;
        config.connect_timeout = Some(self.timeout);
        config.call_timeout = Some(self.timeout);
        // The stream has a connector of its own; this says what may be sent over it.
        config.ssl_mode = Some(match backend.tls.as_ref().map(|tls| tls.verify()) {
            None => SslMode::Disabled,
            Some(Verify::None) => SslMode::Required,
            Some(_) => SslMode::VerifyFull,
        });
        config
    }
}

/// Connects, and says by the PROXY protocol that nobody is spoken for, where the backend wants to hear it.
pub(crate) fn connect(
    backend: &Backend,
    endpoint: &Endpoint,
    deadline: Instant,
) -> Result<Stream, ConnectError> {
    let options = &backend.config.socket;
    let mut stream = blocking::connect(endpoint, options, Some(deadline))?;
    if backend.config.sends_proxy_header {
        // The socket is new: its buffer takes these few bytes at once.
        stream.try_send(&Addresses::Local.to_v2());
    }
    Ok(stream)
}

fn endpoint(address: &Address) -> Endpoint {
    match address {
        Address::Tcp(address) => Endpoint::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        },
        Address::Unix(path) => Endpoint::Unix(path.clone()),
    }
}
