//! Lines from a terminal, with history, completion and help.

mod completion;
mod help;
mod hint;
mod secret;

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal};

use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use crate::failure::Failure;
use crate::prompt::{self, Above, ColorMode, Prompt};

/// Words that are for us, and that no server knows. QUIT is one of its commands, and ours too.
const OWN_COMMANDS: [&str; 2] = ["exit", "help"];

/// Reads lines from the terminal.
pub(super) struct Lines(Prompt<Commands>);

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
        let shows_hints = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // Without colours too a password is covered, which is what the editor calls one.
        let colours = match io::stdout().is_terminal() {
            true => ColorMode::Forced,
            false => ColorMode::Enabled,
        };
        let commands = Commands {
            shows_hints,
            above: None,
        };
        let mut prompt = Prompt::new(commands, "valkey_history", colours)?;
        let above = prompt.above();
        if let Some(commands) = prompt.helper_mut() {
            commands.above = above;
        }
        Ok(Self(prompt))
    }

    /// The next line.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Typed, Failure> {
        let line = match self.0.next(&(prompt.to_owned(), prompt.to_owned()), "")? {
            prompt::Typed::Line(line) => line,
            prompt::Typed::Nothing => return Ok(Typed::Nothing),
            prompt::Typed::End => return Ok(Typed::End),
        };
        if !secret::holds_secret(&line) {
            self.0.remember(&line);
        }
        let trimmed = line.trim();
        let (word, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        Ok(match word.to_ascii_lowercase().as_str() {
            "" => Typed::Nothing,
            "quit" | "exit" if rest.is_empty() => Typed::End,
            "help" | "?" => Typed::Help(help::text(rest)),
            _ => Typed::Line(line),
        })
    }
}

struct Commands {
    /// Without colour nothing would tell a hint from what was typed.
    shows_hints: bool,
    /// Where candidates are listed.
    above: Option<Above>,
}

impl Completer for Commands {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (start, candidates) = completion::complete(&line[..at]);
        let candidates = match &self.above {
            Some(above) => above.offer(&line[start..at], candidates),
            None => candidates,
        };
        Ok((start, candidates))
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
    /// A password is not to be read over a shoulder.
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        secret::masked(line)
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        secret::begins(line).is_some()
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[2m{hint}\x1b[0m"))
    }
}

impl Validator for Commands {}
impl Helper for Commands {}
