//! Lines from a terminal, with history, completion and help.

mod completion;
mod help;
mod hint;
mod history;

use std::borrow::Cow;
use std::env;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::failure::Failure;

/// Words that are for us, and that no server knows. QUIT is one of its commands, and ours too.
const OWN_COMMANDS: [&str; 2] = ["exit", "help"];

/// Lines that are remembered.
const HISTORY: usize = 1_000;

/// Reads lines from the terminal.
pub(super) struct Lines {
    editor: Editor<Commands, FileHistory>,
    file: Option<PathBuf>,
}

/// What was typed.
pub(super) enum Typed {
    /// A line for the server.
    Line(String),
    /// Something to show.
    Help(String),
    /// Nothing: an empty line, or one that Ctrl-C gave up.
    Nothing,
    /// The end.
    End,
}

impl Lines {
    pub(super) fn new() -> Result<Self, Failure> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .history_ignore_space(true)
            .max_history_size(HISTORY)
            .map_err(failed)?
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        let shows_hints = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        editor.set_helper(Some(Commands { shows_hints }));
        let file = history::file();
        if let Some(file) = &file {
            // There is none yet, the first time.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, file })
    }

    /// The next line.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Typed, Failure> {
        let line = match self.editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => return Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => return Ok(Typed::End),
            Err(error) => return Err(failed(error)),
        };
        self.remember(&line);
        let trimmed = line.trim();
        let (word, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        Ok(match word.to_ascii_lowercase().as_str() {
            "" => Typed::Nothing,
            "quit" | "exit" if rest.is_empty() => Typed::End,
            "help" | "?" => Typed::Help(help::text(rest)),
            _ => Typed::Line(line),
        })
    }

    /// Written at once: another session, or a crash, must not lose it. A history that can't be written is no reason to
    /// fail.
    fn remember(&mut self, line: &str) {
        if history::holds_secret(line) || !self.editor.add_history_entry(line).unwrap_or(false) {
            return;
        }
        if let Some(file) = &self.file {
            let _ = self.editor.append_history(file);
        }
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::other(format!("can't read from the terminal: {error}"))
}

struct Commands {
    /// Without colour nothing would tell a hint from what was typed.
    shows_hints: bool,
}

impl Completer for Commands {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completion::complete(&line[..at]))
    }
}

impl Hinter for Commands {
    type Hint = Usage;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<Usage> {
        if at < line.len() || !self.shows_hints {
            return None;
        }
        hint::hint(line).map(|hint| Usage(cut(hint)))
    }
}

/// Characters of a hint: where it goes over the line's end the screen is drawn again with each key.
const HINT: usize = 60;

fn cut(mut hint: String) -> String {
    if let Some((at, _)) = hint.char_indices().nth(HINT) {
        hint.truncate(at);
        hint.push('…');
    }
    hint
}

/// Names of arguments that are missing.
struct Usage(String);

impl Hint for Usage {
    fn display(&self) -> &str {
        &self.0
    }

    /// Nobody wants the names themselves.
    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Highlighter for Commands {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[2m{hint}\x1b[0m"))
    }
}

impl Validator for Commands {}
impl Helper for Commands {}
