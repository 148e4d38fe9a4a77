//! `\f`, `\fs` and `\fd`: statements under a name, in a file.
//!
//! A line of the file is a name, a tab, and the statements, in which a line feed, a tab and a backslash are `\n`, `\t` and `\\`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::message::say;
use super::typed::{self, Item};
use super::{Next, Shell, secret};
use crate::failure::Failure;
use crate::output::text::{Lines, push_visible};
use crate::prompt;
use crate::sql::splitter::Open;

/// A file that is longer was not written here: 1 MiB.
const LONGEST: u64 = 1 << 20;

/// What a command does with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Favourite {
    List,
    Run(String),
    Save {
        name: String,
        /// The last statement where it is empty.
        sql: String,
    },
    Delete(String),
}

impl Shell {
    pub(super) fn favourite(&mut self, favourite: Favourite) -> Result<Next, Failure> {
        let done = match favourite {
            Favourite::List => return self.list_favourites(),
            Favourite::Run(name) => match self.favourite_named(&name) {
                Ok(items) => return self.all(&items),
                Err(why) => Err(why),
            },
            Favourite::Save { name, sql } if sql.is_empty() => {
                self.save_favourite(&name, &self.last)
            }
            Favourite::Save { name, sql } => self.save_favourite(&name, &sql),
            Favourite::Delete(name) => delete(&name),
        };
        match done {
            Ok(text) => say(&text),
            Err(why) => {
                say(&format!("error: {why}"));
                return Ok(Next::Stop);
            }
        }
        Ok(Next::Go)
    }

    fn list_favourites(&mut self) -> Result<Next, Failure> {
        let all = match read() {
            Ok(all) => all,
            Err(why) => {
                say(&format!("error: {why}"));
                return Ok(Next::Stop);
            }
        };
        if all.is_empty() {
            say(
                "there are no favourites; \\fs NAME STATEMENT makes one, \\fs NAME of the last statement",
            );
            return Ok(Next::Go);
        }
        let width = all.keys().map(|name| name.chars().count()).max();
        let mut text = String::new();
        for (name, sql) in &all {
            let width = width.unwrap_or_default();
            let _ = write!(text, "{name:<width$}  ");
            push_visible(sql, Lines::Escaped, &mut text);
            text.push('\n');
        }
        self.show(&text)?;
        Ok(Next::Go)
    }

    /// The statements of that name, which are shown.
    fn favourite_named(&self, name: &str) -> Result<Vec<Item>, String> {
        let all = read()?;
        let Some(sql) = all.get(name) else {
            return Err(format!(
                "there is no favourite {name}; \\f lists those that there are"
            ));
        };
        let items = self.statements(sql)?;
        let mut text = String::from("> ");
        push_visible(sql, Lines::Kept, &mut text);
        say(&text);
        Ok(items)
    }

    fn save_favourite(&self, name: &str, sql: &str) -> Result<String, String> {
        if sql.is_empty() {
            return Err(format!(
                "there is no statement yet; write \\fs {name} STATEMENT"
            ));
        }
        self.statements(sql)?;
        if secret::holds_secret(sql) {
            return Err("statements with a password are not stored".into());
        }
        let mut all = read()?;
        let is_new = all.insert(name.to_owned(), sql.to_owned()).is_none();
        write(&all)?;
        let verb = if is_new { "stored" } else { "replaced" };
        Ok(format!("{verb}; \\f {name} runs it"))
    }

    /// Of statements alone: a favourite runs no programs.
    fn statements(&self, sql: &str) -> Result<Vec<Item>, String> {
        // Each is ended here, whatever the session's delimiter.
        let ended = format!("{sql}\n;");
        let split = typed::split(&ended, ";", self.backslash_escapes());
        let is_statement = |item: &Item| matches!(item, Item::Statement { .. });
        match split.open {
            Open::Quote(quote) => Err(format!("the statement ends inside of {quote}")),
            Open::Comment => Err("the statement ends inside of /*".into()),
            _ if split.items.is_empty() || !split.items.iter().all(is_statement) => {
                Err("a favourite consists of statements, and not of commands".into())
            }
            _ => Ok(split.items),
        }
    }
}

fn delete(name: &str) -> Result<String, String> {
    let mut all = read()?;
    if all.remove(name).is_none() {
        return Err(format!(
            "there is no favourite {name}; \\f lists those that there are"
        ));
    }
    write(&all)?;
    Ok("deleted".into())
}

/// Their names, for completion.
pub(super) fn names() -> Vec<String> {
    read().unwrap_or_default().into_keys().collect()
}

/// Read again each time: another shell may have changed them.
fn read() -> Result<BTreeMap<String, String>, String> {
    let path = prompt::state_file("sql_favourites").ok_or(NO_FOLDER)?;
    let fail = |error: io::Error| format!("can't read {}: {error}", path.display());
    match fs::metadata(&path) {
        Ok(metadata) if metadata.len() > LONGEST => {
            return Err(format!("{} is longer than 1 MiB", path.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        found => found.map_err(fail)?,
    };
    let text = fs::read_to_string(&path).map_err(fail)?;
    let line = |line: &str| {
        let (name, sql) = line.split_once('\t')?;
        Some((name.to_owned(), unescaped(sql)))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Written as a whole beside it, and then in its place: nothing is lost by an interruption.
fn write(all: &BTreeMap<String, String>) -> Result<(), String> {
    let path = prompt::state_file("sql_favourites").ok_or(NO_FOLDER)?;
    let mut text = String::new();
    for (name, sql) in all {
        let _ = writeln!(text, "{name}\t{}", escaped(sql));
    }
    let beside = path.with_extension("new");
    let written = write_own(&beside, &text).and_then(|()| fs::rename(&beside, &path));
    written.map_err(|error| format!("can't write {}: {error}", path.display()))
}

/// Readable by the user alone: statements hold values.
fn write_own(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    options.mode(0o600).open(path)?.write_all(text.as_bytes())
}

const NO_FOLDER: &str = "there is no place for favourites: set HOME or XDG_STATE_HOME";

fn escaped(sql: &str) -> String {
    sql.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
        .replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut sql = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            sql.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => sql.push('\n'),
            Some('t') => sql.push('\t'),
            Some('r') => sql.push('\r'),
            other => sql.extend(other),
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_of_any_characters_is_one_line_of_the_file() {
        for sql in ["SELECT 1", "a\nb\tc\\n\r\\", "'\\\\'", ""] {
            let line = escaped(sql);
            assert!(!line.contains(['\n', '\t', '\r']), "{line}");
            assert_eq!(unescaped(&line), sql);
        }
    }
}
