//! Prepared statements of sessions, and which of them a connection has.
//!
//! A client's id is the proxy's. A statement is known by its text and the state it was prepared in; each connection prepares it when
//! a session first executes it there, and keeps the most recently used ones.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::by_number::ByNumber;
use super::look::{self, Look, Mention, Reading};
use super::refusals::Refused;
use super::rules::Rule;
use super::state::State;
use crate::digests::Known;

/// What a statement is: equal ones of a pool are the same `Arc`.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) sql: Box<[u8]>,
    /// What it was prepared in: schema, character set and `sql_mode` say what it means.
    pub(crate) meaning: State,
    /// What it says of the session's state.
    pub(crate) look: Look,
    /// Whether it may call a stored function, once somebody had to know.
    calls_stored: OnceLock<bool>,
}

impl Text {
    pub(crate) fn new(sql: Box<[u8]>, meaning: State, look: Look) -> Self {
        Self {
            sql,
            meaning,
            look,
            calls_stored: OnceLock::new(),
        }
    }

    /// What its execution says of the session's state, where changes by stored functions are not reported.
    #[cold]
    pub(crate) fn look_with_calls(&self, reading: Reading) -> Look {
        let may_call = || look::may_call_stored(&self.sql, reading);
        match self.calls_stored.get_or_init(may_call) {
            true => self.look.with(Mention::StoredFunction),
            false => self.look,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.sql == other.sql && self.meaning == other.meaning
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.sql.hash(hasher);
    }
}

/// The texts of all statements of one pool.
#[derive(Debug, Default)]
pub(crate) struct Texts(Mutex<HashSet<Arc<Text>>>);

/// When so many are kept, those that nobody uses are forgotten.
const SWEEP: usize = 1_024;

impl Texts {
    pub(crate) fn intern(&self, text: Text) -> Arc<Text> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(&text) {
            return Arc::clone(known);
        }
        if texts.len() >= SWEEP && texts.len().is_power_of_two() {
            texts.retain(|text| Arc::strong_count(text) > 1);
        }
        let text = Arc::new(text);
        texts.insert(Arc::clone(&text));
        text
    }
}

/// A statement of a client.
#[derive(Debug)]
pub(crate) struct ClientStatement {
    pub(crate) text: Arc<Text>,
    pub(crate) parameters: u16,
    /// The types of the parameters that the client sent last; executions may leave them out.
    pub(crate) types: Option<Box<[u8]>>,
    /// The rule that applies to it, as of this generation of the rules.
    pub(crate) rule: Option<Arc<Rule>>,
    pub(crate) ruled: u64,
    /// Why a value that was sent ahead is lost. The command has no reply: the next execution is answered with it, as servers do.
    pub(crate) lost: Option<Box<Refused>>,
    /// Its digest, once it was executed.
    pub(crate) digest: Option<Known>,
}

/// Clients' ids begin here: no server has given out as many.
const FIRST_STATEMENT: u32 = 1 << 30;

/// A session's statements, by the ids that its client knows.
#[derive(Debug, Default)]
pub(crate) struct ClientStatements {
    statements: ByNumber<u32, ClientStatement>,
    /// 0 before the first one.
    last: u32,
    /// The last prepare has failed: then there is none that was "prepared last".
    has_failed: bool,
}

impl ClientStatements {
    /// The id for a new statement: the proxy's own.
    pub(crate) fn insert(&mut self, statement: ClientStatement) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1).max(FIRST_STATEMENT);
            // The last one is MariaDB's for "prepared last".
            if self.last != u32::MAX && !self.statements.contains_key(&self.last) {
                break;
            }
        }
        self.statements.insert(self.last, statement);
        self.has_failed = false;
        self.last
    }

    /// All of them, by the ids that the client knows; the last one's id; and whether the last prepare has failed.
    pub(crate) fn all(&self) -> (impl Iterator<Item = (u32, &ClientStatement)>, u32, bool) {
        let all = self.statements.iter();
        let all = all.map(|(id, statement)| (*id, statement));
        (all, self.last, self.has_failed)
    }

    /// Those of a session that was elsewhere.
    pub(crate) fn restored(
        all: impl Iterator<Item = (u32, ClientStatement)>,
        last: u32,
        has_failed: bool,
    ) -> Self {
        Self {
            statements: all.collect(),
            last,
            has_failed,
        }
    }

    /// A statement could not be prepared.
    pub(crate) fn note_failed(&mut self) {
        self.has_failed = true;
    }

    /// What the client means by an id.
    pub(crate) fn resolve(&self, id: u32) -> u32 {
        match id {
            u32::MAX if !self.has_failed => self.last,
            id => id,
        }
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut ClientStatement> {
        self.statements.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<ClientStatement> {
        let removed = self.statements.remove(&id);
        if self.statements.is_empty() {
            self.statements = ByNumber::default();
        }
        removed
    }

    pub(crate) fn clear(&mut self) {
        self.statements = ByNumber::default();
    }

    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }
}

/// A statement that a connection has.
#[derive(Debug)]
pub(crate) struct ServerStatement {
    text: Arc<Text>,
    /// The backend's id.
    pub(crate) id: u32,
    /// The types that were bound last.
    pub(crate) types: Option<Box<[u8]>>,
    /// It was executed with a cursor.
    pub(crate) had_cursor: bool,
    used: u64,
}

/// The statements of one connection.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// By the address of the text, which lives as long as its entry.
    statements: ByNumber<usize, ServerStatement>,
    clock: u64,
    /// Ids that the backend is still to be told to close.
    pub(crate) to_close: Vec<u32>,
}

fn address(text: &Arc<Text>) -> usize {
    Arc::as_ptr(text).addr()
}

impl Prepared {
    pub(crate) fn find(&mut self, text: &Arc<Text>) -> Option<&mut ServerStatement> {
        self.clock += 1;
        let found = self.statements.get_mut(&address(text))?;
        found.used = self.clock;
        Some(found)
    }

    pub(crate) fn has(&self, text: &Arc<Text>) -> bool {
        self.statements.contains_key(&address(text))
    }

    /// Whether the backend knows an id.
    pub(crate) fn has_id(&self, id: u32) -> bool {
        self.to_close.contains(&id) || self.statements.values().any(|one| one.id == id)
    }

    /// A statement was prepared; at most `most` are kept.
    pub(crate) fn insert(&mut self, text: &Arc<Text>, id: u32, most: usize) {
        self.clock += 1;
        let statement = ServerStatement {
            text: Arc::clone(text),
            id,
            types: None,
            had_cursor: false,
            used: self.clock,
        };
        if let Some(before) = self.statements.insert(address(text), statement) {
            self.to_close.push(before.id);
        }
        while self.statements.len() > most.max(1) {
            let oldest = self.statements.values().min_by_key(|one| one.used);
            let Some(oldest) = oldest.map(|one| address(&one.text)) else {
                break;
            };
            if let Some(oldest) = self.statements.remove(&oldest) {
                self.to_close.push(oldest.id);
            }
        }
    }

    /// Closes a statement that had a cursor: MySQL 9.7 no longer ends the results of its executions as it should without one.
    pub(crate) fn close_if_it_had_a_cursor(&mut self, text: &Arc<Text>) {
        let has_had = |one: &ServerStatement| one.had_cursor;
        if self.statements.get(&address(text)).is_some_and(has_had) {
            self.close(text);
        }
    }

    /// Has the backend close a statement before the next command.
    pub(crate) fn close(&mut self, text: &Arc<Text>) {
        let id = self.remove(text);
        self.to_close.extend(id);
    }

    pub(crate) fn remove(&mut self, text: &Arc<Text>) -> Option<u32> {
        self.statements.remove(&address(text)).map(|one| one.id)
    }

    /// The backend has forgotten all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
