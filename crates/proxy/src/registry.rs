//! Connection ids that are live, and whose they are: ids are the backends' own, and two backends may give the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use onecopy_net::evented::Address;

use crate::backend::Backend;

/// Where a session is, and whose.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    pub(crate) backend: Arc<Backend>,
    /// Of the backend's addresses the session's: other servers may be behind the others.
    pub(crate) address: Option<Address>,
    /// As the client logged in; empty before that.
    pub(crate) user: Box<[u8]>,
}

impl Whose {
    /// A session that is not logged in yet.
    pub(crate) fn new(backend: &Arc<Backend>, address: Option<&Address>) -> Self {
        Self {
            backend: Arc::clone(backend),
            address: address.cloned(),
            user: Box::default(),
        }
    }
}

/// The ids of one listener, and how many sessions each user has.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    ids: Mutex<HashMap<u32, Whose>>,
    users: Mutex<HashMap<Box<[u8]>, usize>>,
}

/// An id that is taken; free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Id {
    registry: Arc<Registry>,
    pub(crate) number: u32,
}

/// One of a user's places; free again when this is dropped.
#[derive(Debug)]
pub(crate) struct UserPlace {
    registry: Arc<Registry>,
    user: Box<[u8]>,
}

impl Registry {
    /// Takes an id; `None` where a session on this or another backend has it.
    pub(crate) fn take(self: &Arc<Self>, number: u32, whose: Whose) -> Option<Id> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry::Vacant(place) = ids.entry(number) else {
            return None;
        };
        place.insert(whose);
        Some(Id {
            registry: Arc::clone(self),
            number,
        })
    }

    /// Whose an id is; `None` where no session has it.
    pub(crate) fn find(&self, number: u32) -> Option<Whose> {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.get(&number).cloned()
    }

    /// All ids, and whose they are.
    pub(crate) fn all(&self) -> Vec<(u32, Whose)> {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.iter().map(|(id, whose)| (*id, whose.clone())).collect()
    }

    /// Whether there is a place for one more session of a user.
    pub(crate) fn has_room(&self, user: &[u8], max: usize) -> bool {
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.get(user).is_none_or(|&count| count < max) && max > 0
    }

    /// A place for one more session of a user; `None` where `max` are there.
    pub(crate) fn admit(self: &Arc<Self>, user: &[u8], max: usize) -> Option<UserPlace> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        // Also with a limit of none no name is to stay.
        if users.get(user).copied().unwrap_or_default() >= max {
            return None;
        }
        *users.entry(user.into()).or_default() += 1;
        Some(UserPlace {
            registry: Arc::clone(self),
            user: user.into(),
        })
    }
}

impl Id {
    /// The client has logged in.
    pub(crate) fn set_user(&self, user: &[u8]) {
        let ids = self.registry.ids.lock();
        let mut ids = ids.unwrap_or_else(PoisonError::into_inner);
        if let Some(whose) = ids.get_mut(&self.number) {
            whose.user = user.into();
        }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        let ids = self.registry.ids.lock();
        ids.unwrap_or_else(PoisonError::into_inner)
            .remove(&self.number);
    }
}

impl Drop for UserPlace {
    fn drop(&mut self) {
        let users = self.registry.users.lock();
        let mut users = users.unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_sessions_until_it_ends() {
        let registry = Arc::new(Registry::default());
        let endpoint = onecopy_net::Endpoint::Unix("/run/server.sock".into());
        let backend =
            Backend::new(crate::config::BackendConfig::new(endpoint), &Arc::default()).unwrap();
        let address = backend.addresses().remove(0);
        let whose = Whose::new(&Arc::new(backend), Some(&address));
        let id = registry.take(7, whose.clone()).unwrap();
        assert!(registry.take(7, whose.clone()).is_none());
        id.set_user(b"app");
        let found = registry.find(7).unwrap();
        assert_eq!((found.address, &*found.user), (Some(address), &b"app"[..]));
        drop(id);
        assert!(registry.find(7).is_none());
        assert_eq!(registry.take(7, whose).unwrap().number, 7);
    }

    #[test]
    fn a_user_has_so_many_places() {
        let registry = Arc::new(Registry::default());
        let first = registry.admit(b"app", 2).unwrap();
        let _second = registry.admit(b"app", 2).unwrap();
        assert!(registry.admit(b"app", 2).is_none());
        let _other = registry.admit(b"other", 1).unwrap();
        drop(first);
        assert!(registry.admit(b"app", 2).is_some());
    }
}
