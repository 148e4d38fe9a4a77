//! The digest of a statement: its text without the literals, so that statements that differ in values alone are counted as one.
//!
//! ```text
//! select name from product where id in (4,5,6) and price > -1.5  -- cheap
//! SELECT `name` FROM `product` WHERE `id` IN (...) AND `price` > ?
//! ```
//!
//! The form is that of the servers' `DIGEST_TEXT`:
//!
//! | in the statement | in the digest |
//! |------------------|---------------|
//! | a literal, NULL, a placeholder; its sign is a part of it | `?` |
//! | several of them, separated by commas | `?, ...` |
//! | one of them in parentheses; several | `(?)`; `(...)` |
//! | rows of a multi-row INSERT | `(...) /* , ... */` |
//! | an identifier | in backticks, in its own case |
//! | a keyword | in upper case |
//! | comments | nothing; the content of `/*! */` stays |
//! | the rest | with one space between two tokens |
//!
//! The servers know keywords by their grammar, and this module by a list. So the texts are equal for ordinary statements, and differ
//! where a word is a keyword in some places only. The numbers of the servers' `DIGEST` are hashes of their own tokens, and never equal to
//! [`Digester::hash`].

mod keyword;
mod lexer;
mod template;

use lexer::{Lexer, Token};
pub use template::Template;

/// What a token of the digest is, as far as those that follow may be folded into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(?) /* , ... */`
    Rows,
    /// `(...)`
    List,
    /// `(...) /* , ... */`
    Lists,
    Open,
    Comma,
    /// `+` or `-`.
    Sign,
    /// What an operand ends with: a name or a closing parenthesis. A sign behind it is an operator.
    Operand,
    Other,
}

/// Computes digests. Its memory is used again, so that no statement after the first ones costs an allocation.
///
/// # Example
/// ```
/// use onecopy_mysql_proto::digest::Digester;
///
/// let mut digester = Digester::new(1024);
/// let hash = digester.digest(b"select name from product where id = 7");
/// assert_eq!(digester.text(), "SELECT `name` FROM `product` WHERE `id` = ?");
/// assert_eq!(hash, digester.digest(b"SELECT name FROM product WHERE id=12 -- twelve"));
/// ```
#[derive(Debug)]
pub struct Digester {
    max_bytes: usize,
    text: String,
    /// The kind of each token, and where it begins in the text, its space included.
    tokens: Vec<(Kind, usize)>,
    is_truncated: bool,
}

/// What follows a digest that has been cut off.
const CUT_OFF: &str = " ...";

impl Digester {
    /// Creates a digester for texts of at most `max_bytes`. A longer digest is cut off behind a token, and ends with `...`; the rest of its
    /// statement is not read.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            text: String::new(),
            tokens: Vec::new(),
            is_truncated: false,
        }
    }

    /// Computes the digest of a statement and returns its [`hash`](Self::hash). Costs time in proportion to the statement, up to the limit.
    ///
    /// Bytes that are not UTF-8 become replacement characters. `sql` may be invalid SQL.
    pub fn digest(&mut self, sql: &[u8]) -> u64 {
        self.text.clear();
        self.tokens.clear();
        self.is_truncated = false;
        let mut lexer = Lexer::new(sql);
        while let Some(token) = lexer.next() {
            match token {
                Token::Value => self.value(),
                Token::Word(word) => self.word(word),
                Token::Quoted(name) => self.name(name),
                Token::Symbol(symbol) => self.symbol(symbol),
            }
            if self.text.len() > self.max_bytes {
                self.cut_off();
                break;
            }
        }
        self.hash()
    }

    /// The same for the start of a statement whose rest is not known. The digest ends with `...`, behind the last token that no value of
    /// a list is a part of: so it is the same wherever a long list of values was cut.
    pub fn digest_start(&mut self, start: &[u8]) -> u64 {
        self.digest(start);
        if self.is_truncated {
            return self.hash();
        }
        let may_go_on = |kind| {
            matches!(
                kind,
                Kind::Value | Kind::Values | Kind::Open | Kind::Comma | Kind::Sign
            )
        };
        while self.kind(1).is_some_and(may_go_on) {
            self.pop(1);
        }
        self.cut_off();
        self.hash()
    }

    /// Takes a text that was computed before, as if its statement were given again.
    pub fn restore(&mut self, text: &str) {
        self.text.clear();
        self.text.push_str(text);
        self.tokens.clear();
        self.is_truncated = text.ends_with(CUT_OFF);
    }

    /// Returns the text of the last digest.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the last digest is cut off.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the hash of the last digest: FNV-1a with 64 bits over its text. It is the same on every machine and in every version
    /// that computes the same text.
    pub fn hash(&self) -> u64 {
        const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01B3;
        let bytes = self.text.bytes();
        bytes.fold(OFFSET, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(PRIME)
        })
    }

    fn kind(&self, from_end: usize) -> Option<Kind> {
        let index = self.tokens.len().checked_sub(from_end)?;
        self.tokens.get(index).map(|(kind, _)| *kind)
    }

    fn push(&mut self, kind: Kind, text: &str) {
        self.tokens.push((kind, self.text.len()));
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn pop(&mut self, count: usize) {
        for _ in 0..count {
            if let Some((_, start)) = self.tokens.pop() {
                self.text.truncate(start);
            }
        }
    }

    fn value(&mut self) {
        if self.kind(1) == Some(Kind::Sign) && !self.kind(2).is_some_and(Kind::ends_operand) {
            self.pop(1);
        }
        match (self.kind(2), self.kind(1)) {
            (Some(Kind::Value | Kind::Values), Some(Kind::Comma)) => {
                self.pop(2);
                self.push(Kind::Values, "?, ...");
            }
            _ => self.push(Kind::Value, "?"),
        }
    }

    fn close(&mut self) {
        let (kind, text) = match (self.kind(2), self.kind(1)) {
            (Some(Kind::Open), Some(Kind::Value)) => (Kind::Row, "(?)"),
            (Some(Kind::Open), Some(Kind::Values)) => (Kind::List, "(...)"),
            _ => return self.push(Kind::Operand, ")"),
        };
        self.pop(2);
        match (self.kind(2), self.kind(1), kind) {
            (Some(Kind::Row | Kind::Rows), Some(Kind::Comma), Kind::Row) => {
                self.pop(2);
                self.push(Kind::Rows, "(?) /* , ... */");
            }
            (Some(Kind::List | Kind::Lists), Some(Kind::Comma), Kind::List) => {
                self.pop(2);
                self.push(Kind::Lists, "(...) /* , ... */");
            }
            _ => self.push(kind, text),
        }
    }

    fn symbol(&mut self, symbol: &str) {
        match symbol {
            ")" => self.close(),
            "(" => self.push(Kind::Open, "("),
            "," => self.push(Kind::Comma, ","),
            "+" | "-" => self.push(Kind::Sign, symbol),
            // The servers print both in this way.
            "<>" => self.push(Kind::Other, "!="),
            _ => self.push(Kind::Other, symbol),
        }
    }

    fn word(&mut self, word: &[u8]) {
        let keyword = keyword::find(word);
        // Behind a point, as in `t.key`, every word is a name.
        let is_member = self.text.ends_with(" .");
        match keyword {
            Some("NULL") if !is_member => self.value(),
            Some(keyword) if !is_member => self.push(Kind::Other, keyword),
            _ => self.name(word),
        }
    }

    fn name(&mut self, name: &[u8]) {
        self.push(Kind::Operand, "`");
        // Only as much as the limit could show is converted.
        let shown = &name[..name.len().min(self.max_bytes)];
        self.text.push_str(&String::from_utf8_lossy(shown));
        self.text.push('`');
    }

    /// Removes tokens from the end until there is room for the mark.
    fn cut_off(&mut self) {
        while self.text.len() + CUT_OFF.len() > self.max_bytes && !self.tokens.is_empty() {
            self.pop(1);
        }
        self.text.push_str(CUT_OFF);
        self.is_truncated = true;
    }
}

impl Kind {
    fn ends_operand(self) -> bool {
        matches!(
            self,
            Self::Value
                | Self::Values
                | Self::Row
                | Self::Rows
                | Self::List
                | Self::Lists
                | Self::Operand
        )
    }
}

#[cfg(test)]
mod tests;
