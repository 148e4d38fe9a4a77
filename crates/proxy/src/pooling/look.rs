//! What the text of a statement says of the session's state: its first words, and a few dozen names.
//!
//! Nothing is copied or allocated. A text that is not understood passes: then the server's trackers say what has changed. What no
//! tracker tells of, on at least one of MariaDB 10.11, 11.8 and MySQL 9.7, is found here: user variables that a query assigns, named
//! locks, `HANDLER`, backup locks, `FLUSH TABLES WITH READ LOCK`, roles, resource groups, sequences.

mod calls;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use calls::may_call_stored;
pub(crate) use words::Reading;
use words::{Hint, Token, Words};

/// What a statement is, by its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Kind {
    Select,
    Change,
    Load,
    Set,
    Call,
    /// `PREPARE`, and `EXECUTE`, which may be that of a text.
    Prepare,
    Deallocate,
    /// `LOCK TABLES`
    Lock,
    /// `UNLOCK TABLES`
    Unlock,
    /// `FLUSH TABLES ... WITH READ LOCK` or `FOR EXPORT`
    Flush,
    /// `BACKUP`, `LOCK INSTANCE`
    Backup,
    /// `HANDLER ... OPEN`
    Handler,
    /// `HANDLER ... CLOSE`
    HandlerClose,
    HandlerRead,
    Xa,
    /// `XA COMMIT` or `XA ROLLBACK`, which succeed in a session that has no other one.
    XaEnd,
    Create,
    Drop,
    Show,
    Kill,
    GetDiagnostics,
    Savepoint,
    /// COMMIT or ROLLBACK.
    End,
    #[default]
    Other,
}

/// What a statement mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mention {
    LastInsertId,
    SetsLastInsertId,
    RowCount,
    FoundRows,
    CalcFoundRows,
    Warnings,
    ConnectionId,
    UserVariable,
    AssignsUserVariable,
    NamedLock,
    Temporary,
    Sequence,
    SessionTrack,
    FreshVariable,
    /// Roles or a resource group of the session are set.
    Role,
    /// Variables that are set for one statement. MariaDB reports them, and that they are set back only with a later statement.
    SetStatement,
    /// `SET @@name = value`, which MariaDB does not report.
    BareVariable,
    /// `COMMIT RELEASE`: the server ends the connection.
    Release,
    /// A statement that makes an insert id, and whose reply does not say so.
    HiddenInsertId,
    /// The trackers that are set, beside `SessionTrack`.
    TracksVariables,
    TracksState,
    TracksTransaction,
    TracksGtids,
    /// `SET NAMES`
    Names,
    /// `DATABASE()`, which in a prepared statement is the schema that it was prepared in.
    Schema,
    /// A statement has tables: servers clear the diagnostics of statements before it.
    Table,
    /// A query that locks rows, changes them, or puts its rows elsewhere.
    Writes,
    /// `BEGIN` or `START TRANSACTION`
    Begins,
    /// `START TRANSACTION READ ONLY`
    ReadOnly,
    /// `/* onecopy: primary */`
    Primary,
    /// `/* onecopy: replica */`
    Replica,
    /// A function may be called that is stored on the server. It is looked for separately, where it matters.
    StoredFunction,
}

const _: () = assert!((Mention::StoredFunction as u32) < u32::BITS);

/// What a query must not mention that a replica can run: what follows it would have to go there, or what came before is needed.
const NOT_ON_REPLICAS: u32 = mask(&[
    Mention::LastInsertId,
    Mention::SetsLastInsertId,
    Mention::RowCount,
    Mention::FoundRows,
    Mention::CalcFoundRows,
    Mention::Warnings,
    Mention::ConnectionId,
    Mention::UserVariable,
    Mention::AssignsUserVariable,
    Mention::NamedLock,
    Mention::Sequence,
    Mention::Role,
    Mention::HiddenInsertId,
    Mention::Writes,
]);

/// Statements that change no rows, unless they mention one of these.
const LOOK_ONLY: u32 = 1 << Kind::Select as u8 | 1 << Kind::Show as u8 | 1 << Kind::Set as u8;
const CHANGES: u32 = mask(&[Mention::Writes, Mention::Sequence, Mention::SetStatement]);

/// What a query may mention that leaves nothing behind.
const LEAVE_NOTHING: u32 = mask(&[
    Mention::LastInsertId,
    Mention::RowCount,
    Mention::FoundRows,
    Mention::Warnings,
    Mention::Schema,
    Mention::Table,
    Mention::Writes,
    Mention::Primary,
    Mention::Replica,
]);

const fn mask(mentions: &[Mention]) -> u32 {
    let (mut mask, mut at) = (0, 0);
    while at < mentions.len() {
        mask |= 1 << mentions[at] as u8;
        at += 1;
    }
    mask
}

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// Of the first statement of the text.
    pub(crate) kind: Kind,
    kinds: u32,
    mentions: u32,
    /// There are more statements behind the first one.
    pub(crate) is_several: bool,
    /// Not all of the text was there.
    pub(crate) is_partial: bool,
}

impl Look {
    pub(crate) fn mentions(self, mention: Mention) -> bool {
        self.mentions & 1 << mention as u8 != 0
    }

    /// The same with a mention that was looked for separately.
    pub(crate) fn with(mut self, mention: Mention) -> Self {
        self.note(mention);
        self
    }

    /// The same without a mention that was dealt with.
    pub(crate) fn without(mut self, mention: Mention) -> Self {
        self.mentions &= !(1 << mention as u8);
        self
    }

    /// Whether one of the text's statements is of this kind.
    pub(crate) fn has(self, kind: Kind) -> bool {
        self.kinds & 1 << kind as u8 != 0
    }

    /// Whether all of them are.
    pub(crate) fn is_only(self, kind: Kind) -> bool {
        self.kinds == 1 << kind as u8
    }

    /// Whether it may change rows, as far as its text tells, or its text is not known: a function that it calls may do so in any case.
    #[inline]
    pub(crate) fn may_change(self) -> bool {
        let of_others = self.kinds & !LOOK_ONLY;
        of_others != 0 || self.kinds == 0 || self.mentions & CHANGES != 0 || self.is_partial
    }

    /// Whether it only reads, as far as its text tells, and leaves nothing behind: a replica can run it. A function that it calls may
    /// still write.
    pub(crate) fn only_reads(self) -> bool {
        let is_query = self.is_only(Kind::Select);
        let begins = self.mentions(Mention::ReadOnly) && !self.is_several;
        (is_query || begins) && self.mentions & NOT_ON_REPLICAS == 0 && !self.is_partial
    }

    /// Whether all that it says is that it is a query: it leaves nothing on its connection but what trackers tell of.
    #[inline]
    pub(crate) fn leaves_nothing(self) -> bool {
        self.is_only(Kind::Select) && self.mentions & !LEAVE_NOTHING == 0
    }

    pub(crate) fn assigns_user_variable(self) -> bool {
        self.mentions(Mention::AssignsUserVariable)
    }

    /// Whether it may ask for the last insert id.
    pub(crate) fn needs_insert_id(self) -> bool {
        self.mentions(Mention::LastInsertId) || self.is_partial
    }

    /// Whether it asks for what the statement before has left beside its rows.
    pub(crate) fn refers_to_last_result(self) -> bool {
        self.refers_to_counts() || self.mentions(Mention::Warnings)
    }

    /// Whether it asks for more of that than warnings and errors.
    pub(crate) fn refers_to_counts(self) -> bool {
        self.mentions(Mention::RowCount)
            || self.mentions(Mention::FoundRows)
            || self.has(Kind::GetDiagnostics)
    }

    fn note(&mut self, mention: Mention) {
        self.mentions |= 1 << mention as u8;
    }
}

/// Looks at a statement, or at several.
pub(crate) fn look(text: &[u8], reading: Reading) -> Look {
    let mut words = Words::new(text, reading);
    let mut gaze = Gaze::default();
    while let Some(token) = words.next() {
        match token {
            Token::Word(word) => gaze.word(word, &words),
            Token::QuotedCall(name) => gaze.function(name, &words),
            Token::SystemVariable(name) => {
                gaze.variable(name);
                if gaze.kind == Some(Kind::Set) && words.is_bare_assignment() {
                    gaze.look.note(Mention::BareVariable);
                }
            }
            Token::UserVariable => {
                let is_assigned = gaze.assigns() || words.is_assignment();
                gaze.look.note(Mention::UserVariable);
                if is_assigned {
                    gaze.look.note(Mention::AssignsUserVariable);
                }
            }
            Token::Hint(Hint::Primary) => gaze.look.note(Mention::Primary),
            Token::Hint(Hint::Replica) => gaze.look.note(Mention::Replica),
            Token::End => {
                gaze.close();
                gaze.kind = None;
                (gaze.before, gaze.has_set) = (None, false);
            }
        }
    }
    gaze.close();
    gaze.look
}

/// Whether a statement begins with these words, in any case.
pub(crate) fn starts_with(text: &[u8], reading: Reading, expected: &[Box<[u8]>]) -> bool {
    let mut words = Words::new(text, reading);
    expected.iter().all(|expected| {
        loop {
            match words.next() {
                Some(Token::Word(word)) => return is(word, expected),
                Some(Token::Hint(_)) => {}
                _ => return false,
            }
        }
    })
}

/// A look under way: what was found, and where in a statement it is.
#[derive(Default)]
struct Gaze<'t> {
    look: Look,
    /// Of the statement under way.
    kind: Option<Kind>,
    before: Option<&'t [u8]>,
    has_set: bool,
    has_kind: bool,
    /// How often FROM was seen in a query, less those of functions and of DUAL.
    tables: i32,
}

impl<'t> Gaze<'t> {
    fn word(&mut self, word: &'t [u8], words: &Words<'_>) {
        match self.kind {
            None => {
                let first = kind(word);
                if first == Kind::Other && (is(word, b"START") || is(word, b"BEGIN")) {
                    self.look.note(Mention::Begins);
                }
                self.kind = Some(first);
            }
            Some(kind) => {
                let refined = self.refined(kind, word);
                self.kind = Some(refined);
            }
        }
        self.has_set |= is(word, b"SET");
        if self.kind == Some(Kind::Select) {
            self.table(word);
        }
        self.name(word, words);
        self.before = Some(word);
    }

    /// A word of a query: whether it has tables.
    fn table(&mut self, word: &[u8]) {
        const OTHERS: [&[u8]; 6] = [
            b"DUAL",
            b"TRIM",
            b"EXTRACT",
            b"SUBSTRING",
            b"SUBSTR",
            b"MID",
        ];
        match word.len() {
            4 if is(word, b"FROM") => self.tables += 1,
            4 if is(word, b"INTO") => self.look.note(Mention::Writes),
            5 if is(word, b"SHARE") => self.look.note(Mention::Writes),
            6 if is(word, b"UPDATE") || is(word, b"DELETE") => self.look.note(Mention::Writes),
            3..=9 if OTHERS.iter().any(|other| is(word, other)) => self.tables -= 1,
            _ => {}
        }
    }

    /// The kind of the statement is known: another one begins.
    fn close(&mut self) {
        let Some(kind) = self.kind else {
            return;
        };
        let kind = match kind {
            Kind::Flush if self.look.kinds & FLUSH_LOCKS == 0 => Kind::Other,
            kind => kind,
        };
        if std::mem::take(&mut self.tables) > 0 {
            self.look.note(Mention::Table);
        }
        self.look.kinds &= !FLUSH_LOCKS;
        self.look.kinds |= 1 << kind as u8;
        match self.has_kind {
            true => self.look.is_several = true,
            false => (self.look.kind, self.has_kind) = (kind, true),
        }
    }

    /// A word behind the first one: what it makes of the statement.
    fn refined(&mut self, kind: Kind, word: &[u8]) -> Kind {
        let is_behind = |name: &[u8]| self.before.is_some_and(|before| is(before, name));
        match kind {
            Kind::Show if is(word, b"WARNINGS") || is(word, b"ERRORS") => {
                self.look.note(Mention::Warnings);
            }
            Kind::End if is(word, b"RELEASE") && !is_behind(b"NO") => {
                self.look.note(Mention::Release);
            }
            // The end of its rows has no insert id.
            Kind::Change if is(word, b"RETURNING") => self.look.note(Mention::HiddenInsertId),
            // As in ANALYZE INSERT and CREATE TABLE ... SELECT.
            Kind::Other if is(word, b"INSERT") || is(word, b"REPLACE") => {
                self.look.note(Mention::HiddenInsertId);
            }
            Kind::Create if is(word, b"SELECT") => self.look.note(Mention::HiddenInsertId),
            // As behind START TRANSACTION.
            Kind::Other
                if self.look.mentions(Mention::Begins)
                    && is_behind(b"READ")
                    && is(word, b"ONLY") =>
            {
                self.look.note(Mention::ReadOnly);
            }
            // These may be names, too: then it is taken for an OPEN.
            Kind::Handler if is_behind(b"OPEN") || is_behind(b"AS") => {}
            Kind::Handler if is(word, b"CLOSE") => return Kind::HandlerClose,
            Kind::Handler if is(word, b"READ") => return Kind::HandlerRead,
            Kind::HandlerClose => return Kind::Handler,
            Kind::HandlerRead if is(word, b"OPEN") || is(word, b"CLOSE") => return Kind::Handler,
            Kind::Xa if is_behind(b"XA") && (is(word, b"COMMIT") || is(word, b"ROLLBACK")) => {
                return Kind::XaEnd;
            }
            Kind::Xa if is_behind(b"XA") && is(word, b"RECOVER") => return Kind::Other,
            // ROLLBACK TO SAVEPOINT ends nothing.
            Kind::End if is(word, b"TO") => return Kind::Other,
            Kind::Lock if is_behind(b"LOCK") && is(word, b"INSTANCE") => return Kind::Backup,
            Kind::Unlock if is(word, b"INSTANCE") => return Kind::Other,
            Kind::Flush if is(word, b"LOCK") || is(word, b"EXPORT") => {
                self.look.kinds |= FLUSH_LOCKS;
            }
            // Also behind a comma, which is no word.
            Kind::Set if is(word, b"NAMES") => self.look.note(Mention::Names),
            Kind::Set if is_behind(b"SET") => match () {
                () if is(word, b"ROLE") || is(word, b"RESOURCE") => self.look.note(Mention::Role),
                () if is(word, b"STATEMENT") => self.look.note(Mention::SetStatement),
                () => {}
            },
            Kind::Set if is_behind(b"SESSION") && is(word, b"AUTHORIZATION") => {
                self.look.note(Mention::Role);
            }
            // What this sets, and what it sets back, are told together.
            Kind::Set
                if self.look.mentions(Mention::SetStatement)
                    && (is(word, b"CALL") || is(word, b"EXECUTE")) =>
            {
                self.look.note(Mention::FreshVariable);
            }
            Kind::Create | Kind::Drop
                if is(word, b"TEMPORARY")
                    && (is_behind(b"CREATE") || is_behind(b"REPLACE") || is_behind(b"DROP")) =>
            {
                self.look.note(Mention::Temporary);
            }
            _ => {}
        }
        const TABLES: [&[u8]; 4] = [b"ALTER", b"CREATE", b"DROP", b"TRUNCATE"];
        if is(word, b"TABLE") && TABLES.iter().any(|name| is_behind(name)) {
            self.look.note(Mention::Table);
        }
        if is(word, b"VALUE") && (is_behind(b"PREVIOUS") || is_behind(b"NEXT")) {
            self.look.note(Mention::Sequence);
        }
        kind
    }

    /// Whether a user variable at this place is set.
    fn assigns(&self) -> bool {
        let is_setting = matches!(
            self.kind,
            Some(Kind::Set | Kind::Call | Kind::Load | Kind::GetDiagnostics)
        );
        // A block of MariaDB's has its statements behind words of its own.
        let is_in_block = self.has_set && self.kind == Some(Kind::Other);
        let is_into = self.before.is_some_and(|word| is(word, b"INTO"));
        is_setting || is_in_block || is_into
    }

    /// A word anywhere. Most differ in length or first letter from all that matter.
    fn name(&mut self, word: &[u8], words: &Words<'_>) {
        const SHORTEST: usize = 6;
        let Some(first) = word.first().map(u8::to_ascii_uppercase) else {
            return;
        };
        if word.len() < SHORTEST
            || !matches!(first, b'C'..=b'I' | b'L' | b'N' | b'P' | b'R'..=b'T' | b'W')
        {
            return;
        }
        if self.kind == Some(Kind::Set) {
            self.variable(word);
        }
        if is(word, b"SQL_CALC_FOUND_ROWS") {
            self.look.note(Mention::CalcFoundRows);
        }
        // Oracle's `s.nextval`, under its sql_mode.
        let is_oracles = [&b"NEXTVAL"[..], b"CURRVAL", b"LASTVAL"].map(|name| is(word, name));
        if is_oracles.contains(&true) && words.is_behind_point(word.len()) {
            self.look.note(Mention::Sequence);
        }
        self.function(word, words);
    }

    fn function(&mut self, name: &[u8], words: &Words<'_>) {
        const FUNCTIONS: [(&[u8], Mention); 13] = [
            (b"DATABASE", Mention::Schema),
            (b"SCHEMA", Mention::Schema),
            (b"LAST_INSERT_ID", Mention::LastInsertId),
            (b"ROW_COUNT", Mention::RowCount),
            (b"FOUND_ROWS", Mention::FoundRows),
            (b"CONNECTION_ID", Mention::ConnectionId),
            (b"GET_LOCK", Mention::NamedLock),
            (b"RELEASE_LOCK", Mention::NamedLock),
            (b"RELEASE_ALL_LOCKS", Mention::NamedLock),
            (b"IS_USED_LOCK", Mention::NamedLock),
            (b"NEXTVAL", Mention::Sequence),
            (b"LASTVAL", Mention::Sequence),
            (b"SETVAL", Mention::Sequence),
        ];
        let Some(mention) = find(&FUNCTIONS, name).filter(|_| words.is_call()) else {
            return;
        };
        self.look.note(mention);
        // With an argument it changes it.
        if mention == Mention::LastInsertId && words.is_call_with_argument() {
            self.look.note(Mention::SetsLastInsertId);
        }
    }

    /// A system variable, which is set where the statement sets anything.
    fn variable(&mut self, name: &[u8]) {
        const READ: [(&[u8], Mention); 5] = [
            (b"LAST_INSERT_ID", Mention::LastInsertId),
            (b"IDENTITY", Mention::LastInsertId),
            (b"WARNING_COUNT", Mention::Warnings),
            (b"ERROR_COUNT", Mention::Warnings),
            (b"PSEUDO_THREAD_ID", Mention::ConnectionId),
        ];
        const SET: [(&[u8], Mention); 9] = [
            (b"LAST_INSERT_ID", Mention::SetsLastInsertId),
            (b"IDENTITY", Mention::SetsLastInsertId),
            (b"TIMESTAMP", Mention::FreshVariable),
            (b"INSERT_ID", Mention::FreshVariable),
            (b"RAND_SEED1", Mention::FreshVariable),
            (b"RAND_SEED2", Mention::FreshVariable),
            (b"GTID_NEXT", Mention::FreshVariable),
            (b"SQL_LOG_BIN", Mention::FreshVariable),
            (b"DEBUG_SYNC", Mention::FreshVariable),
        ];
        const TRACK: &[u8] = b"SESSION_TRACK_";
        if let Some(mention) = find(&READ, name) {
            self.look.note(mention);
        }
        if self.kind != Some(Kind::Set) {
            return;
        }
        if let Some(mention) = find(&SET, name) {
            self.look.note(mention);
        }
        if name.get(..TRACK.len()).is_some_and(|head| is(head, TRACK)) {
            const TRACKERS: [(&[u8], Mention); 4] = [
                (b"SYSTEM_VARIABLES", Mention::TracksVariables),
                (b"STATE_CHANGE", Mention::TracksState),
                (b"TRANSACTION_INFO", Mention::TracksTransaction),
                (b"GTIDS", Mention::TracksGtids),
            ];
            self.look.note(Mention::SessionTrack);
            if let Some(tracker) = find(&TRACKERS, name.get(TRACK.len()..).unwrap_or_default()) {
                self.look.note(tracker);
            }
        }
    }
}

/// While a `FLUSH` is looked at: whether it locks. No kind has this number.
const FLUSH_LOCKS: u32 = 1 << 31;

fn kind(word: &[u8]) -> Kind {
    const KINDS: [(&[u8], Kind); 26] = [
        (b"SELECT", Kind::Select),
        (b"WITH", Kind::Select),
        (b"INSERT", Kind::Change),
        (b"UPDATE", Kind::Change),
        (b"DELETE", Kind::Change),
        (b"REPLACE", Kind::Change),
        (b"LOAD", Kind::Load),
        (b"SET", Kind::Set),
        (b"CALL", Kind::Call),
        (b"PREPARE", Kind::Prepare),
        (b"EXECUTE", Kind::Prepare),
        (b"DEALLOCATE", Kind::Deallocate),
        (b"LOCK", Kind::Lock),
        (b"UNLOCK", Kind::Unlock),
        (b"FLUSH", Kind::Flush),
        (b"BACKUP", Kind::Backup),
        (b"HANDLER", Kind::Handler),
        (b"XA", Kind::Xa),
        (b"CREATE", Kind::Create),
        (b"DROP", Kind::Drop),
        (b"SHOW", Kind::Show),
        (b"KILL", Kind::Kill),
        (b"GET", Kind::GetDiagnostics),
        (b"SAVEPOINT", Kind::Savepoint),
        (b"COMMIT", Kind::End),
        (b"ROLLBACK", Kind::End),
    ];
    find(&KINDS, word).unwrap_or_default()
}

fn find<T: Copy>(names: &[(&[u8], T)], name: &[u8]) -> Option<T> {
    let found = names.iter().find(|(one, _)| is(one, name));
    found.map(|(_, what)| *what)
}

fn is(word: &[u8], name: &[u8]) -> bool {
    word.len() == name.len() && word.eq_ignore_ascii_case(name)
}
