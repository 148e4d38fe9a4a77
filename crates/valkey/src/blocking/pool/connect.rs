//! Making a connection for a pool.

use std::sync::Arc;
use std::time::Instant;

use onecopy_pool::Connecting;

use super::super::Connection;
use super::shared::Shared;
use crate::pool::Slot;
use crate::{Config, Error};

/// A connection that is being made: a failed one if this is dropped before it says otherwise.
pub(super) struct Attempt {
    shared: Arc<Shared>,
    connecting: Option<Connecting>,
}

impl Attempt {
    pub(super) fn new(shared: &Arc<Shared>, connecting: Connecting) -> Self {
        Self {
            shared: Arc::clone(shared),
            connecting: Some(connecting),
        }
    }

    pub(super) fn run(mut self) {
        let made = connect(self.shared.config());
        let now = Instant::now();
        let Some(connecting) = self.connecting.take() else {
            return;
        };
        let mut core = self.shared.core();
        match made {
            Ok(slot) => {
                core.last_error = None;
                core.policy.connected(connecting, slot, now);
            }
            Err(error) => {
                let is_final = error.is_final();
                core.last_error = Some(error);
                core.policy.connect_failed(connecting, is_final, now);
            }
        }
        drop(core);
        self.shared.act();
    }
}

/// A job is dropped before its end only if no thread can be started for it.
impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(connecting) = self.connecting.take() {
            let error = Error::closed("no thread can be started to connect");
            let mut core = self.shared.core();
            core.last_error = Some(error);
            core.policy
                .connect_failed(connecting, false, Instant::now());
            drop(core);
            self.shared.act();
        }
    }
}

fn connect(config: &Config) -> Result<Box<Slot<Connection>>, Error> {
    let conn = Connection::connect_with(config)?;
    let mut slot = Slot::new(conn);
    slot.trim(config);
    Ok(slot)
}
