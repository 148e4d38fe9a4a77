//! A statement that is repeated for each row: what stands before the row's part, the part itself around its placeholders, and
//! what stands behind it.
//!
//! ```text
//!   INSERT INTO t (a, b) VALUES (?, NOW(), ?) ON DUPLICATE KEY UPDATE a = VALUES(a)
//!   \_________ head ___________/\____ row ___/\______________ tail _______________/
//! ```

use std::ops::Range;

use crate::SqlMode;

/// The parts of the statement's text.
#[derive(Debug)]
pub(super) struct Template {
    text: Vec<u8>,
    /// Where the row's part is: all of the text if the statement takes one row only.
    row: Range<usize>,
    /// Where the placeholders are, all within the row's part.
    placeholders: Vec<usize>,
    takes_rows: bool,
}

impl Template {
    /// Finds the parts. Strings, quoted names and comments are passed over.
    pub(super) fn new(sql: &[u8], mode: SqlMode) -> Self {
        let tokens = tokens(sql, mode);
        let placeholders: Vec<usize> = tokens
            .iter()
            .filter(|token| token.is(sql, b"?"))
            .map(|token| token.start)
            .collect();
        let row = values_group(sql, &tokens)
            .filter(|row| placeholders.iter().all(|place| row.contains(place)));
        Self {
            takes_rows: row.is_some() && !placeholders.is_empty(),
            row: row.unwrap_or(0..sql.len()),
            placeholders,
            text: sql.to_vec(),
        }
    }

    /// Whether one statement takes many rows.
    pub(super) fn takes_rows(&self) -> bool {
        self.takes_rows
    }

    pub(super) fn parameters(&self) -> usize {
        self.placeholders.len()
    }

    /// What stands before the first row.
    pub(super) fn head(&self) -> &[u8] {
        self.text.get(..self.row.start).unwrap_or_default()
    }

    /// What stands behind the last row.
    pub(super) fn tail(&self) -> &[u8] {
        self.text.get(self.row.end..).unwrap_or_default()
    }

    /// Bytes of the row's part.
    pub(super) fn row_bytes(&self) -> usize {
        self.row.len()
    }

    /// The statement with so many rows.
    pub(super) fn repeat(&self, rows: u64) -> Vec<u8> {
        let row = self.text.get(self.row.clone()).unwrap_or_default();
        let mut sql = self.head().to_vec();
        for index in 0..rows {
            if index > 0 {
                sql.push(b',');
            }
            sql.extend_from_slice(row);
        }
        sql.extend_from_slice(self.tail());
        sql
    }

    /// What stands in front of the placeholder `index`, from the one before it; behind the last one, the rest of the row.
    pub(super) fn before(&self, index: usize) -> &[u8] {
        let start = match index.checked_sub(1) {
            None => self.row.start,
            Some(previous) => self
                .placeholders
                .get(previous)
                .map_or(self.row.end, |at| at + 1),
        };
        let end = self
            .placeholders
            .get(index)
            .copied()
            .unwrap_or(self.row.end);
        self.text.get(start..end).unwrap_or_default()
    }
}

/// A word, or one character that is a sign.
#[derive(Debug, Clone)]
struct Token {
    start: usize,
    end: usize,
}

impl Token {
    fn is(&self, sql: &[u8], word: &[u8]) -> bool {
        sql.get(self.start..self.end)
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    }
}

/// The parenthesis behind the first VALUES of an INSERT or REPLACE; none if another row follows it.
fn values_group(sql: &[u8], tokens: &[Token]) -> Option<Range<usize>> {
    let first = tokens.first()?;
    if !first.is(sql, b"INSERT") && !first.is(sql, b"REPLACE") {
        return None;
    }
    let mut depth = 0_usize;
    let is_values = |token: &Token| token.is(sql, b"VALUES") || token.is(sql, b"VALUE");
    for (index, token) in tokens.iter().enumerate() {
        if token.is(sql, b"(") {
            depth += 1;
        } else if token.is(sql, b")") {
            depth = depth.checked_sub(1)?;
        } else if depth == 0 && is_values(token) {
            return group(sql, tokens.get(index + 1..)?);
        }
    }
    None
}

/// The parenthesis that begins here, with what is in it.
fn group(sql: &[u8], tokens: &[Token]) -> Option<Range<usize>> {
    let start = tokens.first().filter(|token| token.is(sql, b"("))?.start;
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        if token.is(sql, b"(") {
            depth += 1;
        } else if token.is(sql, b")") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                let next = tokens.get(index + 1);
                let is_last = next.is_none_or(|next| !next.is(sql, b","));
                return is_last.then_some(start..token.end);
            }
        }
    }
    None
}

/// All words and signs outside strings, quoted names and comments.
fn tokens(sql: &[u8], mode: SqlMode) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = sql.get(at) {
        let rest = sql.get(at..).unwrap_or_default();
        let end = at
            + match byte {
                b'\'' | b'"' => quoted(rest, byte, !mode.no_backslash_escapes),
                b'`' => quoted(rest, byte, false),
                b'#' => line(rest),
                b'-' if is_dash_comment(rest) => line(rest),
                // What is in /*! ... */ is run: only the marks are passed over.
                b'/' if rest.starts_with(b"/*!") => 3,
                b'/' if rest.starts_with(b"/*") => comment(rest),
                b'*' if rest.starts_with(b"*/") => 2,
                _ if byte.is_ascii_whitespace() => 1,
                _ if is_word(byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
                _ => 1,
            };
        let is_token =
            is_word(byte) || matches!(byte, b'(' | b')' | b',' | b'?' | b';' | b'=' | b'.');
        if is_token {
            tokens.push(Token { start: at, end });
        }
        at = end;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Two dashes begin a comment only with a space behind them.
fn is_dash_comment(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace)
}

/// Up to behind the closing quote, or to the end. A doubled quote is two strings side by side, which is as good here.
fn quoted(rest: &[u8], quote: u8, backslash: bool) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        if byte == quote {
            return at;
        }
        if byte == b'\\' && backslash {
            at += 1;
        }
    }
    rest.len()
}

fn line(rest: &[u8]) -> usize {
    rest.iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(rest.len())
}

fn comment(rest: &[u8]) -> usize {
    let end = rest.windows(2).skip(2).position(|two| two == b"*/");
    end.map_or(rest.len(), |at| at + 4)
}

#[cfg(test)]
mod tests;
