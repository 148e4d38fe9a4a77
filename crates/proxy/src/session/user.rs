//! Whose a session is after a change of user: places of users are limited.

use onecopy_mysql_proto::frame::HEADER_BYTES;

use super::{Context, End, Session};
use crate::failure::Failure;

impl Session {
    /// COM_CHANGE_USER has arrived: its header is at `at` of what the client has sent. Who it is for is refused at once where he
    /// has no place; he gets one when the server has let him in. `is_logged`: who he is has to be known for a log.
    #[cold]
    pub(super) fn user_changes(&mut self, at: usize, is_logged: bool) -> Result<(), End> {
        // Whose it is from now on is not known: nobody may end it from another server.
        if let Some(id) = &self.id {
            id.set_user(b"");
        }
        let max = self.listener.config.max_user_connections;
        if max.is_none() && !is_logged {
            return Ok(());
        }
        // As much was waited for as it takes.
        let name = self.up.pending().get(at + HEADER_BYTES + 1..);
        let name = name.unwrap_or_default().split(|&byte| byte == 0).next();
        let name: Box<[u8]> = name.unwrap_or_default().into();
        if let Some(max) = max
            && name != self.user
            && !self.listener.registry.has_room(&name, max)
        {
            return Err(Failure::too_many_of_user(&name).into());
        }
        self.next_user = Some(name);
        Ok(())
    }

    /// The server has answered to it.
    #[cold]
    pub(super) fn user_changed(
        &mut self,
        failed: bool,
        context: &mut Context<'_>,
    ) -> Result<(), End> {
        let Some(name) = self.next_user.take() else {
            return Ok(());
        };
        if failed {
            self.log_refused_change(&name, context);
            return Ok(());
        }
        if name != self.user {
            if let Some(max) = self.listener.config.max_user_connections {
                // Another session may have taken the last place meanwhile.
                let place = self.listener.registry.admit(&name, max);
                let place = place.ok_or_else(|| Failure::too_many_of_user(&name))?;
                self.user_place = Some(Box::new(place));
            }
            self.user = name;
        }
        self.log_login(None, true, context);
        Ok(())
    }
}
