//! The statements of a session, as they are counted by digest.

use std::collections::VecDeque;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, Query};
use onecopy_mysql_proto::relay::Tally;

use super::logged::Logged;
use super::{Context, Phase, Session};
use crate::digests::{Digests, Hint, Known, Outcome, Place, STATEMENT_BYTES};
use crate::stats::Taken;

/// Prepared statements whose digests a session knows: a client that has more is counted by those that it prepared first.
const MAX_PREPARED: usize = 16 << 10;

/// A list of commands that were sent ahead is given back when it was for more than so many.
const KEPT: usize = 16;

/// What `COM_STMT_EXECUTE` has for the statement that was prepared last: MariaDB.
const LAST_PREPARED: u32 = u32::MAX;

/// Bytes of a statement's packet in front of its text, without attributes.
pub(super) const HEAD: usize = HEADER_BYTES + 1;

/// A command whose reply is outstanding.
#[derive(Debug, Clone, Copy, Default)]
struct Command {
    place: Place,
    /// Of its first packet, as far as it had arrived when it was looked at.
    bytes: u32,
}

/// What of a session's statements is to be counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The command whose reply is next, and those that were sent ahead of it.
    current: Command,
    hint: Hint,
    /// Bytes that have passed from the client, and from the backend since the last reply.
    pub(super) passed: [u64; 2],
    /// The start of the command that was begun last, as long as more of it has to come before it can be counted.
    pub(super) start: Option<Box<Start>>,
    rest: Option<Box<Rest>>,
}

/// What has arrived of a command. Behind a box: each session has a place for it.
#[derive(Debug)]
pub(super) struct Start(pub(super) Vec<u8>);

/// What few sessions have.
#[derive(Debug, Default)]
struct Rest {
    ahead: VecDeque<Command>,
    /// Digests of statements whose prepare has no reply yet.
    preparing: VecDeque<Known>,
    /// By the server's number, ascending; of a session with a server connection of its own.
    prepared: Vec<(u32, Known)>,
    last_prepare: Option<Known>,
    /// Where statements are logged.
    logged: Option<Box<Logged>>,
}

/// The part of what a client has sent that is a command's packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub(super) at: usize,
    /// Where it ends, or what has arrived of it.
    pub(super) end: usize,
    /// Bytes that have not arrived.
    pub(super) until_end: usize,
}

/// A statement's text in its packet. `None` where what is in front of it has not arrived.
#[inline]
pub(super) fn text(packet: &[u8], capabilities: Capabilities) -> Option<&[u8]> {
    let text = packet.get(HEAD..)?;
    if packet.get(HEADER_BYTES) != Some(&CommandByte::QUERY.0)
        || !capabilities.contains(Capabilities::QUERY_ATTRIBUTES)
    {
        return Some(text);
    }
    match text {
        // No attributes, one set of them.
        [0, 1, text @ ..] => Some(text),
        _ => text_behind_attributes(packet, capabilities),
    }
}

#[cold]
fn text_behind_attributes(packet: &[u8], capabilities: Capabilities) -> Option<&[u8]> {
    let payload = packet.get(HEADER_BYTES..)?;
    Some(Query::decode(payload, capabilities).ok()?.sql)
}

/// So much of a text is looked at, and whether that is all of it.
#[inline]
pub(super) fn looked_at(text: &[u8], is_whole: bool) -> (&[u8], bool) {
    match text.len() <= STATEMENT_BYTES {
        true => (text, is_whole),
        false => (text.get(..STATEMENT_BYTES).unwrap_or(text), false),
    }
}

impl Counted {
    /// The command whose reply is over.
    #[inline]
    fn next(&mut self) -> Command {
        match &mut self.rest {
            None => std::mem::take(&mut self.current),
            Some(rest) => {
                let next = rest.ahead.pop_front().unwrap_or_default();
                if rest.ahead.is_empty() && rest.ahead.capacity() > KEPT {
                    rest.ahead = VecDeque::new();
                }
                std::mem::replace(&mut self.current, next)
            }
        }
    }

    /// A statement begins that is like the session's last one: a whole COM_QUERY in this packet, whose reply is the only one outstanding.
    /// `false` where it is another one.
    #[inline]
    pub(super) fn begin_like_last(
        &mut self,
        packet: Option<&[u8]>,
        capabilities: Capabilities,
        digests: &mut Digests,
    ) -> bool {
        let Some(text) = packet.and_then(|packet| text(packet, capabilities)) else {
            return false;
        };
        let Some(place) = digests.begin_like_last(text, self.hint) else {
            return false;
        };
        #[allow(clippy::cast_possible_truncation)] // of a packet, at most 16 MiB
        let bytes = (HEAD + text.len()) as u32;
        self.current = Command { place, bytes };
        self.passed[1] = 0;
        true
    }

    /// A statement begins, or is to be prepared. `text`: so much of it as is looked at, and whether that is all of it.
    fn begin(
        &mut self,
        command: CommandByte,
        text: Option<(&[u8], bool)>,
        context: &mut Context<'_>,
    ) -> Place {
        match (command, text) {
            (CommandByte::QUERY, Some((text, is_whole))) => {
                let hint = &mut self.hint;
                context.digests.begin(text, is_whole, hint, context.now)
            }
            (CommandByte::STMT_PREPARE, text) => {
                let (text, is_whole) = text.unwrap_or_default();
                let known = context.digests.know(text, is_whole, context.now);
                let rest = self.rest();
                rest.last_prepare = Some(known.clone());
                rest.preparing.push_back(known);
                Place::NONE
            }
            _ => Place::NONE,
        }
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// What is logged of the session's statements, from now on.
    pub(super) fn log(&mut self) -> &mut Logged {
        self.rest().logged.get_or_insert_default()
    }

    /// The same where something is.
    pub(super) fn logged(&mut self) -> Option<&mut Logged> {
        self.rest.as_mut()?.logged.as_deref_mut()
    }

    /// Bytes of allocated memory.
    pub(super) fn memory(&self) -> usize {
        let start = self.start.as_ref().map_or(0, |start| start.0.capacity());
        let Some(rest) = &self.rest else { return start };
        start
            + size_of::<Rest>()
            + rest.ahead.capacity() * size_of::<Command>()
            + rest.preparing.capacity() * size_of::<Known>()
            + rest.prepared.capacity() * size_of::<(u32, Known)>()
            + rest.logged.as_ref().map_or(0, |logged| logged.memory())
    }

    /// The digest of a prepared statement.
    fn prepared(&mut self, id: u32) -> Option<&mut Known> {
        let rest = self.rest.as_mut()?;
        if id == LAST_PREPARED {
            return rest.last_prepare.as_mut();
        }
        let place = rest.prepared.binary_search_by_key(&id, |(id, _)| *id);
        rest.prepared.get_mut(place.ok()?).map(|(_, known)| known)
    }
}

impl Rest {
    fn insert_prepared(&mut self, id: u32, known: Known) {
        match self.prepared.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(place) => self.prepared[place].1 = known,
            Err(place) if self.prepared.len() < MAX_PREPARED => {
                self.prepared.insert(place, (id, known));
            }
            Err(_) => {}
        }
    }

    fn close(&mut self, id: u32) {
        if let Ok(place) = self.prepared.binary_search_by_key(&id, |(id, _)| *id) {
            self.prepared.remove(place);
        }
    }
}

impl Session {
    /// The client has begun a command.
    #[inline(never)]
    pub(super) fn count_command(
        &mut self,
        command: CommandByte,
        packet: Packet,
        context: &mut Context<'_>,
    ) {
        if context.digests.logs.has_statements() {
            self.log_command(command, packet, context);
        }
        let is_on = context.digests.is_on();
        let is_simple = is_on && command == CommandByte::QUERY && packet.until_end == 0;
        if is_simple && self.relay.outstanding() <= 1 {
            let bytes = self.up.pending().get(packet.at..packet.end);
            let capabilities = self.relay.capabilities();
            if (self.counted).begin_like_last(bytes, capabilities, context.digests) {
                let _: Tally = self.relay.take_tally();
                return;
            }
        }
        let place = match is_on {
            true => self.count_any(command, packet, context),
            false => Place::NONE,
        };
        #[allow(clippy::cast_possible_truncation)] // of a packet, at most 16 MiB
        let bytes = (packet.end - packet.at) as u32;
        let counted = Command { place, bytes };
        if self.relay.outstanding() > 1 || !self.relay.last_has_reply() {
            return self.count_ahead(counted);
        }
        self.counted.current = counted;
        self.counted.passed[1] = 0;
        let _: Tally = self.relay.take_tally();
    }

    fn count_any(
        &mut self,
        command: CommandByte,
        packet: Packet,
        context: &mut Context<'_>,
    ) -> Place {
        let bytes = self.up.pending().get(packet.at..packet.end);
        let bytes = bytes.unwrap_or_default();
        let id = bytes.get(HEAD..).and_then(<[u8]>::first_chunk);
        let id = id.map(|id| u32::from_le_bytes(*id));
        match command {
            CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE => {
                let known = match &mut self.phase {
                    Phase::Pooled(pooled) => pooled.digest_of_current(context.digests, context.now),
                    _ => id.and_then(|id| self.counted.prepared(id)),
                };
                known.map_or(Place::NONE, |known| {
                    context.digests.begin_known(known, context.now)
                })
            }
            CommandByte::QUERY | CommandByte::STMT_PREPARE => {
                // A pooled session has the texts of its prepared statements.
                let is_meant =
                    command == CommandByte::QUERY || matches!(self.phase, Phase::Transit);
                if is_meant && packet.until_end > 0 && bytes.len() < HEAD + STATEMENT_BYTES {
                    self.counted.start = Some(Box::new(Start(bytes.to_vec())));
                    return Place::NONE;
                }
                if !is_meant {
                    return Place::NONE;
                }
                let text = text(bytes, self.relay.capabilities());
                let text = text.map(|text| looked_at(text, packet.until_end == 0));
                self.counted.begin(command, text, context)
            }
            CommandByte::STMT_CLOSE => {
                if let (Some(id), Some(rest)) = (id, &mut self.counted.rest) {
                    rest.close(id);
                }
                Place::NONE
            }
            _ => Place::NONE,
        }
    }

    /// More of a command has arrived that could not be counted before.
    #[cold]
    pub(super) fn count_more(&mut self, packet: Packet, context: &mut Context<'_>) {
        let Some(mut kept) = self.counted.start.take() else {
            return;
        };
        let more = self.up.pending().get(packet.at..packet.end);
        let Start(start) = &mut *kept;
        start.extend_from_slice(more.unwrap_or_default());
        if packet.until_end > 0 && start.len() < HEAD + STATEMENT_BYTES {
            self.counted.start = Some(kept);
            return;
        }
        let command = CommandByte(start.get(HEADER_BYTES).copied().unwrap_or_default());
        let text = text(start, self.relay.capabilities());
        let text = text.map(|text| looked_at(text, packet.until_end == 0));
        if context.digests.logs.has_statements() {
            self.counted.log().add_text(text, context);
        }
        let place = match context.digests.is_on() {
            true => self.counted.begin(command, text, context),
            false => Place::NONE,
        };
        #[allow(clippy::cast_possible_truncation)] // of a packet, at most 16 MiB
        let counted = Command {
            place,
            bytes: (start.len() + packet.until_end) as u32,
        };
        let last = self.counted.rest.as_mut();
        match last.and_then(|rest| rest.ahead.back_mut()) {
            Some(last) => *last = counted,
            None => self.counted.current = counted,
        }
    }

    /// A command that was sent before others were answered, or that has no reply. Those that were not counted have a place in the list
    /// as well.
    #[cold]
    fn count_ahead(&mut self, command: Command) {
        if !self.relay.last_has_reply() {
            return;
        }
        let outstanding = self.relay.outstanding();
        let ahead = &mut self.counted.rest().ahead;
        while ahead.len() + 2 < outstanding {
            ahead.push_back(Command::default());
        }
        ahead.push_back(command);
    }

    /// The reply to a command is over. Costs two instructions where nothing is counted.
    #[inline]
    pub(super) fn count_reply(
        &mut self,
        (taken, failed): (Taken, bool),
        context: &mut Context<'_>,
    ) {
        if self.counted.current.place != Place::NONE || self.counted.rest.is_some() {
            self.count_outcome(taken, failed, context);
        }
    }

    #[inline(never)]
    fn count_outcome(&mut self, taken: Taken, failed: bool, context: &mut Context<'_>) {
        let counted = self.counted.next();
        let outcome = Outcome {
            taken,
            tally: self.relay.take_tally(),
            failed,
            bytes_from_client: counted.bytes.into(),
            bytes_from_backend: std::mem::take(&mut self.counted.passed[1]),
        };
        context.digests.end(counted.place, &outcome, context.now);
        if self.counted.logged().is_some() {
            self.log_reply(&outcome, context);
        }
    }

    /// The reply to one that is no query is over.
    #[cold]
    pub(super) fn count_done(&mut self, command: CommandByte, failed: bool) {
        let id = self.relay.last_prepared();
        let Some(rest) = &mut self.counted.rest else {
            return;
        };
        match command {
            CommandByte::STMT_PREPARE => {
                let known = rest.preparing.pop_front();
                if let (Some(known), Some(id), false) = (known, id, failed) {
                    rest.insert_prepared(id, known);
                }
            }
            CommandByte::RESET_CONNECTION | CommandByte::CHANGE_USER if !failed => {
                rest.prepared = Vec::new();
                rest.last_prepare = None;
            }
            _ => {}
        }
    }

    /// The proxy itself has answered the command that was begun last, by an error or not.
    pub(super) fn count_no_reply(&mut self, failed: bool, context: &mut Context<'_>) {
        let command = std::mem::take(&mut self.counted.current);
        context.digests.forget(command.place);
        if self.counted.logged().is_some() {
            self.log_answered_here(failed, context);
        }
    }

    /// The command under way is answered by nobody: its server is lost, and it begins anew elsewhere.
    #[cold]
    pub(super) fn count_unanswered(&mut self, context: &mut Context<'_>) {
        let command = std::mem::take(&mut self.counted.current);
        context.digests.forget(command.place);
        if self.counted.logged().is_some() {
            self.log_unanswered(context);
        }
    }

    /// Nothing more comes.
    pub(super) fn stop_counting(&mut self, context: &mut Context<'_>) {
        let counted = std::mem::take(&mut self.counted);
        context.digests.forget(counted.current.place);
        for command in counted.rest.iter().flat_map(|rest| &rest.ahead) {
            context.digests.forget(command.place);
        }
    }
}
