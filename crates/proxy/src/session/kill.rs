//! A `KILL` of a session that is on another backend.
//!
//! Connection ids are the backends' own, and two backends have threads of the same number: sent on as it is, such a `KILL`
//! would end somebody else's thread. It is run where the session is, with the credentials of the health checks, and answered
//! from here; the client's own backend never sees it. A `KILL` of a session on the same server passes as it is, as does one of
//! an id that no session of the listener has. One that is prepared, or whose target is no plain number, is refused: whom it
//! means when it is run each server would tell otherwise.
//!
//! ```text
//!   Off                                 one server behind the listener: no statement is looked at
//!   Watching --a KILL of another's--> Held --replies before it are over--> Asked --answer--> Answering --sent--> Watching
//! ```

mod statement;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::frame::{HEADER_BYTES, MAX_BODY};
use onecopy_mysql_proto::packet::{CommandByte, ErrPacket, OkHeader, OkPacket, Query};
use onecopy_mysql_proto::relay::Relay;
use onecopy_net::evented::Address;

use super::farewell::packet;
use super::{Context, End, Phase, Session, Status};
use crate::failure::Failure;
use crate::kill::{Answer, For, Job};
use crate::registry::Registry;
pub(super) use statement::{Found, Kill};

/// So much of a statement is waited for and looked at: comments in front of it may be long. One that has more in front of its
/// first word passes as it is.
const LOOKED_AT: usize = 8 << 10;

/// What becomes of a `KILL` of the client's.
#[derive(Debug, Default)]
pub(super) enum KillState {
    /// Nothing is looked at.
    #[default]
    Off,
    Watching,
    /// The same, where the last statement that the client prepared was refused: its server would run the one before where the
    /// client says that it means the last.
    WatchingRefused,
    /// It waits until what was sent before it is answered.
    Held(Held),
    /// It is being run; and whether the last statement that was prepared is refused.
    Asked(bool),
    /// Bytes for the client, and how many of them have left.
    Answering(Answered),
}

/// What the client is told, and what comes after.
#[derive(Debug)]
pub(super) struct Answered {
    reply: Vec<u8>,
    sent: usize,
    refuses_last: bool,
}

/// A `KILL` that is not sent on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    order: Order,
    /// Bytes of its packet, header included.
    packet_bytes: usize,
    /// The last statement that was prepared is refused, by this or before.
    refuses_last: bool,
}

/// What is done about it.
#[derive(Debug, Clone, Copy)]
enum Order {
    Run(Kill),
    RefuseUnclear,
    RefusePrepared,
    /// The statement prepared last is to be executed, which was refused.
    RefuseLast,
}

/// What the next bytes of a client are.
pub(super) enum Inspected {
    Ordinary,
    /// So many bytes must be there before it can be told.
    Needs {
        need: usize,
        until_end: usize,
    },
    /// Not to be sent on.
    Kill,
}

impl KillState {
    #[inline]
    pub(super) fn is_watching(&self) -> bool {
        matches!(self, Self::Watching | Self::WatchingRefused)
    }

    /// Whether it may be able to continue without an event, as soon as something was carried.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Held(_))
    }

    /// Whether nothing more is taken from the client now.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self, Self::Off | Self::Watching | Self::WatchingRefused)
    }

    #[inline]
    fn has_refused(&self) -> bool {
        matches!(self, Self::WatchingRefused)
    }

    /// Looks at the bytes that are processed next. Costs a few instructions where a query begins with a letter but `K`.
    #[inline]
    pub(super) fn inspect(
        &mut self,
        relay: &Relay,
        bytes: &[u8],
        registry: &Registry,
        own: Option<&Address>,
    ) -> Inspected {
        let [_, _, _, _, command, rest @ ..] = bytes else {
            return Inspected::Ordinary;
        };
        let may_be = match CommandByte(*command) {
            CommandByte::QUERY => match rest {
                // No attributes, one set of them.
                [0, 1, first, ..] => statement::may_begin(*first),
                [first, ..]
                    if !relay
                        .capabilities()
                        .contains(Capabilities::QUERY_ATTRIBUTES) =>
                {
                    statement::may_begin(*first)
                }
                _ => true,
            },
            CommandByte::STMT_PREPARE => {
                let first = rest.first();
                first.is_none_or(|first| statement::may_begin(*first)) || self.has_refused()
            }
            CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE => self.has_refused(),
            CommandByte::PROCESS_KILL | CommandByte::CHANGE_USER => true,
            _ => false,
        };
        if !may_be || !relay.client_is_between_payloads() {
            return Inspected::Ordinary;
        }
        self.inspect_closely(relay.capabilities(), bytes, registry, own)
    }

    #[cold]
    fn inspect_closely(
        &mut self,
        capabilities: Capabilities,
        bytes: &[u8],
        registry: &Registry,
        own: Option<&Address>,
    ) -> Inspected {
        let [a, b, c, ..] = *bytes else {
            return Inspected::Ordinary;
        };
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let packet_bytes = HEADER_BYTES + length;
        let payload = &bytes[HEADER_BYTES..bytes.len().min(packet_bytes)];
        let is_whole = payload.len() == length && length < MAX_BODY;
        let needs = || Inspected::Needs {
            need: packet_bytes.min(LOOKED_AT),
            until_end: packet_bytes.saturating_sub(bytes.len()),
        };
        if let [command, user @ ..] = payload
            && CommandByte(*command) == CommandByte::CHANGE_USER
        {
            let is_told = is_whole || user.contains(&0) || bytes.len() >= LOOKED_AT;
            return if is_told {
                Inspected::Ordinary
            } else {
                needs()
            };
        }
        let command = CommandByte(payload.first().copied().unwrap_or(0));
        let is_prepared = command == CommandByte::STMT_PREPARE;
        let order = match look(payload, is_whole, capabilities) {
            Found::Cut if bytes.len() < LOOKED_AT => return needs(),
            Found::Ordinary | Found::Cut => {
                if is_prepared {
                    *self = Self::Watching;
                }
                return Inspected::Ordinary;
            }
            Found::Last => Order::RefuseLast,
            Found::Kill(_) | Found::Unclear if is_prepared => Order::RefusePrepared,
            Found::Unclear => Order::RefuseUnclear,
            Found::Kill(kill) => match registry.find(kill.id) {
                Some(whose) if whose.address.as_ref() != own => Order::Run(kill),
                _ => return Inspected::Ordinary,
            },
        };
        *self = Self::Held(Held {
            order,
            packet_bytes,
            refuses_last: is_prepared || self.has_refused(),
        });
        Inspected::Kill
    }
}

/// Looks at a payload, or at what has arrived of it.
pub(super) fn look(payload: &[u8], is_whole: bool, capabilities: Capabilities) -> Found {
    match payload {
        [command, id @ ..] if CommandByte(*command) == CommandByte::PROCESS_KILL => match id {
            &[a, b, c, d] => Found::Kill(Kill {
                id: u32::from_le_bytes([a, b, c, d]),
                force: "",
                what: "CONNECTION ",
            }),
            _ if is_whole => Found::Ordinary,
            _ => Found::Cut,
        },
        [command, text @ ..] if CommandByte(*command) == CommandByte::STMT_PREPARE => {
            statement::find(text, is_whole)
        }
        [command, id @ ..]
            if matches!(
                CommandByte(*command),
                CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE
            ) =>
        {
            match id {
                [0xFF, 0xFF, 0xFF, 0xFF, ..] if is_whole => Found::Last,
                [0xFF, 0xFF, 0xFF, 0xFF, ..] | [] | [_] | [_, _] | [_, _, _] if !is_whole => {
                    Found::Cut
                }
                _ => Found::Ordinary,
            }
        }
        [_, text @ ..] if !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) => {
            statement::find(text, is_whole)
        }
        [_, 0, 1, text @ ..] => statement::find(text, is_whole),
        _ if !is_whole => Found::Cut,
        _ => Query::decode(payload, capabilities)
            .map_or(Found::Ordinary, |query| statement::find(query.sql, true)),
    }
}

impl Session {
    /// Statements are looked at from now on, where the listener leads to several servers, and changes of user where these have
    /// places.
    pub(crate) fn watch_commands(&mut self) {
        // Before the end of the login nothing is a command.
        if !matches!(self.phase, Phase::Transit) {
            return;
        }
        let mut newest = &self.listener;
        while let Some(successor) = newest.successor.get() {
            newest = successor;
        }
        let is_limited = self.listener.config.max_user_connections.is_some();
        let is_off = matches!(self.kill, KillState::Off);
        if is_off && (is_limited || newest.backends.servers() > 1) {
            self.kill = KillState::Watching;
        }
    }

    /// Continues with a `KILL` that was not sent on, and with what the client has sent behind it.
    #[cold]
    pub(super) fn go_on_with_kills(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        while self.kill.is_waiting() {
            self.go_on_with_kill(context)?;
            if self.kill.is_waiting() {
                break;
            }
            self.look_at_all(context)?;
        }
        Ok(())
    }

    fn go_on_with_kill(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        if let KillState::Held(held) = self.kill {
            // Replies come in the order of the commands, and what is in front of it in the buffer has to leave first.
            if !self.relay.is_idle() || self.up.cleared > 0 || !self.down.is_empty() {
                return Ok(());
            }
            if let Some(loan) = &mut self.up.loan {
                loan.buffers.consume_piece(held.packet_bytes);
            }
            let asked = match held.order {
                Order::Run(kill) => self.ask(kill, context),
                Order::RefuseUnclear => Err(Answer::unclear()),
                Order::RefusePrepared => Err(Answer::prepared()),
                Order::RefuseLast => Err(Answer::no_statement()),
            };
            match asked {
                Ok(()) => self.kill = KillState::Asked(held.refuses_last),
                Err(answer) => self.answer(&answer, held.refuses_last),
            }
        }
        let KillState::Answering(answered) = &mut self.kill else {
            return Ok(());
        };
        while answered.sent < answered.reply.len() && self.client.is_writable {
            let rest = &mut answered.reply[answered.sent..];
            match self.client.write(rest, context) {
                Ok(Some(n)) => answered.sent += n,
                Ok(None) => self.client.is_writable = false,
                Err(_) => return Err(Failure::client_lost().into()),
            }
        }
        if answered.sent < answered.reply.len() {
            return Ok(());
        }
        self.kill = match answered.refuses_last {
            true => KillState::WatchingRefused,
            false => KillState::Watching,
        };
        Ok(())
    }

    /// Has it run where the session is.
    fn ask(&self, kill: Kill, context: &Context<'_>) -> Result<(), Answer> {
        let Some(target) = self.listener.registry.find(kill.id) else {
            return Err(Answer::unknown(kill.id, &"the session has just ended"));
        };
        // A server lets everyone end his own sessions. Whose others a user may end, only his own backend knows.
        if target.user.is_empty() || target.user != self.user {
            return Err(Answer::not_owner(kill.id, target.backend.name()));
        }
        context.kills.ask(Job {
            sql: kill.sql(),
            id: kill.id,
            target,
            worker: context.worker,
            session: self.token.0 / 2,
            asker: self.connection_id(),
            login: None,
            of: For::Client,
        })
    }

    /// The answer has arrived.
    pub(crate) fn kill_answered(
        &mut self,
        asker: u32,
        answer: &Answer,
        context: &mut Context<'_>,
    ) -> Status {
        if let KillState::Asked(refuses_last) = self.kill
            && self.connection_id() == asker
        {
            self.answer(answer, refuses_last);
        }
        self.go_on(context)
    }

    fn answer(&mut self, answer: &Answer, refuses_last: bool) {
        let mut payload = Vec::new();
        match answer {
            Answer::Done => OkPacket {
                status_flags: self.relay.status(),
                ..OkPacket::default()
            }
            .encode(OkHeader::Ok, self.relay.capabilities(), &mut payload),
            Answer::Failed {
                code,
                sql_state,
                message,
            } => ErrPacket {
                code: *code,
                sql_state: Some(*sql_state),
                message: message.as_bytes(),
            }
            .encode(&mut payload),
        }
        if let Some(compressed) = &mut self.client.compressed {
            compressed.answer();
        }
        self.kill = KillState::Answering(Answered {
            reply: packet(1, &payload),
            sent: 0,
            refuses_last,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    fn is_kill_of_5(found: Found) -> bool {
        matches!(found, Found::Kill(kill) if kill.id == 5)
    }

    #[test]
    fn a_kill_is_seen_behind_query_attributes() {
        let none = b"\x03\x00\x01KILL 5";
        assert!(is_kill_of_5(look(none, true, ATTRIBUTES)));
        assert_eq!(look(&none[..6], false, ATTRIBUTES), Found::Cut);
        // One set of one attribute: not null, types follow, VAR_STRING, name `a`, value `KILL 6`.
        let one = b"\x03\x01\x01\x00\x01\xFD\x00\x01a\x06KILL 6KILL 5";
        assert!(is_kill_of_5(look(one, true, ATTRIBUTES)));
        for cut in 1..one.len() {
            assert_eq!(
                look(&one[..cut], false, ATTRIBUTES),
                Found::Cut,
                "cut at {cut}"
            );
        }
        // Where they were not agreed on, these bytes are the statement.
        assert_eq!(look(none, true, Capabilities::default()), Found::Ordinary);
        assert!(is_kill_of_5(look(
            b"\x03KILL 5",
            true,
            Capabilities::default()
        )));
    }

    #[test]
    fn the_command_of_its_own_is_seen() {
        let kill = [0x0C, 5, 0, 0, 0];
        assert!(is_kill_of_5(look(&kill, true, Capabilities::default())));
        assert_eq!(look(&kill[..3], false, Capabilities::default()), Found::Cut);
        assert_eq!(
            look(&kill[..3], true, Capabilities::default()),
            Found::Ordinary
        );
    }
}
