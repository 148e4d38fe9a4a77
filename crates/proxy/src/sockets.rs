//! Listening sockets that another process has made: a service manager that starts the proxy, or a proxy that it takes over from.
//!
//! A socket is used in place of a new one where it was configured with the same words, or listens on the same address.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use onecopy_net::Endpoint;
use onecopy_net::evented::{Address, Listener, ListenerOptions};

use crate::config::{Config, endpoint};
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
    /// Files of Unix sockets stay: another process listens there, before this one has taken over, or after it has handed over.
    files_stay: Arc<AtomicBool>,
    /// Those of the listeners that are not for clients, again, to be passed on.
    control: Vec<Listening>,
}

/// A socket that listens, to be passed on.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) endpoint: Endpoint,
    pub(crate) socket: OwnedFd,
    /// Its file is removed in the end.
    pub(crate) owns_file: bool,
}

impl Listening {
    /// The same socket once more.
    pub(crate) fn of(endpoint: &Endpoint, listener: &Listener) -> std::io::Result<Self> {
        Ok(Self {
            endpoint: endpoint.clone(),
            socket: listener.as_fd().try_clone_to_owned()?,
            owns_file: !listener.file_stays(),
        })
    }

    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(Self {
            endpoint: self.endpoint.clone(),
            socket: self.socket.try_clone()?,
            owns_file: self.owns_file,
        })
    }
}

/// One of them.
#[derive(Debug)]
struct Passed {
    /// What it is called in errors.
    name: String,
    /// As it was configured where it comes from, if that is known.
    endpoint: Option<Endpoint>,
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
            endpoint: None,
            address,
            listener,
        });
        Ok(())
    }

    /// Adds a socket of another proxy, with the words by which it was configured there. If the file is the other one's to remove, it
    /// becomes this one's, once [they are taken](Self::own_files).
    pub(crate) fn add_of_proxy(
        &mut self,
        configured: &str,
        owns_file: bool,
        socket: OwnedFd,
    ) -> Result<(), Error> {
        self.add(configured, socket)?;
        if let Some(last) = self.passed.last_mut() {
            last.endpoint = endpoint(configured).ok();
            if owns_file {
                last.listener.file_stays_while(&self.files_stay);
            }
        }
        Ok(())
    }

    /// Files of Unix sockets are removed with their listeners, except those that were passed by a service manager.
    pub(crate) fn own_files(&self) {
        self.files_stay.store(false, SeqCst);
    }

    /// They stay, as another process listens there.
    pub(crate) fn leave_files(&self) {
        self.files_stay.store(true, SeqCst);
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.passed.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.passed.is_empty()
    }

    /// The listeners that are not for clients.
    pub(crate) fn control(&self) -> &[Listening] {
        &self.control
    }

    /// These listen no more.
    pub(crate) fn forget_control(&mut self) {
        self.control.clear();
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
        let mut listener = Listener::bind(&address, options).map_err(failed)?;
        listener.file_stays_while(&self.files_stay);
        Ok(listener)
    }

    /// The same for a listener that is not for clients.
    pub(crate) fn listen_for_control(
        &mut self,
        endpoint: &Endpoint,
        options: &ListenerOptions,
    ) -> Result<Listener, Error> {
        let listener = self.listen(endpoint, options)?;
        let again = Listening::of(endpoint, &listener);
        let again = again.map_err(|error| Error::Listen(endpoint.clone(), error))?;
        self.control.push(again);
        Ok(listener)
    }
}

/// The socket for an address. Its own words come first: any free port is known by them alone.
fn find(all: &[&Passed], endpoint: &Endpoint) -> Option<usize> {
    let by_words = |passed: &&Passed| passed.endpoint.as_ref() == Some(endpoint);
    let found = all.iter().position(by_words);
    if found.is_some() || all.is_empty() {
        return found;
    }
    // Of several addresses the proxy listens on the first.
    let address = resolve(endpoint).ok()?.into_iter().next()?;
    all.iter().position(|passed| passed.address == address)
}

#[cfg(test)]
mod tests;
