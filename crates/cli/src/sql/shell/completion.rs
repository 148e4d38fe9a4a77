//! What a text may continue with at the cursor.

mod context;
mod words;

use context::{Context, Expected, Relation};
pub(super) use words::is_keyword;

use super::command;
use super::names::{Known, Names};
use super::similar::similar;

/// What may stand at the cursor, and where it begins. Waits a moment for names that are being read.
pub(super) fn complete(text: &str, at: usize, names: &Names) -> (usize, Vec<String>) {
    let line = text[..at].trim_start();
    let is_command = line.starts_with('\\') && !line.contains('\n');
    if is_command && !line.contains(char::is_whitespace) {
        return (at - line.len(), commands(line));
    }
    let mut context = Context::of(text, at);
    if is_command {
        context.expected = match line.split_whitespace().next() {
            Some("\\u") => Expected::Database,
            Some("\\d" | "\\ddl") => Expected::Relation,
            Some("\\watch") => context.expected,
            _ => Expected::Nothing,
        };
    }
    let known = names.known(&wanted(&context));
    let candidates = Candidates {
        context: &context,
        known: &known,
        found: Vec::new(),
    };
    (context.start, candidates.all())
}

fn commands(start: &str) -> Vec<String> {
    let letters = command::table().map(|entry| entry.letters);
    letters
        .filter(|letters| !letters.is_empty() && letters.starts_with(start))
        .map(str::to_owned)
        .collect()
}

/// The databases and tables whose names are needed: of the database that is in use where that is `None`.
fn wanted(context: &Context) -> Vec<(Option<String>, Option<String>)> {
    let mut wanted = Vec::new();
    match (context.expected, &context.qualifiers[..]) {
        (Expected::Nothing | Expected::Start | Expected::Keyword, []) => return wanted,
        (Expected::Relation, [database]) => wanted.push((Some(database.clone()), None)),
        (_, [database, table]) => wanted.push((Some(database.clone()), Some(table.clone()))),
        _ => wanted.push((None, None)),
    }
    let tables = context.relations.iter();
    wanted.extend(tables.map(|table| (table.database.clone(), Some(table.name.clone()))));
    wanted
}

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Database,
    Relation,
    Column,
    Routine,
}

/// The name that was meant by one that is not there: `shop.custmer`, `c.nam`.
pub(super) fn meant(name: &str, kind: Name, sql: &str, names: &Names) -> Option<String> {
    let context = Context::of(sql, sql.len());
    let (qualifier, last) = match name.rsplit_once('.') {
        Some((qualifier, last)) => (Some(qualifier), last),
        None => (None, name),
    };
    let tables = context.relations.iter();
    let tables = tables.map(|table| (table.database.clone(), Some(table.name.clone())));
    let wanted: Vec<_> = match kind {
        Name::Relation => vec![(qualifier.map(str::to_owned), None)],
        _ => [(None, None)].into_iter().chain(tables).collect(),
    };
    let known = names.known(&wanted);
    let columns = |relation: &Relation| {
        known
            .columns(relation.database.as_deref(), &relation.name)
            .to_vec()
    };
    let candidates: Vec<String> = match kind {
        Name::Database => known.databases().to_vec(),
        Name::Relation => known.relations(qualifier).to_vec(),
        Name::Routine => known.routines().to_vec(),
        Name::Column => context.relations.iter().flat_map(columns).collect(),
    };
    similar(last, candidates.iter()).map(|name| written(name, false))
}

struct Candidates<'c> {
    context: &'c Context,
    known: &'c Known,
    found: Vec<String>,
}

impl Candidates<'_> {
    fn all(mut self) -> Vec<String> {
        let known = self.known;
        match (self.context.expected, &self.context.qualifiers[..]) {
            (Expected::Nothing, _) => {}
            (Expected::Start, []) => self.keywords(words::starts()),
            (Expected::Database, _) => self.names(known.databases()),
            (Expected::Relation, []) => {
                self.names(known.relations(None));
                self.names(known.databases());
                // SELECT behind INTO t, IF EXISTS, and so on.
                if self.found.is_empty() {
                    self.keywords(words::keywords());
                }
            }
            (Expected::Relation, [database, ..]) => self.names(known.relations(Some(database))),
            (_, [database, table]) => self.names(known.columns(Some(database), table)),
            (_, [qualifier]) => self.behind(qualifier),
            (Expected::Column, _) => self.columns(),
            (Expected::Expression, _) => self.expression(),
            (Expected::Keyword, _) => self.keywords(words::keywords()),
            (Expected::Start, _) => {}
        }
        let mut seen = std::collections::HashSet::new();
        self.found.retain(|name| seen.insert(name.clone()));
        self.found
    }

    /// Behind an alias or a table come its columns, behind a database its tables.
    fn behind(&mut self, qualifier: &str) {
        let is_meant = |relation: &&Relation| match &relation.alias {
            Some(alias) => alias.eq_ignore_ascii_case(qualifier),
            None => relation.name.eq_ignore_ascii_case(qualifier),
        };
        match self.context.relations.iter().find(is_meant) {
            Some(relation) => self.names(
                self.known
                    .columns(relation.database.as_deref(), &relation.name),
            ),
            None => {
                self.names(self.known.columns(None, qualifier));
                self.names(self.known.relations(Some(qualifier)));
            }
        }
    }

    fn columns(&mut self) {
        for relation in &self.context.relations {
            self.names(
                self.known
                    .columns(relation.database.as_deref(), &relation.name),
            );
        }
    }

    fn expression(&mut self) {
        self.columns();
        let relations = &self.context.relations;
        // The tables come later: any may be meant.
        if relations.is_empty() {
            self.names(&self.known.all_columns());
        }
        let called = relations
            .iter()
            .map(|relation| relation.alias.as_ref().unwrap_or(&relation.name));
        let called: Vec<String> = called.cloned().collect();
        self.names(&called);
        // Without a letter of theirs they are too many to read.
        if self.context.prefix.is_empty() {
            return;
        }
        self.names(self.known.routines());
        let is_small = self.context.is_small;
        let functions = words::functions().iter().filter(|name| self.is_meant(name));
        let functions = functions.map(|name| in_case(name, is_small) + "(");
        self.found.extend(functions.collect::<Vec<_>>());
        self.keywords(words::keywords());
    }

    fn keywords(&mut self, words: &[&str]) {
        if self.context.is_quoted {
            return;
        }
        let words = words.iter().filter(|word| self.is_meant(word));
        let words = words.map(|word| in_case(word, self.context.is_small));
        self.found.extend(words.collect::<Vec<_>>());
    }

    fn names(&mut self, names: &[String]) {
        let names = names.iter().filter(|name| self.is_meant(name));
        let names = names.map(|name| written(name, self.context.is_quoted));
        self.found.extend(names.collect::<Vec<_>>());
    }

    fn is_meant(&self, word: &str) -> bool {
        let prefix = &self.context.prefix;
        let start = word.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    }
}

fn in_case(word: &str, is_small: bool) -> String {
    match is_small {
        true => word.to_lowercase(),
        false => word.to_owned(),
    }
}

/// A name as a statement has it, in backquotes where it needs them.
pub(super) fn written(name: &str, is_quoted: bool) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let is_bare = name.chars().all(is_plain)
        && name.contains(|c: char| !c.is_ascii_digit())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !words::is_reserved(name);
    match is_bare && !is_quoted {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

#[cfg(test)]
mod tests;
