//! Connection ids that are live, and whose they are: ids are the backends' own, and two backends may give the same.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The ids of one listener, and how many sessions each user has.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    ids: Mutex<HashSet<u32>>,
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
    pub(crate) fn take(self: &Arc<Self>, number: u32) -> Option<Id> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.insert(number).then(|| Id {
            registry: Arc::clone(self),
            number,
        })
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
        let id = registry.take(7).unwrap();
        assert!(registry.take(7).is_none());
        drop(id);
        assert_eq!(registry.take(7).unwrap().number, 7);
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
