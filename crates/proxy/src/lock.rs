//! Locks that outlive a thread that has died.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a dead thread left is used as it is.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
