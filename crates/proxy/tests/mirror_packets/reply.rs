//! Replies, packet by packet, as texts that can be compared and read.
//!
//! Left out is only what has to differ: the numbers of statements and connections, and the order in which changes of the
//! session are reported.

use std::fmt;
use std::io;

use onecopy_mysql_proto::packet::{OkPacket, SessionChange};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

/// Before the name of a schema that is reported.
const SCHEMA: &str = "(schema)=";
/// Before the state of a transaction that is reported.
const TRANSACTION: &str = "(transaction)=";

/// All packets of the replies to one step, with their sequence ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    packets: Vec<(u8, String)>,
    /// How the connection ended.
    closed: Option<String>,
    /// The statement that was prepared.
    pub(crate) prepared: Option<u32>,
}

impl Reply {
    pub(crate) fn push(&mut self, sequence: u8, text: String) {
        self.packets.push((sequence, text));
    }

    pub(crate) fn close(&mut self, error: &io::Error) {
        self.prepared = None;
        self.closed = Some(match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer".to_owned(),
            // Whether a reset overtakes the end of the stream is chance.
            _ => "closed".to_owned(),
        });
    }

    /// Leaves out what it says of schemas.
    pub(crate) fn forget_schemas(&mut self) {
        self.forget(SCHEMA);
    }

    /// Leaves out that the session is in this schema.
    pub(crate) fn forget_schema(&mut self, known: &str) {
        for (_, text) in &mut self.packets {
            if schema_in(text) == Some(known) {
                forget(text, SCHEMA);
            }
        }
    }

    /// Notes the schema that was reported last.
    pub(crate) fn note_schema(&self, schema: &mut String) {
        let mut reported = self.packets.iter().rev();
        if let Some(last) = reported.find_map(|(_, text)| schema_in(text)) {
            last.clone_into(schema);
        }
    }

    /// Leaves out that something has changed: servers say it with a later statement where one has failed, and then only if they track
    /// all that it has changed.
    pub(crate) fn forget_state_changes(&mut self) {
        self.forget("Ok(StateChange");
    }

    /// Leaves out how many warnings there are: MySQL counts those of the statement before in the reply to a command that is none.
    pub(crate) fn forget_warnings(&mut self) {
        for (_, text) in &mut self.packets {
            if let Some(at) = text.find("warnings ") {
                let from = at + "warnings ".len();
                let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
                text.replace_range(from..from + digits, "0");
            }
        }
    }

    /// Leaves out what it says of the transaction's state.
    pub(crate) fn forget_transaction_state(&mut self) {
        self.forget(TRANSACTION);
    }

    /// Whether it says what state the transaction is in.
    pub(crate) fn tells_of_transaction_state(&self) -> bool {
        self.packets
            .iter()
            .any(|(_, text)| text.contains(TRANSACTION))
    }

    /// Leaves out that autocommit was set.
    pub(crate) fn forget_autocommit(&mut self) {
        self.forget("autocommit=");
    }

    /// Leaves out the connection's character set where not all of them were set: MariaDB 11.8 reports it where only the
    /// collation was set, and nothing of that where all variables are asked for.
    pub(crate) fn forget_lone_connection_set(&mut self) {
        let all = ["character_set_client=", "character_set_results="];
        let mut packets = self.packets.iter();
        if !packets.any(|(_, text)| all.iter().all(|name| text.contains(name))) {
            self.forget("character_set_connection=");
        }
    }

    /// Leaves out the connection's character set, by either of its names, where it is `binary`: MariaDB 11.8 reports it by the
    /// shorter name where all variables are asked for, and a reply can't become longer.
    pub(crate) fn forget_connection_set_of_binary(&mut self) {
        let mut packets = self.packets.iter();
        if packets.any(|(_, text)| text.contains("character_set_client=binary")) {
            self.forget("character_set_connection=");
            self.forget("collation_connection=");
        }
    }

    /// Whether it says that autocommit was set.
    pub(crate) fn tells_of_autocommit(&self) -> bool {
        self.packets
            .iter()
            .any(|(_, text)| text.contains("autocommit="))
    }

    fn forget(&mut self, change: &str) {
        for (_, text) in &mut self.packets {
            forget(text, change);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether it is an error or ends with one.
    pub(crate) fn is_error(&self) -> bool {
        let last = self.packets.last();
        last.is_some_and(|(_, text)| text.starts_with("ERR"))
    }

    /// Whether the statement was not found: code 1243.
    pub(crate) fn is_of_unknown_statement(&self) -> bool {
        let last = self.packets.last();
        last.is_some_and(|(_, text)| text.starts_with("ERR \\xff\\xdb\\x04"))
    }

    /// Whether `SHOW WARNINGS` has something to show.
    /// Whether it is the proxy's error for a question about a statement whose connection is gone.
    pub(crate) fn says_that_it_is_lost(&self) -> bool {
        let [(_, text)] = &self.packets[..] else {
            return false;
        };
        text.contains("diagnostics of the statement before are gone")
    }

    pub(crate) fn has_warnings(&self) -> bool {
        let last = self.packets.last();
        last.is_some_and(|(_, text)| {
            text.starts_with("ERR") || text.contains("warnings") && !text.contains("warnings 0")
        })
    }

    /// The packets that differ first, each with the one before it.
    pub(crate) fn first_difference(&self, other: &Self) -> String {
        let same = self.packets.iter().zip(&other.packets);
        let same = same.take_while(|(one, other)| one == other).count();
        let show = |reply: &Self| {
            let packets: Vec<_> = reply.packets.iter().skip(same).take(2).collect();
            let more: String = format!("{packets:?} {}", reply.closed.as_deref().unwrap_or(""));
            more.chars().take(1500).collect::<String>()
        };
        format!(
            "behind {same} equal packets\n  direct: {}\n  mirror: {}",
            show(self),
            show(other)
        )
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, text) in &self.packets {
            let text: String = text.chars().take(300).collect();
            write!(f, "[{text}] ")?;
        }
        f.write_str(self.closed.as_deref().unwrap_or(""))
    }
}

/// The schema that an OK packet reports.
fn schema_in(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once(SCHEMA)?;
    text.starts_with("OK").then(|| behind.split(',').next())?
}

/// Leaves out a change of which an OK packet tells.
fn forget(text: &mut String, change: &str) {
    if text.starts_with("OK")
        && let Some(at) = text.find(change)
    {
        let end = text[at..]
            .find(',')
            .map_or(text.len(), |len| at + len + ", ".len());
        text.replace_range(at..end.min(text.len()), "");
        // One before it has a comma behind it, which one behind it has not.
        let len = text.trim_end_matches([',', ' ']).len();
        text.truncate(len);
    }
    let len = text.trim_end().len();
    text.truncate(len);
}

pub(crate) fn ok(payload: &[u8], capabilities: Capabilities) -> (String, StatusFlags) {
    let Ok(packet) = OkPacket::decode(payload, capabilities) else {
        let text = format!("no OK: {}", payload.escape_ascii());
        return (text, StatusFlags::empty());
    };
    let mut changes: Vec<_> = packet
        .session_track
        .iter()
        .map(|change| match change {
            Ok(SessionChange::SystemVariable { name, value }) => {
                format!("{}={}", name.escape_ascii(), value.escape_ascii())
            }
            Ok(SessionChange::TransactionState(state)) => {
                format!("{TRANSACTION}{}", state.escape_ascii())
            }
            Ok(SessionChange::Schema(schema)) => format!("{SCHEMA}{}", schema.escape_ascii()),
            other => format!("{other:?}"),
        })
        .collect();
    changes.sort();
    let header = payload.first().copied().unwrap_or_default();
    let text = format!(
        "OK {header:#x} rows {} id {} {} warnings {} info '{}' {}",
        packet.affected_rows,
        packet.last_insert_id,
        status(packet.status_flags),
        packet.warnings,
        packet.info.escape_ascii(),
        changes.join(", ")
    );
    (text, packet.status_flags)
}

pub(crate) fn end(payload: &[u8]) -> (String, StatusFlags) {
    let &[_, w0, w1, s0, s1] = payload else {
        let text = format!("no EOF: {}", payload.escape_ascii());
        return (text, StatusFlags::empty());
    };
    let flags = StatusFlags(u16::from_le_bytes([s0, s1]));
    let warnings = u16::from_le_bytes([w0, w1]);
    (format!("EOF {} warnings {warnings}", status(flags)), flags)
}

/// Without what only a proxy asks for, what the clock decides, and that definitions are other ones than those of the prepare: on a
/// connection that has prepared the statement later they are not. Definitions themselves are compared.
fn status(flags: StatusFlags) -> String {
    let left_out = StatusFlags::METADATA_CHANGED
        | StatusFlags::SESSION_STATE_CHANGED
        | StatusFlags::QUERY_WAS_SLOW;
    format!("status {:#x}", flags.difference(left_out).0)
}

pub(crate) fn err(payload: &[u8]) -> String {
    // The error of a statement without a cursor has the number of the statement.
    if payload.starts_with(&[0xFF, 0x8D, 0x05]) {
        return "ERR of a cursor".to_owned();
    }
    format!("ERR {}", payload.escape_ascii())
}

pub(crate) fn definition(payload: &[u8]) -> String {
    format!("definition {}", payload.escape_ascii())
}

pub(crate) fn row(payload: &[u8]) -> String {
    // An error of cursors has the number of its statement.
    if payload.windows(4).any(|part| part == b"1421") {
        return "row of an error of a cursor".to_owned();
    }
    match payload.len() {
        0..1000 => format!("row {}", payload.escape_ascii()),
        len => {
            let sum = payload
                .iter()
                .fold(0u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte));
            let head = payload.get(..200).unwrap_or_default();
            format!("row of {len} bytes, {sum:#x}: {}", head.escape_ascii())
        }
    }
}

/// The reply to a prepare without its number; the number; how many parameters and columns there are.
pub(crate) fn prepared(payload: &[u8]) -> (String, u32, [u16; 2]) {
    let &[_, a, b, c, d, c0, c1, p0, p1, ref rest @ ..] = payload else {
        return (format!("no OK: {}", payload.escape_ascii()), 0, [0, 0]);
    };
    let (columns, parameters) = (u16::from_le_bytes([c0, c1]), u16::from_le_bytes([p0, p1]));
    let text = format!(
        "prepared, {columns} columns, {parameters} parameters, {}",
        rest.escape_ascii()
    );
    (
        text,
        u32::from_le_bytes([a, b, c, d]),
        [parameters, columns],
    )
}
