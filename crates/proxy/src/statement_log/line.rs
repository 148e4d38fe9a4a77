//! What a line says, and how: a JSON object. `docs/proxy-statements.md` has the fields.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use onecopy_mysql_proto::digest::Digester;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::To;
use super::redact::{self, Text};
use super::trace_context::TraceContext;
use crate::config::Literals;

/// Longer names are cut off: peers choose them.
pub(super) const NAME_BYTES: usize = 256;

/// Who has done something.
#[derive(Debug, Default)]
pub(crate) struct Who {
    pub(crate) listener: String,
    pub(crate) user: Box<[u8]>,
    pub(crate) client: String,
    /// As `SHOW CLIENTS` has it; 0 for none.
    pub(crate) session: u32,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(super) to: To,
    pub(super) time: SystemTime,
    pub(super) who: Arc<Who>,
    pub(super) event: Event,
}

#[derive(Debug)]
pub(crate) enum Event {
    Statement(Box<Statement>),
    Login(Login),
    Logout(Logout),
    Admin(Admin),
}

/// A statement that is over.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    pub(crate) backend: String,
    /// The server's id of its connection, where that is not the session's; 0 for none.
    pub(crate) backend_session: u32,
    /// `None` where it is not known.
    pub(crate) database: Option<Box<[u8]>>,
    /// Its text, or the start of it; `None` where it is not known.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) is_whole: bool,
    pub(crate) is_prepared: bool,
    pub(crate) has_no_escapes: bool,
    /// Microseconds before it was sent to a server, and from then on.
    pub(crate) wait_us: u64,
    pub(crate) server_us: u64,
    pub(crate) rows_sent: u64,
    pub(crate) rows_affected: u64,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) warnings: u64,
    /// Number and SQLSTATE; 0 for none.
    pub(crate) error: u16,
    pub(crate) sql_state: Option<[u8; 5]>,
    pub(crate) in_transaction: bool,
    pub(crate) pins: String,
    /// The proxy itself has answered it.
    pub(crate) is_by_proxy: bool,
    /// Its session has ended before its reply was over.
    pub(crate) is_unanswered: bool,
    /// Its client's span.
    pub(crate) trace: Option<TraceContext>,
    /// What the server is, for traces: `mysql`, or `mariadb` where that is known.
    pub(crate) system: &'static str,
}

/// A login, or a change of user.
#[derive(Debug, Default)]
pub(crate) struct Login {
    pub(crate) backend: String,
    pub(crate) database: Option<Box<[u8]>>,
    pub(crate) is_tls: bool,
    /// Of a session that was logged in.
    pub(crate) is_change: bool,
    /// Why it was refused.
    pub(crate) refused: Option<&'static str>,
    pub(crate) error: u16,
}

/// The end of a session that was logged in.
#[derive(Debug, Default)]
pub(crate) struct Logout {
    pub(crate) backend: String,
    /// Why, where it was not the client's wish.
    pub(crate) reason: Option<&'static str>,
    pub(crate) duration_us: u64,
    pub(crate) commands: u64,
}

/// What an administrator has done.
#[derive(Debug, Default)]
pub(crate) struct Admin {
    pub(crate) command: &'static str,
    /// What it was done to.
    pub(crate) target: String,
    pub(crate) error: u16,
}

/// How a log shows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) literals: Literals,
    pub(super) sample: f64,
}

/// All fields, in their order.
#[derive(Debug, Default, Serialize)]
struct Fields<'l> {
    time: String,
    event: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    listener: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    backend: &'l str,
    #[serde(skip_serializing_if = "is_zero_32")]
    session: u32,
    #[serde(skip_serializing_if = "is_zero_32")]
    backend_session: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    client: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    target: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_text: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "is_false")]
    cut: bool,
    #[serde(skip_serializing_if = "is_false")]
    withheld: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    escaped: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<u64>,
    #[serde(flatten)]
    numbers: Option<Numbers>,
    #[serde(skip_serializing_if = "is_zero_16")]
    error: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlstate: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    in_transaction: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    pinned: &'l str,
    #[serde(skip_serializing_if = "is_false")]
    by_proxy: bool,
    #[serde(skip_serializing_if = "is_false")]
    no_reply: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// Those that each statement has.
#[derive(Debug, Default, Serialize)]
struct Numbers {
    wait_us: u64,
    server_us: u64,
    rows_sent: u64,
    rows_affected: u64,
    bytes_received: u64,
    bytes_sent: u64,
    warnings: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it like this
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero_16(value: &u16) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero_32(value: &u32) -> bool {
    *value == 0
}

impl Line {
    pub(super) fn new(to: To, who: Arc<Who>, event: Event) -> Self {
        Self {
            to,
            time: SystemTime::now(),
            who,
            event,
        }
    }

    /// Appends it to `lines`, with its end.
    pub(super) fn write(&self, style: Style, digester: &mut Digester, lines: &mut Vec<u8>) {
        let who = &*self.who;
        let mut escaped = Vec::new();
        let mut fields = Fields {
            time: time(self.time),
            listener: &who.listener,
            session: who.session,
            client: &who.client,
            ..Fields::default()
        };
        if !who.user.is_empty() {
            fields.user = Some(name("user", &who.user, &mut escaped));
        }
        match &self.event {
            Event::Statement(statement) => {
                statement.put(&mut fields, &mut escaped, style, digester);
            }
            Event::Login(login) => login.put(&mut fields, &mut escaped),
            Event::Logout(logout) => {
                fields.event = "logout";
                fields.backend = &logout.backend;
                fields.reason = logout.reason;
                fields.duration_us = Some(logout.duration_us);
                fields.commands = Some(logout.commands);
            }
            Event::Admin(admin) => {
                fields.event = "admin";
                fields.command = Some(admin.command);
                fields.target = &admin.target;
                fields.ok = Some(admin.error == 0);
                fields.error = admin.error;
            }
        }
        fields.escaped = escaped;
        write(&fields, lines);
    }
}

/// Says how many lines are missing in front of the next one.
pub(super) fn write_gap(count: u64, lines: &mut Vec<u8>) {
    let fields = Fields {
        time: time(SystemTime::now()),
        event: "lines_lost",
        count: Some(count),
        ..Fields::default()
    };
    write(&fields, lines);
}

impl Statement {
    fn put<'l>(
        &'l self,
        fields: &mut Fields<'l>,
        escaped: &mut Vec<&'static str>,
        style: Style,
        digester: &'l mut Digester,
    ) {
        fields.event = "statement";
        fields.command = Some(match self.is_prepared {
            true => "execute",
            false => "query",
        });
        fields.backend = &self.backend;
        fields.backend_session = self.backend_session;
        let database = self.database.as_deref().unwrap_or_default();
        if !database.is_empty() {
            fields.database = Some(name("database", database, escaped));
        }
        if let Some(text) = self.redacted() {
            let hash = redact::digest(&text, digester);
            fields.digest = Some(format!("{hash:016x}"));
            fields.digest_text = Some(digester.text());
            fields.cut = !self.is_whole;
            let shown = redact::statement(&text, style.literals);
            fields.statement = shown.map(|sql| readable("statement", sql, escaped));
            fields.withheld = shown.is_none() && style.literals == Literals::Kept;
        }
        fields.duration_us = Some(self.wait_us.saturating_add(self.server_us));
        fields.numbers = Some(Numbers {
            wait_us: self.wait_us,
            server_us: self.server_us,
            rows_sent: self.rows_sent,
            rows_affected: self.rows_affected,
            bytes_received: self.bytes_received,
            bytes_sent: self.bytes_sent,
            warnings: self.warnings,
        });
        fields.error = self.error;
        let state = self.sql_state.filter(|_| self.error != 0);
        fields.sqlstate = state.map(|state| String::from_utf8_lossy(&state).into_owned());
        fields.in_transaction = self.in_transaction;
        fields.pinned = &self.pins;
        fields.by_proxy = self.is_by_proxy;
        fields.no_reply = self.is_unanswered;
        fields.sample = (style.sample < 1.0).then_some(style.sample);
    }
}

impl Statement {
    /// Its text, and what has to be known of it before it may be shown.
    pub(super) fn redacted(&self) -> Option<Text<'_>> {
        Some(Text {
            sql: self.text.as_ref()?,
            is_whole: self.is_whole,
            database: self.database.as_deref().unwrap_or_default(),
            has_no_escapes: self.has_no_escapes,
            error: self.error,
        })
    }
}

impl Login {
    fn put<'l>(&'l self, fields: &mut Fields<'l>, escaped: &mut Vec<&'static str>) {
        fields.event = match self.is_change {
            false => "login",
            true => "change_user",
        };
        fields.backend = &self.backend;
        let database = self.database.as_deref().unwrap_or_default();
        if !database.is_empty() {
            fields.database = Some(name("database", database, escaped));
        }
        fields.tls = Some(self.is_tls);
        fields.ok = Some(self.refused.is_none());
        fields.reason = self.refused;
        fields.error = self.error;
    }
}

fn name<'l>(field: &'static str, name: &'l [u8], escaped: &mut Vec<&'static str>) -> Cow<'l, str> {
    readable(field, name.get(..NAME_BYTES).unwrap_or(name), escaped)
}

/// A text as it is if it is UTF-8. Otherwise each byte that is not becomes `\xNN` and each backslash two, and its field is among those
/// that are escaped: so no byte is lost.
fn readable<'l>(
    field: &'static str,
    bytes: &'l [u8],
    escaped: &mut Vec<&'static str>,
) -> Cow<'l, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    escaped.push(field);
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    Cow::Owned(text)
}

/// UTC, as RFC 3339 has it, with microseconds; a clock that shows a year no date has, the year 1970.
fn time(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.6}")
}

fn write(fields: &Fields<'_>, lines: &mut Vec<u8>) {
    let start = lines.len();
    let mut serializer = Serializer::with_formatter(&mut *lines, OneLine(CompactFormatter));
    // A vector takes everything, and every key is a string.
    match fields.serialize(&mut serializer) {
        Ok(()) => lines.push(b'\n'),
        Err(_) => lines.truncate(start),
    }
}

/// JSON without what some readers of lines take for the end of one, and terminals for a command: control characters beyond ASCII, and
/// the line ends of Unicode.
struct OneLine(CompactFormatter);

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| byte < 0x7F) {
            return self.0.write_string_fragment(writer, fragment);
        }
        let is_end = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
        for part in fragment.split_inclusive(is_end) {
            let Some(last) = part.chars().next_back().filter(|last| is_end(*last)) else {
                self.0.write_string_fragment(writer, part)?;
                continue;
            };
            let before = part.get(..part.len() - last.len_utf8());
            self.0
                .write_string_fragment(writer, before.unwrap_or_default())?;
            write!(writer, "\\u{:04x}", u32::from(last))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
