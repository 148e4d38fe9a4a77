//! A pool, as its users hold it.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{Poolable, Runner, Shared};
use crate::{PoolConfigError, PoolStats};

/// A pool of connections. Clones share it. It is closed when its last clone is dropped; borrowed connections are then closed when
/// they are returned.
pub struct Pool<C: Poolable, R: Runner<C>> {
    pub(crate) shared: Arc<Shared<C, R>>,
    /// Of all clones.
    user: Arc<User<C, R>>,
}

/// What the clones of a pool have in common: with the last one the pool is closed.
struct User<C: Poolable, R: Runner<C>>(Weak<Shared<C, R>>);

impl<C: Poolable, R: Runner<C>> Drop for User<C, R> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.close();
        }
    }
}

impl<C: Poolable, R: Runner<C> + Default> Pool<C, R> {
    /// Creates a pool. It does not connect yet: the first caller that has to wait opens the minimum of connections.
    ///
    /// # Errors
    /// Fails if the settings contradict each other.
    pub fn new(config: C::Config) -> Result<Self, PoolConfigError> {
        C::pool_config(&config).check()?;
        let shared = Arc::new(Shared::new(config, R::default()));
        let user = User(Arc::downgrade(&shared));
        Ok(Self {
            shared,
            user: Arc::new(user),
        })
    }
}

impl<C: Poolable, R: Runner<C>> Pool<C, R> {
    /// Returns a snapshot of the pool's counters.
    pub fn stats(&self) -> PoolStats {
        self.shared.core().policy.stats()
    }

    /// Returns the settings.
    #[inline]
    pub fn config(&self) -> &C::Config {
        self.shared.config()
    }

    /// Returns whether the pool is closed.
    pub fn is_closed(&self) -> bool {
        self.shared.core().policy.is_closed()
    }
}

impl<C: Poolable, R: Runner<C>> Clone for Pool<C, R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            user: Arc::clone(&self.user),
        }
    }
}

impl<C: Poolable, R: Runner<C>> fmt::Debug for Pool<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
