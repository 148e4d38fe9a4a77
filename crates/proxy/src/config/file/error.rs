//! What is wrong with a file: where, what, and what was probably meant.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::DEFAULTS;

/// Why a file is not a valid configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    path: PathBuf,
    /// Line and column, from 1 on.
    place: Option<(usize, usize)>,
    message: String,
    hint: Option<String>,
}

/// The same, before it is known where in the text it is.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl FileError {
    pub(super) fn new(path: &Path, text: &str, problem: Problem) -> Self {
        Self {
            path: path.to_owned(),
            place: problem.span.map(|span| place(text, span.start)),
            message: problem.message,
            hint: problem.hint,
        }
    }

    /// Returns the line number, from 1, if the error is in one line.
    pub fn line(&self) -> Option<usize> {
        self.place.map(|(line, _)| line)
    }

    /// Returns what was probably meant, or the possible values.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FileError {}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            span: None,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span: Some(span),
            ..Self::new(message)
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Problem {
    /// The parser's own words, with a hint where a key or table is not where it belongs, or a word is none of those that it
    /// knows. Its display is not used: it shows the line, in which there may be a password.
    pub(super) fn parsing(error: &toml::de::Error, text: &str) -> Self {
        let span = error.span();
        let line = span.as_ref().map_or("", |span| line(text, span.start));
        // Some of its messages have several lines.
        let message = error.message().replace('\n', ", ");
        let (message, hint) = header(&message, line).unwrap_or_else(|| reword(&message));
        Self {
            span,
            message,
            hint,
        }
    }
}

/// A table that is written as a list of tables, or the other way round.
fn header(message: &str, line: &str) -> Option<(String, Option<String>)> {
    if !message.starts_with("invalid type: ") {
        return None;
    }
    let line = line.trim_end();
    let (name, brackets) = match line.strip_prefix("[[") {
        Some(rest) => (rest.strip_suffix("]]")?, 2),
        None => (line.strip_prefix('[')?.strip_suffix(']')?, 1),
    };
    let table = tables().find(|table| table.name() == name)?;
    let is_list = table.header.starts_with("[[");
    let why = match (is_list, brackets) {
        (true, 1) => "there may be several of them",
        (false, 2) => "there is one of them",
        _ => return None,
    };
    let message = format!("`{line}` has to be written as `{}`", table.header);
    Some((message, Some(why.to_owned())))
}

fn reword(message: &str) -> (String, Option<String>) {
    if let Some(rest) = message.strip_prefix("missing field ") {
        return (format!("{rest} is missing"), None);
    }
    for (theirs, ours) in [
        ("unknown field ", "unknown key"),
        ("unknown variant ", "unknown value"),
    ] {
        let Some(rest) = message.strip_prefix(theirs) else {
            continue;
        };
        let mut words = rest.split('`').skip(1).step_by(2);
        let word = words.next().unwrap_or_default();
        let known: Vec<_> = words.collect();
        let elsewhere = || match ours {
            "unknown key" => elsewhere(word, &known),
            _ => None,
        };
        let nearest = || nearest(word, &known).map(|near| format!("did you mean `{near}`?"));
        let hint = elsewhere()
            .or_else(nearest)
            .unwrap_or_else(|| format!("there is {}", known.join(", ")));
        return (format!("{ours} `{word}`"), Some(hint));
    }
    (message.to_owned(), None)
}

/// A table of the printed file, and its keys.
struct Table {
    /// As it is written, with its brackets; empty for the top of the file.
    header: &'static str,
    keys: Vec<&'static str>,
}

impl Table {
    fn name(&self) -> &'static str {
        self.header.trim_matches(['[', ']'])
    }
}

/// All of them: the printed file has every key.
fn tables() -> impl Iterator<Item = Table> {
    let mut tables = vec![Table {
        header: "",
        keys: Vec::new(),
    }];
    for line in DEFAULTS.lines() {
        let line = line.strip_prefix('#').unwrap_or(line);
        if line.starts_with('[') {
            tables.push(Table {
                header: line,
                keys: Vec::new(),
            });
        } else if line.starts_with(char::is_lowercase)
            && let (Some((key, _)), Some(table)) = (line.split_once(" = "), tables.last_mut())
        {
            table.keys.push(key);
        }
    }
    tables.into_iter()
}

/// Where a key belongs that is not of the table in which it is: `idle-timeout`, or `drain-timeout` for `timeout` of `[drain]`.
fn elsewhere(word: &str, known: &[&str]) -> Option<String> {
    let word = word.to_lowercase().replace('_', "-");
    if known.contains(&word.as_str()) {
        return None;
    }
    let tables: Vec<_> = tables().collect();
    let of = tables
        .iter()
        .filter(|table| table.keys.contains(&word.as_str()));
    let of: Vec<_> = of
        .map(|table| match table.header {
            "" => "the top of the file, before the first table",
            header => header,
        })
        .collect();
    if !of.is_empty() {
        return Some(format!("`{word}` belongs in {}", of.join(" or ")));
    }
    tables.iter().find_map(|table| {
        let name = table.name().rsplit('.').next().unwrap_or_default();
        let key = word.strip_prefix(name)?.strip_prefix('-')?;
        let is_key = !name.is_empty() && table.keys.contains(&key);
        is_key.then(|| format!("it is `{key}` in {}", table.header))
    })
}

/// The known word that `word` was probably meant to be: at most a third of it is otherwise, or it begins or ends like it.
fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_lowercase().replace('_', "-");
    let near = known
        .iter()
        .map(|known| (strsim::levenshtein(&word, known), *known));
    let (distance, near) = near.min()?;
    if distance <= near.len().max(word.len()) / 3 {
        return Some(near);
    }
    let is_part = |known: &&&str| {
        word.len() >= 3
            && (known.starts_with(&word) || known.ends_with(&word) || word.contains(**known))
    };
    known.iter().find(is_part).copied()
}

/// The line in which a byte is.
fn line(text: &str, at: usize) -> &str {
    let at = at.min(text.len());
    let begin = text.get(..at).and_then(|before| before.rfind('\n'));
    let rest = text.get(begin.map_or(0, |begin| begin + 1)..);
    rest.and_then(|rest| rest.lines().next())
        .unwrap_or_default()
}

/// Line and column of a byte, from 1 on.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_known_is_hinted_at() {
        let known = ["listen", "max-connections", "weight", "tls"];
        for (word, near) in [
            ("listn", Some("listen")),
            ("lissten", Some("listen")),
            ("max_connections", Some("max-connections")),
            ("connections", Some("max-connections")),
            ("Weight", Some("weight")),
            ("colour", None),
        ] {
            assert_eq!(nearest(word, &known), near, "{word}");
        }
        assert_eq!(nearest("listen", &[]), None);
    }

    #[test]
    fn places_are_counted_in_letters() {
        let text = "a = 1\nname = \"ö\" b";
        assert_eq!(place(text, 0), (1, 1));
        assert_eq!(place(text, 6), (2, 1));
        assert_eq!(place(text, text.len() - 1), (2, 12));
        assert_eq!(place(text, 1_000), (2, 13));
    }
}
