//! Opening a connection for a pool.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::{Poolable, Runner, Shared};
use crate::Connecting;

/// A connection that is being opened: a failed one if this is dropped before its result is reported.
pub struct Attempt<C: Poolable, R: Runner<C>> {
    shared: Arc<Shared<C, R>>,
    connecting: Option<Connecting>,
}

impl<C: Poolable, R: Runner<C>> Attempt<C, R> {
    pub(super) fn new(shared: &Arc<Shared<C, R>>, connecting: Connecting) -> Self {
        Self {
            shared: Arc::clone(shared),
            connecting: Some(connecting),
        }
    }

    pub(crate) fn config(&self) -> &C::Config {
        self.shared.config()
    }

    pub(crate) fn finish(mut self, made: Result<Box<C>, C::Error>) {
        match made {
            Ok(mut conn) => {
                conn.trim(self.config());
                self.succeeded(conn);
            }
            Err(error) => {
                let is_final = C::is_final(&error);
                self.failed(error, is_final);
            }
        }
    }

    fn succeeded(&mut self, conn: Box<C>) {
        let Some(connecting) = self.connecting.take() else {
            return;
        };
        let now = Instant::now();
        let mut core = self.shared.core();
        core.last_error = None;
        core.policy.connected(connecting, conn, now);
        drop(core);
        self.shared.act();
    }

    fn failed(&mut self, error: C::Error, is_final: bool) {
        let Some(connecting) = self.connecting.take() else {
            return;
        };
        let now = Instant::now();
        let mut core = self.shared.core();
        core.last_error = Some(Arc::new(error));
        core.policy.connect_failed(connecting, is_final, now);
        drop(core);
        self.shared.act();
    }
}

impl<C: Poolable, R: Runner<C>> Drop for Attempt<C, R> {
    fn drop(&mut self) {
        if self.connecting.is_none() {
            return;
        }
        let (cause, is_final) = match thread::panicking() {
            true => ("the attempt to connect panicked", false),
            false => (R::DROPPED, R::IS_OVER),
        };
        self.failed(C::closed(cause), is_final);
    }
}
