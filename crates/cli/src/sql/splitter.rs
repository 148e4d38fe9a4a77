//! Splits a text at the `;` that end statements.

use std::io::{self, BufRead};

/// Reads statements, one in memory at a time. Knows literals, quoted names and comments, so that a `;` in one of them
/// ends nothing; DELIMITER is not known.
pub(super) struct Splitter<R> {
    reader: R,
    /// Line feeds that were read.
    lines: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    /// Behind a `-`, which may begin a comment.
    Dash,
    /// Behind `--`: a comment if a space or a control character follows.
    Dashes,
    /// Behind a `/`, which may begin a comment.
    Slash,
    /// In a comment to the end of its line.
    Line,
    /// In a comment to `*/`, which began at `start`.
    Block {
        start: usize,
        star: bool,
    },
    /// In a literal or a quoted name. Its quote doubled ends it and begins it again, which comes to the same.
    Quote {
        quote: u8,
        escaped: bool,
    },
}

impl<R: BufRead> Splitter<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, lines: 0 }
    }

    /// The next statement without its `;`, and the line where it starts. What holds nothing but comments is passed over;
    /// comments that servers execute, as `/*!40101 ... */`, count as statements.
    pub(super) fn next(&mut self, backslash_escapes: bool) -> io::Result<Option<(Vec<u8>, u64)>> {
        let mut statement = Statement {
            text: Vec::new(),
            line: 0,
            has_content: false,
            state: State::Plain,
        };
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                statement.end_of_input();
                return Ok(statement.into_found());
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in piece {
                used += 1;
                if statement.text.is_empty() && byte.is_ascii_whitespace() {
                    self.lines += u64::from(byte == b'\n');
                    continue;
                }
                if statement.text.is_empty() {
                    statement.line = self.lines + 1;
                }
                self.lines += u64::from(byte == b'\n');
                if statement.push(byte, backslash_escapes) {
                    ended = true;
                    break;
                }
            }
            self.reader.consume(used);
            if ended {
                if statement.has_content {
                    return Ok(statement.into_found());
                }
                statement = Statement {
                    text: Vec::new(),
                    line: 0,
                    has_content: false,
                    state: State::Plain,
                };
            }
        }
    }
}

struct Statement {
    text: Vec<u8>,
    line: u64,
    /// There is more than comments.
    has_content: bool,
    state: State,
}

impl Statement {
    /// Takes one byte; whether it ended the statement.
    fn push(&mut self, byte: u8, backslash_escapes: bool) -> bool {
        let at = self.text.len();
        match (self.state, byte) {
            (State::Line, b'\n') => self.state = State::Plain,
            (State::Line, _) => {}
            (State::Block { start, star: true }, b'/') => {
                self.has_content |= is_executed(&self.text[start..]);
                self.state = State::Plain;
            }
            (State::Block { start, .. }, _) => {
                // The star that opens the comment does not close it.
                self.state = State::Block {
                    start,
                    star: byte == b'*' && at > start + 1,
                };
            }
            (
                State::Quote {
                    quote,
                    escaped: true,
                },
                _,
            ) => {
                self.state = State::Quote {
                    quote,
                    escaped: false,
                };
            }
            (State::Quote { quote, .. }, b'\\') if backslash_escapes && quote != b'`' => {
                self.state = State::Quote {
                    quote,
                    escaped: true,
                };
            }
            (State::Quote { quote, .. }, _) if byte == quote => self.state = State::Plain,
            (State::Quote { .. }, _) => {}
            (State::Dash, b'-') => self.state = State::Dashes,
            (State::Dashes, b'\n') => self.state = State::Plain,
            (State::Dashes, byte) if byte <= b' ' => self.state = State::Line,
            (State::Slash, b'*') => {
                self.state = State::Block {
                    start: at - 1,
                    star: false,
                }
            }
            (state, byte) => {
                self.has_content |= state != State::Plain;
                return self.push_plain(byte);
            }
        }
        self.text.push(byte);
        false
    }

    fn push_plain(&mut self, byte: u8) -> bool {
        self.state = match byte {
            b';' => return true,
            b'-' => State::Dash,
            b'/' => State::Slash,
            b'#' => State::Line,
            b'\'' | b'"' | b'`' => State::Quote {
                quote: byte,
                escaped: false,
            },
            _ => State::Plain,
        };
        self.has_content |= match self.state {
            State::Quote { .. } => true,
            State::Plain => !byte.is_ascii_whitespace(),
            _ => false,
        };
        self.text.push(byte);
        false
    }

    /// What was only begun is left to the server to complain about.
    fn end_of_input(&mut self) {
        self.has_content |= match self.state {
            State::Dash | State::Slash => true,
            State::Block { start, .. } => is_executed(&self.text[start..]),
            _ => false,
        };
    }

    fn into_found(mut self) -> Option<(Vec<u8>, u64)> {
        let len = self.text.trim_ascii_end().len();
        self.text.truncate(len);
        self.has_content.then_some((self.text, self.line))
    }
}

/// `/*!` is executed by MySQL and MariaDB, `/*M!` by MariaDB.
fn is_executed(comment: &[u8]) -> bool {
    comment.starts_with(b"/*!") || comment.starts_with(b"/*M!")
}

#[cfg(test)]
mod tests;
