//! Results that a server has announced and leaves out, because a KILL came between two statements of one command.
//!
//! It says nothing then: its client waits for a result, and the server for a command. A COM_STATISTICS behind the KILL tells. Its
//! reply comes behind the results that are still to come, or in place of the one that never comes, and can't be taken for one.
//!
//! ```text
//!   result, more follow | KILL | COM_STATISTICS --> result, error or end of the reply | text    the text is passed over
//!                                               \-> text                                       an error takes its place
//! ```

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::CommandByte;

use super::Pooled;
use crate::pooling::exchange::{Exchange, put_packet};
use crate::pooling::look::{Kind, Look};
use crate::session::{Context, End, Phase, Session};

impl Session {
    /// A KILL was run, and another result is awaited: asks for the text. Not where the server may have asked for a file, of which it would be
    /// a part.
    pub(super) fn ask_for_rest(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let is_query = self.relay.command() == Some(CommandByte::QUERY);
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        let (Some(timeout), Some(connection)) = (&mut pooled.timeout, &pooled.connection) else {
            return Ok(());
        };
        let takes_files = connection.capabilities.contains(Capabilities::LOCAL_FILES);
        let may_ask_for_file = takes_files && may_load(pooled.current.look);
        let may_ask = is_query && !may_ask_for_file && !timeout.is_asking_for_rest;
        if !may_ask || !self.relay.ask_for_rest() {
            return Ok(());
        }
        timeout.is_asking_for_rest = true;
        put_packet(&mut pooled.ahead, CommandByte::STATISTICS, b"");
        self.send_ahead(context)
    }

    /// The text has come in place of a result, in a packet of `len` bytes, which is next: an error is put there instead.
    #[cold]
    pub(super) fn end_without_rest(&mut self, len: usize) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        let Some(timeout) = &mut pooled.timeout else {
            return;
        };
        timeout.is_asking_for_rest = false;
        timeout.has_hit_nothing();
        let mut payload = Vec::new();
        timeout.error().encode(&mut payload);
        // The text of a server is longer. Of another one's the error's own text may lose its end.
        payload.truncate(len.saturating_sub(HEADER_BYTES));
        let sequence = self.relay.error_sequence().unwrap_or_default();
        self.rewrite_next(len, sequence, &payload);
    }
}

impl Pooled {
    /// The text begins where a result was awaited. It is rewritten as an OK packet is that tells of changes.
    #[cold]
    pub(super) fn result_left_out(&mut self, len: usize) {
        self.changed = u32::try_from(len).ok();
        if let Some(timeout) = &mut self.timeout {
            timeout.is_left_out = true;
        }
    }

    /// Whether what is next is the text.
    pub(super) fn takes_left_out(&mut self) -> bool {
        let timeout = self.timeout.as_mut();
        timeout.is_some_and(|timeout| std::mem::take(&mut timeout.is_left_out))
    }
}

/// Whether a statement may ask for a file.
fn may_load(look: Look) -> bool {
    let kinds = [Kind::Load, Kind::Prepare, Kind::Call, Kind::Other];
    look.is_partial || kinds.into_iter().any(|kind| look.has(kind))
}

/// The text, where the reply before it is over.
pub(super) fn answer_to_come(capabilities: Capabilities) -> Option<Box<Exchange>> {
    let mut asked = Vec::new();
    put_packet(&mut asked, CommandByte::STATISTICS, b"");
    Exchange::new(capabilities, &asked).ok()
}
