//! Where statements come from.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, StdinLock};

use super::splitter::Splitter;
use crate::failure::{Failure, say};

/// Statements one after the other.
pub(super) enum Source {
    Arguments {
        left: std::vec::IntoIter<OsString>,
        total: usize,
        taken: usize,
    },
    Input {
        splitter: Splitter<StdinLock<'static>>,
        taken: usize,
    },
}

/// A statement and where it was found.
#[derive(Debug)]
pub(super) struct Statement {
    /// As it was found: a dump has the bytes of its BLOBs in it.
    pub(super) sql: Vec<u8>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Only,
    Argument { number: usize },
    Input { number: usize, line: u64 },
}

impl Source {
    /// The arguments, or standard input where there is none.
    pub(super) fn new(arguments: Vec<OsString>) -> Self {
        if !arguments.is_empty() {
            return Self::Arguments {
                total: arguments.len(),
                left: arguments.into_iter(),
                taken: 0,
            };
        }
        let stdin = io::stdin();
        if stdin.is_terminal() {
            say("reading statements from the terminal; ';' ends each, Ctrl-D the input");
        }
        Self::Input {
            splitter: Splitter::new(stdin.lock()),
            taken: 0,
        }
    }

    /// The next statement. `backslash_escapes`: whether the session takes a backslash in a literal for an escape.
    pub(super) fn next(&mut self, backslash_escapes: bool) -> Result<Option<Statement>, Failure> {
        match self {
            Self::Arguments { left, total, taken } => {
                *taken += 1;
                let place = if *total == 1 {
                    Place::Only
                } else {
                    Place::Argument { number: *taken }
                };
                Ok(left.next().map(|argument| Statement {
                    sql: argument.into_encoded_bytes(),
                    place,
                }))
            }
            Self::Input { splitter, taken } => {
                let found = splitter.next(backslash_escapes).map_err(|error| {
                    Failure::other(format!("can't read standard input: {error}"))
                })?;
                let Some(found) = found else {
                    return Ok(None);
                };
                *taken += 1;
                Ok(Some(Statement {
                    sql: found.sql,
                    place: Place::Input {
                        number: *taken,
                        line: found.line,
                    },
                }))
            }
        }
    }
}

impl Statement {
    /// Whether there is more than one place where it could be.
    pub(super) fn place(&self) -> Option<&dyn fmt::Display> {
        match self.place {
            Place::Only => None,
            _ => Some(self),
        }
    }
}

/// Characters of a statement that are shown with its error.
const SHOWN: usize = 60;

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Only => {}
            Place::Argument { number } => write!(f, "statement {number}: ")?,
            Place::Input { number, line } => {
                write!(f, "statement {number}, line {line} of the input: ")?
            }
        }
        const LONGEST_CHARACTER: usize = 4;
        let most = self.sql.len().min((SHOWN + 1) * LONGEST_CHARACTER);
        let text = String::from_utf8_lossy(&self.sql[..most]);
        let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let start: String = characters.by_ref().take(SHOWN).collect();
        write!(
            f,
            "{start}{}",
            if characters.next().is_some() {
                "…"
            } else {
                ""
            }
        )
    }
}
