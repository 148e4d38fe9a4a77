//! Splits a statement into tokens, in place.

/// A token of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'s> {
    /// A literal or a placeholder.
    Value,
    /// A keyword or an identifier without quotes.
    Word(&'s [u8]),
    /// The identifier between backticks; one in it is doubled.
    Quoted(&'s [u8]),
    Symbol(&'s str),
}

#[derive(Debug)]
pub(super) struct Lexer<'s> {
    pub(super) rest: &'s [u8],
    /// Within the comment of a version, whose content counts.
    in_comment: bool,
}

/// Longer ones first.
const SYMBOLS: [&str; 14] = [
    "<=>", "->>", ":=", "<=", ">=", "<>", "!=", "<<", ">>", "&&", "||", "->", "@@", "::",
];

const SINGLE: &str = "!#$%&()*+,-./:;<=>?@[\\]^_{|}~";

impl<'s> Lexer<'s> {
    pub(super) fn new(sql: &'s [u8]) -> Self {
        Self {
            rest: sql,
            in_comment: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Token<'s>> {
        self.skip();
        let first = *self.rest.first()?;
        let second = self.rest.get(1).copied().unwrap_or(0);
        match (first, second) {
            (b'\'' | b'"', _) => self.string(first),
            (b'`', _) => Some(self.quoted()),
            (b'?', _) => self.value(1),
            (b'0'..=b'9', _) | (b'.', b'0'..=b'9') => self.number_or_word(),
            (b'x' | b'X' | b'b' | b'B' | b'n' | b'N', b'\'') => {
                self.take(1);
                self.string(b'\'')
            }
            _ if is_word(first) => Some(self.word()),
            _ => Some(self.symbol()),
        }
    }

    fn take(&mut self, count: usize) -> &'s [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'s [u8] {
        let end = self.rest.iter().position(|byte| !is_part(*byte));
        self.take(end.unwrap_or(self.rest.len()))
    }

    fn value(&mut self, count: usize) -> Option<Token<'s>> {
        self.take(count);
        Some(Token::Value)
    }

    /// Blanks and comments.
    pub(super) fn skip(&mut self) {
        loop {
            self.take_while(|byte| byte.is_ascii_whitespace() || byte == 0x0B);
            match self.rest {
                [b'#', ..] => self.skip_line(),
                [b'-', b'-'] => self.skip_line(),
                [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() || *blank < b' ' => {
                    self.skip_line();
                }
                [b'*', b'/', ..] if self.in_comment => {
                    self.in_comment = false;
                    self.take(2);
                }
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => {
                    self.in_comment = true;
                    self.take(if self.rest[2] == b'!' { 3 } else { 4 });
                    self.take_while(|byte| byte.is_ascii_digit());
                }
                [b'/', b'*', ..] => {
                    self.take(2);
                    let end = self.rest.windows(2).position(|two| two == b"*/");
                    self.take(end.map_or(self.rest.len(), |end| end + 2));
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.take_while(|byte| byte != b'\n');
    }

    /// A string, to its closing quote or the end. A quote is escaped by itself or by a backslash.
    fn string(&mut self, quote: u8) -> Option<Token<'s>> {
        self.take(1);
        loop {
            self.take_while(|byte| byte != quote && byte != b'\\');
            match self.rest {
                [b'\\', ..] => self.take(2),
                [first, second, ..] if first == second => self.take(2),
                _ => break,
            };
        }
        self.value(1)
    }

    fn quoted(&mut self) -> Token<'s> {
        self.take(1);
        let start = self.rest;
        loop {
            self.take_while(|byte| byte != b'`');
            match self.rest {
                [b'`', b'`', ..] => self.take(2),
                _ => break,
            };
        }
        let len = start.len() - self.rest.len();
        self.take(1);
        Token::Quoted(&start[..len])
    }

    /// Names may begin with digits: `1st`. `1e5` is a number, and so is `0x1F`.
    fn number_or_word(&mut self) -> Option<Token<'s>> {
        let start = self.rest;
        self.take_while(|byte| byte.is_ascii_digit());
        let digits = start.len() - self.rest.len();
        let rest = self.rest;
        match rest {
            [b'x' | b'b', ..] if digits == 1 && start[0] == b'0' => {
                self.take(1);
                self.take_while(|byte| byte.is_ascii_hexdigit());
            }
            [b'.', ..] => {
                self.take(1);
                self.take_while(|byte| byte.is_ascii_digit());
                self.exponent();
            }
            _ if self.exponent() => {}
            [byte, ..] if is_word(*byte) => {
                self.rest = start;
                return Some(self.word());
            }
            _ => {}
        }
        Some(Token::Value)
    }

    fn exponent(&mut self) -> bool {
        let digits = match self.rest {
            [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] => 2,
            [b'e' | b'E', b'0'..=b'9', ..] => 1,
            _ => return false,
        };
        self.take(digits);
        self.take_while(|byte| byte.is_ascii_digit());
        true
    }

    fn word(&mut self) -> Token<'s> {
        Token::Word(self.take_while(is_word))
    }

    fn symbol(&mut self) -> Token<'s> {
        let known = SYMBOLS
            .iter()
            .find(|symbol| self.rest.starts_with(symbol.as_bytes()));
        if let Some(symbol) = known {
            self.take(symbol.len());
            return Token::Symbol(symbol);
        }
        let byte = self.take(1)[0];
        let place = SINGLE.bytes().position(|single| single == byte);
        Token::Symbol(
            place
                .and_then(|place| SINGLE.get(place..=place))
                .unwrap_or("?"),
        )
    }
}

/// Bytes above 0x7F belong to characters of names in every character set that a client may use.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}
