//! Where a statement ends.

/// What a statement ends at, and what is special in it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sql) struct Rules<'r> {
    /// Whether the session takes a backslash in a literal for an escape.
    pub(in crate::sql) backslash_escapes: bool,
    pub(in crate::sql) delimiter: &'r [u8],
    /// Whether `DELIMITER`, `\g`, `\G` and `\c` are commands, as they are for people.
    pub(in crate::sql) has_commands: bool,
}

/// What ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) enum Ending {
    /// The delimiter, or `\g`.
    Delimiter,
    /// `\G`: the rows are wanted with a line for each column.
    Vertical,
    /// `\c`: it is not to be run.
    Clear,
    /// The end of its line: a DELIMITER command.
    Line,
    /// The end of the text.
    Input,
}

/// What is still open at the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) enum Open {
    Nothing,
    /// A statement that lacks its delimiter.
    Statement,
    /// A literal or a quoted name.
    Quote(char),
    Comment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    /// In a DELIMITER command.
    Command,
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

/// The text of one statement, byte by byte.
#[derive(Debug)]
pub(in crate::sql) struct Statement {
    text: Vec<u8>,
    /// There is more than comments.
    has_content: bool,
    state: State,
    /// Where the text began that is neither quoted nor a comment.
    plain_from: usize,
    ending: Ending,
}

impl Default for Statement {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            has_content: false,
            state: State::Plain,
            plain_from: 0,
            ending: Ending::Input,
        }
    }
}

const DELIMITER: &[u8] = b"delimiter";

impl Statement {
    /// Nothing but white space has arrived.
    pub(in crate::sql) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What ended it.
    pub(in crate::sql) fn ending(&self) -> Ending {
        self.ending
    }

    /// What is open, where it has not ended.
    pub(in crate::sql) fn open(&self) -> Open {
        match self.state {
            State::Quote { quote, .. } => Open::Quote(char::from(quote)),
            State::Block { .. } => Open::Comment,
            State::Dash | State::Slash => Open::Statement,
            _ if self.has_content => Open::Statement,
            _ => Open::Nothing,
        }
    }

    /// The new delimiter, where this is a DELIMITER command.
    pub(in crate::sql) fn delimiter_command(&self) -> Option<&[u8]> {
        let is_command = self.state == State::Command;
        let rest = self.text.get(DELIMITER.len()..)?.trim_ascii();
        let word = rest.split(u8::is_ascii_whitespace).next()?;
        (is_command && !word.is_empty()).then_some(word)
    }

    /// The text without what ended it; `None` where it is nothing but comments.
    pub(in crate::sql) fn into_sql(mut self) -> Option<Vec<u8>> {
        let len = self.text.trim_ascii_end().len();
        self.text.truncate(len);
        (self.has_content && len > 0).then_some(self.text)
    }

    /// Takes one byte; whether it ended the statement. White space in front of it is passed over.
    pub(in crate::sql) fn push(&mut self, byte: u8, rules: &Rules<'_>) -> bool {
        let at = self.text.len();
        if at == 0 && byte.is_ascii_whitespace() {
            return false;
        }
        match (self.state, byte) {
            (State::Command, b'\n') => {
                self.ending = Ending::Line;
                return true;
            }
            (State::Command, _) => {}
            (State::Line, b'\n') => self.leave(),
            (State::Line, _) => {}
            (State::Block { start, star: true }, b'/') => {
                self.has_content |= is_executed(&self.text[start..]);
                self.leave();
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
            (State::Quote { quote, .. }, b'\\') if rules.backslash_escapes && quote != b'`' => {
                self.state = State::Quote {
                    quote,
                    escaped: true,
                };
            }
            (State::Quote { quote, .. }, _) if byte == quote => self.leave(),
            (State::Quote { .. }, _) => {}
            (State::Dash, b'-') => self.state = State::Dashes,
            (State::Dashes, b'\n') => self.leave(),
            (State::Dashes, byte) if byte <= b' ' => self.state = State::Line,
            (State::Slash, b'*') => {
                self.state = State::Block {
                    start: at - 1,
                    star: false,
                }
            }
            (state, byte) => {
                self.has_content |= state != State::Plain;
                return self.push_plain(byte, rules);
            }
        }
        self.text.push(byte);
        false
    }

    /// A quote or a comment has ended, with the byte that is pushed next.
    fn leave(&mut self) {
        self.state = State::Plain;
        self.plain_from = self.text.len() + 1;
    }

    fn push_plain(&mut self, byte: u8, rules: &Rules<'_>) -> bool {
        if self.ends(byte, rules) {
            return true;
        }
        self.state = match byte {
            _ if byte.is_ascii_whitespace() && self.is_delimiter(rules) => State::Command,
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

    fn is_delimiter(&self, rules: &Rules<'_>) -> bool {
        rules.has_commands && self.text.eq_ignore_ascii_case(DELIMITER)
    }

    /// Whether the byte completes what ends the statement, which is then taken off it.
    fn ends(&mut self, byte: u8, rules: &Rules<'_>) -> bool {
        let plain = self.text.get(self.plain_from..).unwrap_or_default();
        let ending = match rules.delimiter.split_last() {
            Some((&last, rest)) if last == byte && plain.ends_with(rest) => {
                Some((Ending::Delimiter, rest.len()))
            }
            _ if rules.has_commands && plain.ends_with(b"\\") => match byte {
                b'g' => Some((Ending::Delimiter, 1)),
                b'G' => Some((Ending::Vertical, 1)),
                b'c' => Some((Ending::Clear, 1)),
                _ => None,
            },
            _ => None,
        };
        let Some((ending, len)) = ending else {
            return false;
        };
        self.text.truncate(self.text.len() - len);
        self.state = State::Plain;
        self.ending = ending;
        true
    }

    /// What was only begun is left to the server to complain about.
    pub(in crate::sql) fn end_of_input(&mut self) {
        self.has_content |= match self.state {
            State::Dash | State::Slash => true,
            State::Block { start, .. } => is_executed(&self.text[start..]),
            _ => false,
        };
    }
}

/// `/*!` is executed by MySQL and MariaDB, `/*M!` by MariaDB.
fn is_executed(comment: &[u8]) -> bool {
    comment.starts_with(b"/*!") || comment.starts_with(b"/*M!")
}
