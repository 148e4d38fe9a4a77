//! Making a connection for a pool.

use std::sync::Arc;
use std::time::Instant;

use onecopy_pool::Connecting;

use super::super::Connection;
use super::shared::Shared;
use crate::pool::{ASK_ROLE, FollowUp, Slot, lacks_roles, set_role};
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
                core.last_error = Some(Arc::new(error));
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
            core.last_error = Some(Arc::new(error));
            core.policy
                .connect_failed(connecting, false, Instant::now());
            drop(core);
            self.shared.act();
        }
    }
}

/// Connects, and learns what a reset has to restore.
fn connect(config: &Config) -> Result<Box<Slot<Connection>>, Error> {
    let mut conn = Connection::connect_with(config)?;
    if let Some(timeout) = config.connect_timeout {
        conn.link.limit_to(timeout);
    }
    let is_mariadb = conn.link.core.session().version.is_mariadb;
    let role = if config.pool.reset {
        role(&mut conn, is_mariadb)?
    } else {
        None
    };
    if let Some(setup) = &config.pool_setup {
        conn.run(setup)?;
    }
    conn.link.set_timeouts(config);
    let mut slot = Slot::new(conn, FollowUp::all(config, is_mariadb, role));
    slot.trim(config);
    Ok(slot)
}

/// The statement that restores the session's roles, if the server has roles.
fn role(conn: &mut Connection, is_mariadb: bool) -> Result<Option<String>, Error> {
    let asked = conn.query(ASK_ROLE);
    let mut rows = match asked {
        Ok(rows) => rows,
        Err(error) if lacks_roles(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let role = match rows.next()? {
        Some(row) => row.get::<Option<String>>(0)?,
        None => None,
    };
    rows.finish_within()?;
    Ok(Some(set_role(is_mariadb, role.as_deref())))
}
