//! Splits a text at the `;` that end statements.

mod statement;

use std::io::{self, BufRead};

pub(super) use statement::{Ending, Open, Rules, Statement};

/// Reads statements, one in memory at a time. Knows literals, quoted names and comments, so that a `;` in one of them
/// ends nothing.
pub(super) struct Splitter<R> {
    reader: R,
    /// Line feeds that were read.
    lines: u64,
    /// What ends a statement, if this is a script with the commands of a shell: DELIMITER, and `\G` in place of `;`.
    delimiter: Option<Vec<u8>>,
}

/// A statement of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Without what ends it.
    pub(super) sql: Vec<u8>,
    /// Where it starts, from 1.
    pub(super) line: u64,
    pub(super) ending: Ending,
}

impl<R: BufRead> Splitter<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            lines: 0,
            delimiter: None,
        }
    }

    /// Knows DELIMITER, `\g` and `\G` too; statements end at `delimiter` until the text changes it.
    pub(super) fn of_script(reader: R, delimiter: &[u8]) -> Self {
        Self {
            reader,
            lines: 0,
            delimiter: Some(delimiter.to_vec()),
        }
    }

    /// The next statement without its `;`, and the line where it starts. What holds nothing but comments is passed over;
    /// comments that servers execute, as `/*!40101 ... */`, count as statements.
    pub(super) fn next(&mut self, backslash_escapes: bool) -> io::Result<Option<Found>> {
        loop {
            let Some((statement, line)) = self.one(backslash_escapes)? else {
                return Ok(None);
            };
            if let Some(delimiter) = statement.delimiter_command() {
                self.delimiter = Some(delimiter.to_vec());
                continue;
            }
            let ending = statement.ending();
            if let Some(sql) = statement.into_sql() {
                return Ok(Some(Found { sql, line, ending }));
            }
            if ending == Ending::Input {
                return Ok(None);
            }
        }
    }

    /// What comes next up to its end, a statement or not, and its line; `None` at the end of the input.
    fn one(&mut self, backslash_escapes: bool) -> io::Result<Option<(Statement, u64)>> {
        let delimiter = self.delimiter.clone();
        let rules = Rules {
            backslash_escapes,
            delimiter: delimiter.as_deref().unwrap_or(b";"),
            has_commands: delimiter.is_some(),
        };
        let mut statement = Statement::default();
        let mut line = 0;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                let is_empty = statement.is_empty();
                statement.end_of_input();
                return Ok((!is_empty).then_some((statement, line)));
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in piece {
                used += 1;
                if statement.is_empty() {
                    line = self.lines + 1;
                }
                self.lines += u64::from(byte == b'\n');
                if statement.push(byte, &rules) {
                    ended = true;
                    break;
                }
            }
            self.reader.consume(used);
            if ended {
                return Ok(Some((statement, line)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
