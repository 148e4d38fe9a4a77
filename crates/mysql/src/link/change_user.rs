//! A change of user: the connection counts as closed until it is done.
//!
//! If a refusal, a deadline or a dropped call ends it half way, it is unknown which user the session belongs to, and nobody may
//! continue to use it. The connection therefore counts as closed from the moment that the command is queued, and is open again
//! after the server's OK.

use onecopy_mysql_proto::client::Reply;

use super::Link;
use crate::shown::shown;
use crate::{Error, Password};

const HALF_WAY: &str = "a change of user was broken off half way";

impl Link {
    /// Queues the command.
    pub(crate) fn change_user(
        &mut self,
        user: &str,
        password: &Password,
        database: Option<&str>,
    ) -> Result<(), Error> {
        self.core.change_user(
            &mut self.buffers,
            user.as_bytes(),
            password.secret()?,
            database.unwrap_or_default().as_bytes(),
        )?;
        self.closed = Some(HALF_WAY.to_owned());
        Ok(())
    }

    /// Takes what came of it. Orders to cancel are given under the new login from here on: a server takes none for
    /// another user's statements.
    pub(crate) fn user_changed(
        &mut self,
        reply: Result<Reply, Error>,
        user: &str,
        password: &Password,
    ) -> Result<(), Error> {
        match reply {
            Ok(Reply::Ok) => {
                self.closed = None;
                self.user_changed = true;
                self.forget_session();
                if let Some(way) = &self.way {
                    self.reachable_by(way.with_user(user, password));
                }
                self.finish();
                Ok(())
            }
            Ok(_) => Err(self.close("a change of user got another reply than ok")),
            Err(error) => {
                let error = error.into_refusal().closing();
                self.closed = Some(format!("{HALF_WAY}: {}", shown(&error)));
                self.buffers.output().clear();
                Err(error)
            }
        }
    }
}
