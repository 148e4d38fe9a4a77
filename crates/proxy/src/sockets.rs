//! Listening sockets that another process has made: a service manager that starts the proxy.
//!
//! A socket is used in place of a new one where it listens on the configured address.

use std::os::fd::OwnedFd;

use onecopy_net::Endpoint;
use onecopy_net::evented::{Address, Listener, ListenerOptions};

use crate::config::Config;
use crate::error::Error;
use crate::resolve::resolve;

/// Listening sockets that were passed to this process. Each has to fit a `listen` of the configuration.
///
/// # Example
/// ```
/// use onecopy_proxy::Sockets;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?; // from a service manager
/// let mut sockets = Sockets::default();
/// sockets.add("mysql.socket", listener.into())?;
/// assert_eq!(sockets.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Sockets {
    passed: Vec<Passed>,
}

/// One of them.
#[derive(Debug)]
struct Passed {
    /// What it is called in errors.
    name: String,
    address: Address,
    listener: Listener,
}

impl Sockets {
    /// Adds a socket. `name` is what errors call it.
    ///
    /// # Errors
    /// Fails if it is not a listening stream socket of TCP or with a path.
    pub fn add(&mut self, name: &str, socket: OwnedFd) -> Result<(), Error> {
        let failed = |error| Error::PassedSocket(name.to_owned(), error);
        let listener = Listener::adopt(socket).map_err(failed)?;
        let address = listener.address().map_err(failed)?;
        self.passed.push(Passed {
            name: name.to_owned(),
            address,
            listener,
        });
        Ok(())
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.passed.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.passed.is_empty()
    }

    /// Each of them has to fit an address of `config` of its own.
    pub(crate) fn check(&self, config: &Config) -> Result<(), Error> {
        let mut left: Vec<&Passed> = self.passed.iter().collect();
        for endpoint in config.listens() {
            if let Some(at) = find(&left, &endpoint) {
                left.remove(at);
            }
        }
        match left.first() {
            None => Ok(()),
            Some(passed) => {
                let (name, address) = (passed.name.clone(), passed.address.clone());
                Err(Error::ForeignSocket(name, address))
            }
        }
    }

    /// The socket for an address: one of these, or a new one.
    pub(crate) fn listen(
        &mut self,
        endpoint: &Endpoint,
        options: &ListenerOptions,
    ) -> Result<Listener, Error> {
        let all: Vec<&Passed> = self.passed.iter().collect();
        if let Some(at) = find(&all, endpoint) {
            return Ok(self.passed.remove(at).listener);
        }
        let failed = |error| Error::Listen(endpoint.clone(), error);
        let address = resolve(endpoint).map_err(failed)?.swap_remove(0);
        Listener::bind(&address, options).map_err(failed)
    }
}

/// The socket for an address.
fn find(all: &[&Passed], endpoint: &Endpoint) -> Option<usize> {
    if all.is_empty() {
        return None;
    }
    // Of several addresses the proxy listens on the first.
    let address = resolve(endpoint).ok()?.into_iter().next()?;
    all.iter().position(|passed| passed.address == address)
}

#[cfg(test)]
mod tests;
