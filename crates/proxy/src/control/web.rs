//! HTTP: the live page and its JSON, metrics, and health.
//!
//! One thread does the I/O of all clients of both listeners, with hyper; another one makes what is asked for, each thing once for all
//! who wait for it or watch it. Workers only count.
//!
//! | module | what it has |
//! |--------|-------------|
//! | `server` | the thread with the sockets, and who may stay |
//! | `route` | the path of a request, and its answer |
//! | `maker` | the thread that asks the workers and makes pages, JSON and events |
//! | `sample`, `now`, `client_list` | what was counted, and what came of it in a second, as data |
//! | `overview`, `session_page` | that data as tables |
//! | `table`, `html`, `number` | tables as HTML and as JSON for events |
//! | `login`, `action_page` | who may do something, and what |

mod action_page;
mod body;
mod client_list;
mod digests;
mod form;
mod html;
mod login;
mod maker;
mod now;
mod number;
mod overview;
mod route;
mod sample;
mod seat;
mod server;
mod session_page;
mod table;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use onecopy_net::evented::{Address, Listener, ListenerOptions};
use onecopy_net::{Endpoint, SocketOptions};
use tokio::sync::Notify;

use super::View;
use crate::config::{Actions, AdminConfig, MetricsConfig, WebConfig};
use crate::error::Error;
use crate::lock::lock;
use crate::sockets::Sockets;
use login::Administrator;

/// How long data may stay unacknowledged by a client of the page.
const USER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// What a listener serves.
#[derive(Debug, Clone)]
enum Offer {
    /// Metrics and health.
    Metrics,
    /// That, the page and its JSON.
    Page {
        /// Who may do something; `None`: nobody.
        administrator: Option<Arc<Administrator>>,
        /// Names by which browsers may ask; `None`: any.
        hosts: Option<Arc<[String]>>,
    },
}

/// The listeners and their threads.
pub(super) struct Web {
    metrics: Option<Address>,
    page: Option<Address>,
    closing: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Web {
    /// Listens where it is configured to.
    pub(super) fn start(
        view: &Arc<View>,
        metrics: &MetricsConfig,
        web: &WebConfig,
        admin: &AdminConfig,
    ) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        let mut open = |endpoint: &Endpoint, offer: &dyn Fn(&Address) -> Offer| {
            let (listener, address) = listen(endpoint, view.sockets())?;
            listeners.push((listener, offer(&address)));
            Ok::<_, Error>(address)
        };
        let metrics = metrics.listen.as_ref();
        let metrics = metrics.map(|endpoint| open(endpoint, &|_| Offer::Metrics));
        let metrics = metrics.transpose()?;
        let offer = |address: &Address| page(address, web, admin);
        let page = web.listen.as_ref().map(|endpoint| open(endpoint, &offer));
        let page = page.transpose()?;
        let closing = Arc::new(Notify::new());
        let thread = match listeners.is_empty() {
            true => None,
            false => Some(
                server::start(listeners, view, Arc::clone(&closing))
                    .map_err(Error::start("web"))?,
            ),
        };
        Ok(Self {
            metrics,
            page,
            closing,
            thread: Mutex::new(thread),
        })
    }

    pub(super) fn metrics_address(&self) -> Option<&Address> {
        self.metrics.as_ref()
    }

    pub(super) fn page_address(&self) -> Option<&Address> {
        self.page.as_ref()
    }

    /// Ends all of its clients, and waits for the end of the thread.
    pub(super) fn close(&self) {
        self.closing.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").finish_non_exhaustive()
    }
}

fn listen(endpoint: &Endpoint, sockets: &Mutex<Sockets>) -> Result<(Listener, Address), Error> {
    let failed = |error| Error::Listen(endpoint.clone(), error);
    let options = ListenerOptions {
        socket: SocketOptions {
            user_timeout: Some(USER_TIMEOUT),
            ..SocketOptions::default()
        },
        ..ListenerOptions::default()
    };
    let listener = lock(sockets).listen_for_control(endpoint, &options)?;
    let address = listener.address().map_err(failed)?;
    Ok((listener, address))
}

fn page(address: &Address, web: &WebConfig, admin: &AdminConfig) -> Offer {
    let is_local = match address {
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
        Address::Unix(_) => true,
    };
    let has_actions = match web.actions {
        Actions::On => true,
        Actions::Loopback => is_local,
        Actions::Off => false,
    };
    let has_actions = has_actions && !admin.password.is_empty();
    Offer::Page {
        administrator: has_actions.then(|| Arc::new(Administrator::new(admin))),
        // No browser gets to a Unix socket.
        hosts: match address {
            Address::Tcp(_) if is_local => Some(web.hosts.as_slice().into()),
            _ => None,
        },
    }
}
