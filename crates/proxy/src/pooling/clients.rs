//! The clients of a pool by their ids, so that one can end or interrupt another.
//!
//! A client's id is the proxy's. A `KILL` of it is run on the server of the connection that the client has at that moment, and this
//! connection is not given to another client afterwards: the `KILL` may reach it late.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use onecopy_net::evented::Address;

use super::recipient::Recipient;
use crate::lock::lock;

/// A `KILL` was begun of the connection that the client has.
const KILLED: u64 = 1 << 32;

/// The client has asked for the server's id of the connection that it has, and keeps it.
const TOLD: u64 = 1 << 33;

/// The bits above this are the number of the server.
const SERVER: u32 = 34;

/// A client that is logged in.
#[derive(Debug)]
pub(crate) struct PooledClient {
    pub(crate) id: u32,
    pub(crate) user: Box<[u8]>,
    pub(crate) recipient: Arc<dyn Recipient>,
    pub(crate) session: usize,
    /// The server's id of its connection, 0 for none; [`KILLED`] and [`TOLD`]; and the number of the server.
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

    /// It has a connection now, on a server by its [number](Clients::number_of).
    pub(crate) fn takes(&self, id: u32, server: u32) {
        let value = u64::from(id) | u64::from(server) << SERVER;
        self.connection.store(value, SeqCst);
    }

    /// It has none any more. Whether the one that it had may be used by others.
    pub(crate) fn gives_back(&self) -> bool {
        self.connection.swap(0, SeqCst) & KILLED == 0
    }

    /// It has asked which id its connection has, and may have told others.
    pub(crate) fn is_told(&self) {
        let told = |value: u64| (value != 0).then_some(value | TOLD);
        let _ = self.connection.fetch_update(SeqCst, SeqCst, told);
    }

    /// The server of its connection, where it was told this id of it.
    fn server_of_told(&self, id: u32) -> Option<u32> {
        let value = self.connection.load(SeqCst);
        let is_it = value & TOLD != 0 && value & u64::from(u32::MAX) == u64::from(id);
        is_it.then(|| server_of(value))
    }

    /// Ends its session.
    pub(crate) fn end(&self) {
        self.recipient.end(self.session, self.id);
    }

    /// Has its worker run a `KILL` on the server that its connection is on.
    pub(crate) fn kill(&self, is_query: bool) {
        self.recipient.kill(self.session, self.id, is_query);
    }

    /// Whether a `KILL` was begun of the connection that it has.
    pub(crate) fn is_killed(&self) -> bool {
        self.connection.load(SeqCst) & KILLED != 0
    }

    /// The server's id of its connection, which is about to be killed, and the number of the server; `None` where it has none.
    pub(crate) fn begin_kill(&self) -> Option<(u32, u32)> {
        let marked = |value: u64| (value != 0).then_some(value | KILLED);
        let before = self.connection.fetch_update(SeqCst, SeqCst, marked).ok()?;
        let [a, b, c, d, ..] = before.to_le_bytes();
        Some((u32::from_le_bytes([a, b, c, d]), server_of(before)))
    }
}

fn server_of(connection: u64) -> u32 {
    u32::try_from(connection >> SERVER).unwrap_or_default()
}

/// All clients of one pool, and numbers for the servers that their connections are on.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    clients: Mutex<HashMap<u32, Arc<PooledClient>>>,
    servers: Mutex<HashMap<Address, u32>>,
}

impl Clients {
    pub(crate) fn insert(&self, client: &Arc<PooledClient>) {
        lock(&self.clients).insert(client.id, Arc::clone(client));
    }

    pub(crate) fn remove(&self, id: u32) {
        lock(&self.clients).remove(&id);
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<PooledClient>> {
        lock(&self.clients).get(&id).cloned()
    }

    /// The clients of a user that were told this id of their connection, and the servers that these are on.
    pub(crate) fn told(&self, id: u32, user: &[u8]) -> Vec<(Arc<PooledClient>, u32)> {
        let clients = lock(&self.clients);
        let users = clients.values().filter(|client| *client.user == *user);
        users
            .filter_map(|client| Some((Arc::clone(client), client.server_of_told(id)?)))
            .collect()
    }

    /// At how many of these addresses its clients have been.
    pub(crate) fn servers_among(&self, addresses: &[Address]) -> usize {
        let servers = lock(&self.servers);
        let known = addresses
            .iter()
            .filter(|address| servers.contains_key(address));
        known.count()
    }

    /// The number of a server, by its address: each has another one.
    pub(crate) fn number_of(&self, server: &Address) -> u32 {
        let mut servers = lock(&self.servers);
        let next = u32::try_from(servers.len()).unwrap_or(u32::MAX);
        *servers.entry(server.clone()).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_numbers_by_their_addresses() {
        let clients = Clients::default();
        let [one, other] = ["127.0.0.1:3306", "127.0.0.1:3307"]
            .map(|address| Address::Tcp(address.parse().unwrap()));
        let numbers = [&one, &other, &one].map(|address| clients.number_of(address));
        assert_eq!(numbers, [0, 1, 0]);
    }
}
