//! The clients of a pool by their ids, so that one can end or interrupt another.
//!
//! A client's id is the proxy's. A `KILL` of it is run on the server of the connection that the client has at that moment, and this
//! connection is not given to another client afterwards: the `KILL` may reach it late.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use super::pool::Recipient;

/// A `KILL` was begun of the connection that the client has.
const KILLED: u64 = 1 << 32;

/// From here on there is the server's number.
const SERVER: u32 = 33;

/// A `KILL` of a client, by another one whose connection is on another server.
#[derive(Debug)]
pub(crate) struct KillOf {
    /// The server's id of the client's connection.
    pub(crate) connection: u32,
    pub(crate) sql: String,
    /// Only its statement is interrupted.
    pub(crate) is_query: bool,
}

/// A client that is logged in.
#[derive(Debug)]
pub(crate) struct PooledClient {
    pub(crate) id: u32,
    pub(crate) user: Box<[u8]>,
    pub(crate) recipient: Arc<dyn Recipient>,
    pub(crate) session: usize,
    /// The backend's id of its connection; 0 for none. Whether it is killed. And which server it is on.
    connection: AtomicU64,
}

impl PooledClient {
    pub(crate) fn new(
        id: u32,
        user: &[u8],
        recipient: &Arc<dyn Recipient>,
        session: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            user: user.into(),
            recipient: Arc::clone(recipient),
            session,
            connection: AtomicU64::new(0),
        })
    }

    /// It has a connection now, on a server by its [number](super::connection::Connection::server).
    pub(crate) fn takes(&self, id: u32, server: u32) {
        let value = u64::from(id) | u64::from(server) << SERVER;
        self.connection.store(value, SeqCst);
    }

    /// It has none any more. Whether the one that it had may be used by others.
    pub(crate) fn gives_back(&self) -> bool {
        self.connection.swap(0, SeqCst) & KILLED == 0
    }

    /// Ends its session.
    pub(crate) fn end(&self) {
        self.recipient.end(self.session, self.id);
    }

    /// Has its worker run a `KILL` on the server that its connection is on.
    pub(crate) fn kill(&self, kill: KillOf) {
        self.recipient.kill(self.session, self.id, kill);
    }

    /// The backend's id of its connection, which is about to be killed, and the number of the server; `None` where it has none.
    pub(crate) fn begin_kill(&self) -> Option<(u32, u32)> {
        let marked = |value: u64| (value != 0).then_some(value | KILLED);
        let before = self.connection.fetch_update(SeqCst, SeqCst, marked).ok()?;
        let [a, b, c, d, ..] = before.to_le_bytes();
        let server = u32::try_from(before >> SERVER).unwrap_or_default();
        Some((u32::from_le_bytes([a, b, c, d]), server))
    }
}

/// All clients of one pool.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<u32, Arc<PooledClient>>>);

impl Clients {
    pub(crate) fn insert(&self, client: &Arc<PooledClient>) {
        self.lock().insert(client.id, Arc::clone(client));
    }

    pub(crate) fn remove(&self, id: u32) {
        self.lock().remove(&id);
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<PooledClient>> {
        self.lock().get(&id).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Arc<PooledClient>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
