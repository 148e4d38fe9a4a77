//! The clients of a pool by their ids, so that one can end or interrupt another.
//!
//! A client's id is the proxy's. A `KILL` of it is run on the connection that the client has at that moment, and this connection goes
//! to nobody else afterwards: the `KILL` may reach it late.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use super::pool::Recipient;

/// A `KILL` was begun of the connection that the client has.
const KILLED: u64 = 1 << 32;

/// A client that is logged in.
#[derive(Debug)]
pub(crate) struct PooledClient {
    pub(crate) id: u32,
    pub(crate) user: Box<[u8]>,
    pub(crate) recipient: Arc<dyn Recipient>,
    pub(crate) session: usize,
    /// The backend's id of its connection; 0 for none. And whether it is killed.
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

    /// It has a connection now.
    pub(crate) fn takes(&self, id: u32) {
        self.connection.store(u64::from(id), SeqCst);
    }

    /// It has none any more. Whether the one that it had may be used by others.
    pub(crate) fn gives_back(&self) -> bool {
        self.connection.swap(0, SeqCst) & KILLED == 0
    }

    /// Ends its session.
    pub(crate) fn end(&self) {
        self.recipient.end(self.session, self.id);
    }

    /// The backend's id of its connection, which is about to be killed; `None` where it has none.
    pub(crate) fn begin_kill(&self) -> Option<u32> {
        let marked = |value: u64| (value != 0).then_some(value | KILLED);
        let before = self.connection.fetch_update(SeqCst, SeqCst, marked).ok()?;
        let [a, b, c, d, ..] = before.to_le_bytes();
        Some(u32::from_le_bytes([a, b, c, d]))
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
