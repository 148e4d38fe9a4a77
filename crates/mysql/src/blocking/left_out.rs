//! The wait for a result that may never come: see [`link::left_out`](crate::link).

use onecopy_mysql_proto::client::Reply;
use onecopy_net::{DriveError, blocking as net};

use super::Connection;
use crate::Error;
use crate::link::Looks;

impl Connection {
    /// The head of the next result of a command that a token may cancel.
    #[cold]
    pub(super) fn drive_to_result(&mut self) -> Result<Reply, Error> {
        let mut looks = Looks::new();
        loop {
            let until = self.link.next_look(&mut looks);
            let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
            let driven = net::drive_duplex(core, buffers, &mut self.stream, &(), until);
            if matches!(driven, Err(DriveError::Timeout)) && !self.link.is_overdue() {
                self.link.ask_for_rest()?;
                continue;
            }
            let reply = self.link.reply(driven);
            if reply.is_err() {
                self.after_error();
            }
            return reply;
        }
    }
}
