//! A change of user: closed until it is done.
//!
//! Whatever ends it half way, a refusal, a deadline, a dropped call, nobody may go on with a session of which it is not
//! known whose it is. So the connection counts as closed from the moment that the command is queued, and is open again with
//! the server's OK.

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
            password.to_secret(),
            database.unwrap_or_default().as_bytes(),
        )?;
        self.closed = Some(HALF_WAY.to_owned());
        Ok(())
    }

    /// Takes what came of it.
    pub(crate) fn user_changed(&mut self, reply: Result<Reply, Error>) -> Result<(), Error> {
        match reply {
            Ok(Reply::Ok) => {
                self.closed = None;
                self.finish();
                Ok(())
            }
            Ok(_) => Err(self.close("a change of user got another reply than ok")),
            Err(error) => {
                let error = error.into_refusal();
                self.closed = Some(format!("{HALF_WAY}: {}", shown(&error)));
                self.buffers.output().clear();
                Err(error)
            }
        }
    }
}
