//! What happens while somebody types: completion, suggestions, colours, and whether Enter begins a new line.

use std::borrow::Cow;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};

use super::names::Names;
use super::{completion, favourites, highlight, typed};
use crate::output::style::{ABSENT, around};
use crate::prompt::Above;
use crate::sql::splitter::Open;

/// What is known of the session while somebody types.
pub(super) struct Typing {
    pub(super) names: Names,
    /// Colours; suggestions too, for nothing else tells them from what was typed.
    pub(super) colours: bool,
    pub(super) delimiter: String,
    pub(super) backslash_escapes: bool,
    /// Where candidates are listed.
    pub(super) above: Option<Above>,
}

impl Typing {
    fn open(&self, text: &str) -> Open {
        typed::split(text, &self.delimiter, self.backslash_escapes).open
    }

    /// What a statement of several lines waits for. In a quote or a comment it stays there on each line, as nothing that is
    /// typed has its usual meaning.
    fn what_is_open(&self, text: &str) -> Option<String> {
        let is_new_line = text.ends_with('\n');
        let gap = if is_new_line { "" } else { "   " };
        Some(match self.open(text) {
            Open::Statement if is_new_line => {
                format!("{} runs it, Ctrl-C clears it", self.delimiter)
            }
            Open::Quote(quote) => format!("{gap}inside of {quote}"),
            Open::Comment => format!("{gap}inside of /*"),
            Open::Nothing | Open::Statement => return None,
        })
    }
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let typed = line[..at].trim_start();
        if typed.starts_with("\\. ") || typed.starts_with("\\T ") || is_source(typed) {
            return FilenameCompleter::new().complete(line, at, context);
        }
        let (start, names) = match favourite(typed) {
            Some(name) => {
                let names = favourites::names().into_iter();
                (
                    at - name.len(),
                    names.filter(|other| other.starts_with(name)).collect(),
                )
            }
            None => completion::complete(line, at, &self.names),
        };
        let names = match &self.above {
            Some(above) => above.offer(&line[start..at], names),
            None => names,
        };
        let pair = |name: String| Pair {
            display: name.clone(),
            replacement: name,
        };
        Ok((start, names.into_iter().map(pair).collect()))
    }
}

/// The start of a favourite's name.
fn favourite(line: &str) -> Option<&str> {
    let name = line
        .strip_prefix("\\f ")
        .or_else(|| line.strip_prefix("\\fd "))?;
    Some(name.trim_start()).filter(|name| !name.contains(char::is_whitespace))
}

fn is_source(line: &str) -> bool {
    let word = line
        .split_once(char::is_whitespace)
        .map_or("", |(word, _)| word);
    word.eq_ignore_ascii_case("source") || word.eq_ignore_ascii_case("tee")
}

/// What stands dimmed behind the cursor.
pub(super) struct Suggestion {
    shown: String,
    /// Taken with the key for the end of the line.
    taken: Option<String>,
}

impl Hint for Suggestion {
    fn display(&self) -> &str {
        &self.shown
    }

    fn completion(&self) -> Option<&str> {
        self.taken.as_deref()
    }
}

impl Hinter for Typing {
    type Hint = Suggestion;

    fn hint(&self, line: &str, at: usize, context: &Context<'_>) -> Option<Suggestion> {
        if !line.is_empty() {
            self.names.prefetch();
        }
        if !self.colours || at < line.len() || line.trim().is_empty() {
            return None;
        }
        if line.contains('\n')
            && let Some(shown) = self.what_is_open(line)
        {
            return Some(Suggestion { shown, taken: None });
        }
        let taken = HistoryHinter::new().hint(line, at, context)?;
        let shown = match taken.split_once('\n') {
            Some((first, _)) => format!("{first} …"),
            None => taken.clone(),
        };
        Some(Suggestion {
            shown,
            taken: Some(taken),
        })
    }
}

impl Highlighter for Typing {
    fn highlight<'l>(&self, line: &'l str, _at: usize) -> Cow<'l, str> {
        match self.colours {
            true => highlight::highlight(line),
            false => Cow::Borrowed(line),
        }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        let (start, end) = around(ABSENT, self.colours);
        Cow::Owned(format!("{start}{hint}{end}"))
    }

    /// A key can change the colour of all that follows it.
    fn highlight_char(&self, line: &str, _at: usize, kind: CmdKind) -> bool {
        self.colours && kind != CmdKind::MoveCursor && highlight::is_coloured(line)
    }
}

impl Validator for Typing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        Ok(match self.open(context.input()) {
            Open::Nothing => ValidationResult::Valid(None),
            _ => ValidationResult::Incomplete,
        })
    }
}

impl Helper for Typing {}
