//! The live page.

use std::fmt;

use onecopy_net::Endpoint;

/// The HTTP listener for the live page, its API, metrics and health.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebConfig {
    /// The address to listen on; `None`: off.
    pub listen: Option<Endpoint>,
    /// Whether sessions can be killed, and listeners and backends paused and drained, from the page. It takes a login with the user and
    /// the password of [`AdminConfig`](super::AdminConfig), which need no address for that.
    pub actions: Actions,
    /// Host names by which browsers may ask for the page while it listens on a loopback address. Addresses and `localhost` are always
    /// allowed. Any other name may be a foreign page's, which has its name resolved to this machine to read what is here.
    pub hosts: Vec<String>,
}

/// Where the page has actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Actions {
    /// Where it listens on a loopback address or a Unix socket, and there is an administrator's password.
    #[default]
    Loopback,
    /// On any address. Passwords are sent in clear text unless a server in front of the page encrypts them.
    On,
    /// Nowhere: it can only be looked at.
    Off,
}

impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}
