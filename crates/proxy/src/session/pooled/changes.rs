//! What servers report of changes in a session: it is noted, and taken out of what the client gets as far as it did not ask for it.

use std::sync::Arc;

use onecopy_mysql_proto::StatusFlags;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::ok::OkHeader;
use onecopy_mysql_proto::packet::{OkPacket, SessionChange, SessionTrack};
use onecopy_mysql_proto::relay::{RelayError, Side};

use super::Pooled;
use crate::pooling::look::{Kind, Look, Mention};
use crate::pooling::pin::Pin;
use crate::pooling::state;
use crate::session::{End, Phase, Session};

const CONNECTION: &[u8] = b"character_set_connection";
const COLLATION: &[u8] = b"collation_connection";

const LAST_INSERT_ID: &[u8] = b"last_insert_id";

/// On MariaDB, the id of the session's last transaction.
const LAST_GTID: &[u8] = b"last_gtid";

impl Session {
    /// An OK packet of `len` bytes is next, which tells of changes: they are noted, and taken out as far as the client did not ask
    /// for them.
    pub(super) fn note_changes(&mut self, len: usize) -> Result<(), End> {
        let capabilities = self.relay.capabilities();
        let told = match &self.phase {
            // What the statement itself asks for is told at once.
            Phase::Pooled(pooled) if pooled.tells_client => {
                Some(pooled.told.with(pooled.current.look))
            }
            _ => None,
        };
        let Some(loan) = &mut self.down.loan else {
            return Ok(());
        };
        let packet = loan.buffers.pending().get(self.down.cleared..);
        let packet = packet.and_then(|rest| rest.get(..len)).unwrap_or_default();
        let Some((&[.., sequence], payload)) = packet.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(());
        };
        let header = match payload.first() {
            Some(0xFE) => OkHeader::Eof,
            _ => OkHeader::Ok,
        };
        let decoded = OkPacket::decode(payload, capabilities);
        let ok = match decoded {
            Ok(ok) => ok,
            Err(error) => {
                let side = Side::Server;
                return Err(self
                    .fault_of_backend(RelayError::Decode { side, error })
                    .into());
            }
        };
        let mut kept = Vec::new();
        let mut changes = Vec::new();
        for change in ok.session_track.iter() {
            let Ok(change) = change else { break };
            if told.is_some_and(|told| told.has(change)) {
                change.encode(&mut kept);
            }
            changes.push(Change::of(change));
        }
        if told.is_some() {
            put_others(&changes, self.relay.status(), ok.status_flags, &mut kept);
        }
        let mut status = ok.status_flags;
        if kept.is_empty() {
            status = status.difference(StatusFlags::SESSION_STATE_CHANGED);
        }
        let mut rewritten = Vec::new();
        OkPacket {
            status_flags: status,
            session_track: SessionTrack::from_encoded(&kept),
            ..ok
        }
        .encode(header, capabilities, &mut rewritten);
        self.rewrite_next(len, sequence, &rewritten);
        if let Phase::Pooled(pooled) = &mut self.phase {
            let look = pooled.current.look;
            for change in changes {
                pooled.changed_to(change, look);
            }
        }
        Ok(())
    }

    /// Gives the packet of `len` bytes that is next another payload, which is not longer.
    pub(super) fn rewrite_next(&mut self, len: usize, sequence: u8, payload: &[u8]) {
        let (cleared, Some(loan)) = (self.down.cleared, &mut self.down.loan) else {
            return;
        };
        let Some(gone) = len.checked_sub(HEADER_BYTES + payload.len()) else {
            return;
        };
        let pending = loan.buffers.pending_mut();
        let place = pending.get_mut(cleared + gone..cleared + len);
        let Some((head, body)) = place.and_then(|place| place.split_at_mut_checked(HEADER_BYTES))
        else {
            return;
        };
        let [a, b, c, ..] = payload.len().to_le_bytes();
        head.copy_from_slice(&[a, b, c, sequence]);
        body.copy_from_slice(payload);
        // What may pass stays in front of it.
        if cleared > 0 {
            pending.copy_within(..cleared, gone);
        }
        let _ = loan.buffers.consume(gone);
    }
}

/// Appends what a client is told under the name of one variable and the proxy, which asks for all of them, under that of another:
/// MariaDB 11.8 reports variables of one word, and those of one character set, as if they were the first one that is asked for.
fn put_others(changes: &[Change], before: StatusFlags, status: StatusFlags, out: &mut Vec<u8>) {
    let variables = changes.iter().filter_map(|change| match change {
        Change::Variable(name, value) => Some((&**name, &**value)),
        _ => None,
    });
    let has = |wanted: &[u8]| variables.clone().any(|(name, _)| name == wanted);
    let mut switches = variables.clone().filter(|(name, _)| state::is_switch(name));
    let is_on = status.contains(StatusFlags::AUTOCOMMIT);
    let has_switched = is_on != before.contains(StatusFlags::AUTOCOMMIT);
    if has_switched && switches.next().is_some() && !has(b"autocommit") {
        let (name, value) = (b"autocommit", if is_on { "ON" } else { "OFF" });
        put_variable(name, value.as_bytes(), out);
    }
    let mut collations = variables.clone();
    if let Some((_, collation)) = collations.find(|(name, _)| *name == COLLATION)
        && has(b"character_set_client")
        && has(b"character_set_results")
        && !has(CONNECTION)
    {
        // `SET NAMES` sets all of them. All collations but `binary` are a character set's name with more behind it.
        let set = collation.split(|&byte| byte == b'_').next();
        put_variable(CONNECTION, set.unwrap_or_default(), out);
    }
}

fn put_variable(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    SessionChange::SystemVariable { name, value }.encode(out);
}

/// A change that a tracker has told of, on its own.
enum Change {
    Variable(Box<[u8]>, Box<[u8]>),
    Schema(Box<[u8]>),
    Something(bool),
    Characteristics(bool),
    /// A plain transaction has begun.
    Begun,
    Transactions(Box<[u8]>),
    Other,
}

impl Change {
    fn of(change: SessionChange<'_>) -> Self {
        match change {
            SessionChange::SystemVariable { name, value } => {
                Self::Variable(name.into(), value.into())
            }
            SessionChange::Schema(name) => Self::Schema(name.into()),
            SessionChange::StateChange(is) => Self::Something(is),
            SessionChange::TransactionCharacteristics(text) => {
                match text {
                    b"" => Self::Characteristics(false),
                    // A transaction has begun, and not in a way of its own.
                    b"START TRANSACTION;" => Self::Begun,
                    _ => Self::Characteristics(true),
                }
            }
            SessionChange::Gtids { gtids, .. } => Self::Transactions(gtids.into()),
            _ => Self::Other,
        }
    }
}

impl Pooled {
    /// An OK packet's payload, of a command of the proxy's own.
    pub(super) fn note_payload(&mut self, payload: &[u8]) {
        let Some(connection) = &self.connection else {
            return;
        };
        let Ok(ok) = OkPacket::decode(payload, connection.capabilities) else {
            return;
        };
        let changes: Vec<_> = ok.session_track.iter().flatten().map(Change::of).collect();
        for change in changes {
            // It is of an earlier statement, or of a routine.
            self.changed_to(change, Look::default());
        }
    }

    fn changed_to(&mut self, change: Change, look: Look) {
        match change {
            Change::Variable(name, value) => {
                self.current.has_reported = true;
                self.current.is_explained |= !state::is_following(&name);
                if *name == *LAST_GTID {
                    self.note_own_change(&value);
                }
                if *name == *LAST_INSERT_ID && !look.mentions(Mention::SetsLastInsertId) {
                    // Once this variable was set, MariaDB 11.8 gives its name to `last_gtid`, too, and not its value: both are asked for.
                    self.note_hidden_change();
                    return self.forget_insert_id();
                }
                if look.mentions(Mention::SetStatement) {
                    // It is what it was before again; that is reported later.
                    return;
                }
                if name.starts_with(b"character_set_") || *name == *b"collation_connection" {
                    let is_first = !std::mem::replace(&mut self.current.sets_characters, true);
                    // What the one before has set is not known yet, and is not asked for any more.
                    if is_first && self.has_collation && self.has_results.is_some() {
                        self.pin(Pin::Variable);
                    }
                }
                self.has_collation |= *name == *b"character_set_connection";
                if *name == *b"character_set_results" {
                    // A routine has done it in either way; most have it by SET NAMES.
                    self.has_results = Some(look.mentions(Mention::Names) || !look.has(Kind::Set));
                }
                self.has_switches |= state::is_switch(&name);
                let Some(connection) = &self.connection else {
                    return;
                };
                match self
                    .wanted
                    .with_variable(&connection.baseline, &name, &value)
                {
                    Ok(Some(state)) => self.wanted = Arc::new(state),
                    Ok(None) => {}
                    Err(pin) => self.pin(pin),
                }
            }
            Change::Schema(name) => {
                self.current.is_explained = true;
                self.current.has_moved = true;
                let schema = (!name.is_empty()).then_some(name);
                self.wanted = Arc::new(self.wanted.with_schema(schema));
            }
            Change::Something(is) => self.current.has_changed |= is,
            // What `SET TRANSACTION` has asked for is used up by the next transaction.
            Change::Characteristics(true) => {
                self.current.is_explained = true;
                self.has_characteristics = true;
                self.pin(Pin::TransactionCharacteristics);
            }
            Change::Begun => self.current.is_explained = true,
            Change::Characteristics(false) => self.unpin(Pin::TransactionCharacteristics),
            Change::Transactions(reported) => self.note_own_change(&reported),
            Change::Other => {}
        }
    }

    /// The connection's collation is known: so is that of results, which nothing reports.
    pub(super) fn settle_results(&mut self) {
        let (Some(connection), Some(has_names)) = (&mut self.connection, self.has_results.take())
        else {
            return;
        };
        let changed = self.wanted.with_results(&connection.baseline, has_names);
        if let Ok(Some(state)) = &changed {
            self.wanted = Arc::new(state.clone());
        }
        connection.actual = Arc::clone(&self.wanted);
        if let Err(pin) = changed {
            self.pin(pin);
        }
    }
}
