//! A client that has come in, and the socket by which it came.

use std::net::SocketAddr;
use std::sync::Arc;

use onecopy_net::evented::{self, AcceptError, Stream};

use crate::listener::Listener;

/// A client that has come in and has no session yet.
pub(crate) struct Client {
    pub(crate) stream: Stream,
    /// `None` over a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) listener: Arc<Listener>,
}

/// A socket that listens, and whose clients come in by it.
#[derive(Debug, Clone)]
pub(crate) struct ListeningSocket {
    pub(crate) socket: Arc<evented::Listener>,
    pub(crate) listener: Arc<Listener>,
}

impl ListeningSocket {
    /// The next client that waits.
    pub(crate) fn accept(&self) -> Result<Option<Client>, AcceptError> {
        let accepted = self.socket.accept()?;
        Ok(accepted.map(|(stream, address)| Client {
            stream,
            address,
            listener: Arc::clone(&self.listener),
        }))
    }
}
