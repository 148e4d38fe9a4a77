//! Connection ids that are live, and whose they are: ids are the backends' own, and two backends may give the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::Backend;

/// Where a session is.
#[derive(Debug, Clone)]
pub(crate) struct Whereabouts {
    pub(crate) backend: Arc<Backend>,
}

/// The ids of one listener.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    ids: Mutex<HashMap<u32, Whereabouts>>,
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
    pub(crate) fn take(self: &Arc<Self>, number: u32, backend: &Arc<Backend>) -> Option<Id> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.contains_key(&number) {
            return None;
        }
        let backend = Arc::clone(backend);
        ids.insert(number, Whereabouts { backend });
        Some(Id {
            registry: Arc::clone(self),
            number,
        })
    }

    /// The backend of the session that has an id.
    pub(crate) fn find(&self, number: u32) -> Option<Whereabouts> {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.get(&number).cloned()
    }

    /// A place for one more session of a user; `None` where `max` are there.
    pub(crate) fn admit(self: &Arc<Self>, user: &[u8], max: usize) -> Option<UserPlace> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let count = users.entry(user.into()).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(UserPlace {
            registry: Arc::clone(self),
            user: user.into(),
        })
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        let ids = self.registry.ids.lock();
        ids.unwrap_or_else(PoisonError::into_inner).remove(&self.number);
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
    use onecopy_net::Endpoint;

    use super::*;
    use crate::config::BackendConfig;

    #[test]
    fn an_id_is_one_sessions_until_it_ends() {
        let registry = Arc::new(Registry::default());
        let backend = || Arc::new(Backend::new(BackendConfig::new(Endpoint::Unix("/a".into()))).unwrap());
        let (a, b) = (backend(), backend());
        let id = registry.take(7, &a).unwrap();
        assert!(registry.take(7, &b).is_none());
        assert!(Arc::ptr_eq(&registry.find(7).unwrap().backend, &a));
        drop(id);
        assert!(registry.find(7).is_none());
        assert_eq!(registry.take(7, &b).unwrap().number, 7);
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
