//! Restoring a returned connection.

use super::super::{Connection, Rows};
use crate::pool::{FollowUp, Slot, lacks_roles};
use crate::{Config, Error};

impl Slot<Connection> {
    /// Makes the session that of a new login. After an error the connection is to be closed.
    pub(super) fn restore_session(&mut self, config: &Config) -> Result<(), Error> {
        let conn = &mut self.conn;
        conn.link.limit_to(config.pool.reset_timeout);
        conn.link.release_transaction();
        if config.pool.reset {
            let is_own = !conn.link.has_other_user() && conn.reset_session(&self.follow_ups)?;
            if !is_own {
                conn.change_back(config)?;
                if !conn.reset_session(&self.follow_ups)? {
                    return Err(conn.link.close("its default database can't be restored"));
                }
            }
        } else {
            conn.settle_alone()?;
            conn.link.ended();
            if conn.link.is_in_transaction() {
                conn.run("ROLLBACK")?;
            }
        }
        conn.link.set_timeouts(config);
        conn.link.check_answered()?;
        conn.link.forget_tokens()
    }
}

impl Connection {
    /// Resets the session, in one write with all that follows. `false`: a database is selected, and there must be none.
    fn reset_session(&mut self, follow_ups: &[FollowUp]) -> Result<bool, Error> {
        self.settle()?;
        self.link.queue_reset(follow_ups)?;
        // No statement: nothing that could be cancelled.
        self.link.ended();
        self.ok()?;
        self.link.forget_session();
        let mut is_own = true;
        for follow_up in follow_ups {
            if !self.link.pipelining {
                self.link.mark();
                self.link.queue_follow_up(follow_up)?;
            }
            match follow_up {
                FollowUp::AskDatabase => is_own = self.is_null()?,
                FollowUp::Role(_) => match self.ok() {
                    Err(error) if lacks_roles(&error) => {}
                    set => set?,
                },
                _ => self.ok()?,
            }
        }
        Ok(is_own)
    }

    /// Whether the one value of a result is NULL.
    fn is_null(&mut self) -> Result<bool, Error> {
        let reply = self.drive(&())?;
        let mut rows = Rows::new(self, reply);
        let is_null = match rows.next()? {
            Some(row) => row.bytes(0)?.is_none(),
            None => false,
        };
        rows.finish_within()?;
        Ok(is_null)
    }

    /// Logs in again as the configuration's user.
    fn change_back(&mut self, config: &Config) -> Result<(), Error> {
        let database = config.database.as_deref();
        self.change_user(&config.user, config.password.clone(), database)?;
        self.link.set_own_user();
        Ok(())
    }
}
