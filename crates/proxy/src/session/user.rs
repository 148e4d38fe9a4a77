//! Whose a session is after a change of user: places of users are limited.

use onecopy_mysql_proto::frame::HEADER_BYTES;

use super::{End, Session};
use crate::failure::Failure;

impl Session {
    /// COM_CHANGE_USER has arrived: its header is at `at` of what the client has sent. Who it is for is refused at once where he
    /// has no place; he gets one when the server has let him in.
    #[cold]
    pub(super) fn user_changes(&mut self, at: usize) -> Result<(), End> {
        // Whose it is from now on is not known: nobody may end it from another server.
        if let Some(id) = &self.id {
            id.set_user(b"");
        }
        let Some(max) = self.listener.config.max_user_connections else {
            return Ok(());
        };
        // As much was waited for as it takes.
        let name = self.up.pending().get(at + HEADER_BYTES + 1..);
        let name = name.unwrap_or_default().split(|&byte| byte == 0).next();
        let name: Box<[u8]> = name.unwrap_or_default().into();
        if name != self.user && !self.listener.registry.has_room(&name, max) {
            return Err(Failure::too_many_of_user(&name).into());
        }
        self.next_user = Some(name);
        Ok(())
    }

    /// The server has answered to it.
    #[cold]
    pub(super) fn user_changed(&mut self, failed: bool) -> Result<(), End> {
        let (Some(name), Some(max)) = (
            self.next_user.take(),
            self.listener.config.max_user_connections,
        ) else {
            return Ok(());
        };
        if failed || name == self.user {
            return Ok(());
        }
        // Another session may have taken the last place meanwhile.
        let place = self.listener.registry.admit(&name, max);
        let place = place.ok_or_else(|| Failure::too_many_of_user(&name))?;
        self.user_place = Some(Box::new(place));
        self.user = name;
        Ok(())
    }
}
