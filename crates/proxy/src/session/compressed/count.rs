//! Which command the frames of compressed sides belong to: only the relay knows where commands and replies end.

use onecopy_mysql_proto::relay::Event;

use super::Mark;
use crate::failure::Failure;
use crate::session::{End, Session};

impl Session {
    /// Has the frames of compressed sides counted by what they belong to; `begins` is how many bytes were cleared before. Whether
    /// what is cleared has to be sent before more is looked at.
    #[cold]
    pub(in crate::session) fn count_frames(
        &mut self,
        event: Event,
        begins: usize,
    ) -> Result<bool, End> {
        let client = self.client.compressed.as_mut();
        let server = self.server.as_mut();
        let server = server.and_then(|server| server.compressed.as_mut());
        let (mut is_held, mut counted) = (false, Ok(()));
        match event {
            Event::Command { at, .. } => {
                let has_reply = self.relay.last_has_reply();
                let is_next = self.relay.outstanding() == 1;
                if let Some(client) = client {
                    // A reply that has not left is still to be counted.
                    let is_next = is_next && !client.has_mark();
                    counted = counted.and(client.ids.command(has_reply, is_next));
                    client.ids.begin_heard(has_reply);
                }
                if let Some(server) = server {
                    counted = counted.and(server.ids.command(has_reply, is_next));
                    server.mark(begins + at, Mark::Command { has_reply });
                    is_held = server.has_mark();
                }
                self.up.is_held = is_held;
            }
            Event::Acknowledgement { at } => {
                if let Some(client) = client {
                    client.ids.begin_heard(false);
                }
                if let Some(server) = server {
                    server.mark(begins + at, Mark::Command { has_reply: false });
                    is_held = server.has_mark();
                }
                self.up.is_held = is_held;
            }
            Event::Done { .. } | Event::Result => {
                let mark = match event {
                    Event::Result => Mark::Result,
                    _ => Mark::Done,
                };
                if let (Some(server), Mark::Done) = (server, mark) {
                    server.ids.done();
                }
                if let Some(client) = client {
                    client.mark(self.down.cleared, mark);
                    is_held = client.has_mark();
                }
                self.down.is_held = is_held;
            }
            _ => {}
        }
        counted.map_err(|_| Failure::out_of_memory())?;
        Ok(is_held)
    }
}
