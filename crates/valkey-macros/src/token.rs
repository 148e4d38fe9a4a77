//! The tokens of a declaration, and reading them one by one.
//!
//! Types of our own, because those of `proc_macro` exist only inside of a compiler: the rest of the crate is tested without one.

/// What a token is, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or a keyword.
    Word(String),
    /// A number or a string, as written.
    Literal(String),
    /// One character of punctuation.
    Punct(char),
    /// A bracket that opens.
    Open(char),
    /// A bracket that closes.
    Close(char),
}

/// An error, and the token that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    /// The index of the token.
    pub(crate) at: usize,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Reads tokens from the first to the last.
pub(crate) struct Reader<'t> {
    tokens: &'t [Kind],
    at: usize,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(tokens: &'t [Kind]) -> Self {
        Self { tokens, at: 0 }
    }

    /// The index of the next token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<&'t Kind> {
        self.peek_after(0)
    }

    /// The token that comes so many tokens after the next one.
    pub(crate) fn peek_after(&self, count: usize) -> Option<&'t Kind> {
        self.tokens.get(self.at + count)
    }

    pub(crate) fn next(&mut self) -> Option<&'t Kind> {
        let kind = self.tokens.get(self.at)?;
        self.at += 1;
        Some(kind)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// An error about the next token.
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        error_at(self.at.min(self.tokens.len().saturating_sub(1)), message)
    }

    pub(crate) fn is(&self, kind: &Kind) -> bool {
        self.peek() == Some(kind)
    }

    pub(crate) fn is_punct(&self, punct: char) -> bool {
        self.is(&Kind::Punct(punct))
    }

    /// Takes these characters of punctuation if they come next.
    pub(crate) fn take(&mut self, puncts: &str) -> bool {
        let mut expected = puncts.chars().enumerate();
        let is_next =
            expected.all(|(index, punct)| self.peek_after(index) == Some(&Kind::Punct(punct)));
        if is_next {
            self.at += puncts.len();
        }
        is_next
    }

    pub(crate) fn expect(&mut self, puncts: &str) -> Result<()> {
        match self.take(puncts) {
            true => Ok(()),
            false => self.error(format!("expected `{puncts}`")),
        }
    }

    pub(crate) fn word(&mut self) -> Result<&'t str> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.error("expected a word"),
        }
    }

    /// A name of the protocol, whose words are joined by hyphens, and by a point behind that of a module: `NO-EVICT`, `min-idle-time`,
    /// `JSON.GET`.
    pub(crate) fn name(&mut self) -> Result<String> {
        let mut name = self.word()?.to_owned();
        while let Some(&Kind::Punct(joint @ ('-' | '.'))) = self.peek() {
            let Some(Kind::Word(word) | Kind::Literal(word)) = self.peek_after(1) else {
                break;
            };
            name.push(joint);
            name.push_str(word);
            self.at += 2;
        }
        Ok(name)
    }

    /// A version: `6.2.0`, which Rust reads as a number, a point, and a number.
    pub(crate) fn version(&mut self) -> Result<String> {
        let mut version = String::new();
        loop {
            match self.peek() {
                Some(Kind::Literal(number)) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    version.push_str(number);
                    self.at += 1;
                }
                _ => return self.error("expected a version such as 6.2.0"),
            }
            if !self.take(".") {
                return Ok(version);
            }
            version.push('.');
        }
    }

    /// A string, without its quotes.
    pub(crate) fn string(&mut self) -> Result<String> {
        let Some(text) = self.peek().and_then(string_of) else {
            return self.error("expected a string in quotes");
        };
        self.at += 1;
        Ok(text)
    }

    /// Skips the rest of a declaration, to go on behind its semicolon, which may be the last token that was read.
    pub(crate) fn skip_declaration(&mut self, start: usize) {
        let last = self.tokens[start..self.at].last();
        if last == Some(&Kind::Punct(';')) {
            return;
        }
        while let Some(kind) = self.next() {
            if *kind == Kind::Punct(';') {
                return;
            }
        }
    }
}

/// The text of a string literal, in which only quotes and the ends of lines are escaped.
pub(crate) fn string_of(kind: &Kind) -> Option<String> {
    let Kind::Literal(literal) = kind else {
        return None;
    };
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut lines = inner.split("\\\n");
    let first = lines.next()?.to_owned();
    let text = lines.fold(first, |text, line| text + line.trim_start());
    Some(text.replace("\\\"", "\""))
}

pub(crate) fn error_at<T>(at: usize, message: impl Into<String>) -> Result<T> {
    Err(Error {
        at,
        message: message.into(),
    })
}
