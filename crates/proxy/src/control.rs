//! Monitoring and control of a running proxy, on separate threads: workers only count.
//!
//! | thread | what it does |
//! |--------|--------------|
//! | `health` | says whose turn it is to be checked; each check has a thread for as long as it takes |
//! | `web` | serves all HTTP clients, of `[metrics]` and `[web]` |
//! | `web-maker` | asks the workers and makes what these clients ask for: metrics, pages, JSON, events |
//! | `web-action` | does what an administrator asks for on the page, one thing at a time |
//! | `admin` | takes administrators in; each has a thread of its own |
//!
//! They see the proxy through a [`View`], which asks the workers for what they counted as it is needed.

mod action;
mod admin;
mod condition;
mod door;
mod health;
mod metrics;
mod view;
mod web;
mod wording;

use std::io;
use std::sync::Arc;

use onecopy_net::evented::Address;

use crate::config::{AdminConfig, MetricsConfig, WebConfig};
use crate::error::Error;
use crate::lock::lock;
pub(crate) use door::{Door, Hall};
pub use view::Killed;
pub(crate) use view::{Hook, View};
use web::Web;

/// The threads.
#[derive(Debug)]
pub(crate) struct Control {
    web: Web,
    admin: Option<Door>,
    health: health::Handle,
    view: Arc<View>,
}

impl Control {
    /// Starts them. Addresses are listened on before anything else.
    pub(crate) fn start(
        view: &Arc<View>,
        metrics: &MetricsConfig,
        web: &WebConfig,
        admin: &AdminConfig,
    ) -> Result<Self, Error> {
        let web = Web::start(view, metrics, web, admin)?;
        let admin = match &admin.listen {
            None => None,
            Some(endpoint) => Some(admin::open(endpoint, admin, view)?),
        };
        let health = health::start(view).map_err(Error::start("health"))?;
        let view = Arc::clone(view);
        Ok(Self {
            web,
            admin,
            health,
            view,
        })
    }

    pub(crate) fn metrics_address(&self) -> Option<&Address> {
        self.web.metrics_address()
    }

    pub(crate) fn web_address(&self) -> Option<&Address> {
        self.web.page_address()
    }

    pub(crate) fn admin_address(&self) -> Option<&Address> {
        self.admin.as_ref().map(Door::address)
    }

    /// No new sessions are accepted, and health checks stop. HTTP clients are disconnected at once, those of the admin listener within
    /// half a second.
    pub(crate) fn stop(&self) {
        self.health.stop();
        self.release();
    }

    /// No clients are accepted any more, and those that there are leave. Health checks go on.
    pub(crate) fn release(&self) {
        lock(self.view.sockets()).forget_control();
        self.web.close();
        if let Some(door) = &self.admin {
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
