//! Connection ids of sessions that stay with the predecessor, where several servers are behind a listener.
//!
//! Ids are the servers' own. A `KILL` by a client of the successor has to reach the server of the session that is meant, and no session of
//! the successor may have the same id.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use onecopy_net::evented::Address;

use super::PROMPT;
use super::link::{Broken, Link};
use super::message::{Message, Stayed};
use crate::listener::Listener;
use crate::registry::{Id, Whose};
use crate::running::Running;

/// Sessions in a message.
const SOME: usize = 500;

/// The predecessor's side: what it has told.
pub(super) struct Told(Vec<(Arc<Listener>, HashSet<u32>)>);

impl Told {
    /// Tells all that stay.
    pub(super) fn begin(link: &Link, running: &Running) -> Self {
        let mut told = Vec::new();
        for listener in &running.in_force().listeners {
            if listener.pool.is_some() || listener.backends.servers() < 2 {
                continue;
            }
            let all = listener.registry.all();
            for some in all.chunks(SOME) {
                let message = Message::Stayed {
                    listener: listener.config.name.clone(),
                    sessions: some.iter().map(stayed).collect(),
                };
                // A successor that is gone needs no ids.
                let _ = link.send(&message, Instant::now() + PROMPT);
            }
            let ids = all.iter().map(|(id, _)| *id).collect();
            told.push((Arc::clone(listener), ids));
        }
        Self(told)
    }

    /// Tells of those that have ended.
    pub(super) fn renew(&mut self, link: &Link) {
        for (listener, told) in &mut self.0 {
            let now: HashSet<_> = listener
                .registry
                .all()
                .into_iter()
                .map(|(id, _)| id)
                .collect();
            let ids: Vec<_> = told.difference(&now).copied().collect();
            told.retain(|id| now.contains(id));
            for some in ids.chunks(SOME) {
                let message = Message::Ended {
                    listener: listener.config.name.clone(),
                    ids: some.to_vec(),
                };
                let _: Result<(), Broken> = link.send(&message, Instant::now() + PROMPT);
            }
        }
    }
}

fn stayed((id, whose): &(u32, Whose)) -> Stayed {
    let address = whose.address.as_ref();
    Stayed {
        id: *id,
        backend: whose.backend.config.endpoint.to_string(),
        address: address.map_or_else(String::new, Address::to_string),
        user: whose.user.to_vec(),
    }
}

/// The successor's side: ids that no session of its own gets.
#[derive(Default)]
pub(super) struct Held(HashMap<(String, u32), Id>);

impl Held {
    pub(super) fn add(&mut self, running: &Running, name: &str, sessions: Vec<Stayed>) {
        let now = running.in_force();
        let mut listeners = now.listeners.iter();
        let Some(listener) = listeners.find(|one| one.config.name == name) else {
            return;
        };
        for session in sessions {
            let mut backends = listener.backends.all().iter();
            let backend = backends.find(|one| one.config.endpoint.to_string() == session.backend);
            let Some(backend) = backend else { continue };
            let mut addresses = backend.addresses().into_iter();
            let address = addresses.find(|one| one.to_string() == session.address);
            let mut whose = Whose::new(backend, address.as_ref());
            whose.user = session.user.into();
            if let Some(id) = listener.registry.take(session.id, whose) {
                self.0.insert((name.to_owned(), session.id), id);
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str, ids: Vec<u32>) {
        for id in ids {
            self.0.remove(&(name.to_owned(), id));
        }
    }
}
