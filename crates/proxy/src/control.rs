//! Monitoring and control of a running proxy, on separate threads: workers only count.
//!
//! | thread | what it does |
//! |--------|--------------|
//! | `health` | says whose turn it is to be checked; each check has a thread for as long as it takes |
//! | `metrics` | answers HTTP requests, all of them |
//! | `metrics-page` | asks the workers for a page of metrics, where one is asked for |
//! | `admin` | takes administrators in; each has a thread of its own |
//!
//! They see the proxy through a [`View`], which asks the workers for what they counted as it is needed.

mod admin;
mod door;
mod health;
mod http;
mod metrics;
mod view;

use std::io;
use std::sync::Arc;

use onecopy_net::evented::Address;

use crate::config::{AdminConfig, MetricsConfig};
use crate::error::Error;
use door::Door;
pub use view::Killed;
pub(crate) use view::{Hook, View};

/// The threads.
#[derive(Debug)]
pub(crate) struct Control {
    metrics: Option<Door>,
    admin: Option<Door>,
    health: health::Handle,
}

impl Control {
    /// Starts them. Addresses are listened on before anything else.
    pub(crate) fn start(
        view: &Arc<View>,
        metrics: &MetricsConfig,
        admin: &AdminConfig,
    ) -> Result<Self, Error> {
        let metrics = match &metrics.listen {
            None => None,
            Some(endpoint) => Some(http::open(endpoint, view)?),
        };
        let admin = match &admin.listen {
            None => None,
            Some(endpoint) => Some(admin::open(endpoint, admin, view)?),
        };
        let health = health::start(view).map_err(Error::start("health"))?;
        Ok(Self {
            metrics,
            admin,
            health,
        })
    }

    pub(crate) fn metrics_address(&self) -> Option<&Address> {
        self.metrics.as_ref().map(Door::address)
    }

    pub(crate) fn admin_address(&self) -> Option<&Address> {
        self.admin.as_ref().map(Door::address)
    }

    /// No new sessions are accepted, and health checks stop. Clients of metrics and the admin listener are disconnected within
    /// half a second.
    pub(crate) fn stop(&self) {
        self.health.stop();
        for door in [&self.metrics, &self.admin].into_iter().flatten() {
            door.close();
        }
    }
}

/// A thread that is not waited for.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map(drop)
}
