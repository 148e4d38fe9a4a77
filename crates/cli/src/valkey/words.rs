//! A line of a command, as words.
//!
//! The quotes are those of `redis-cli`: in double quotes `\n \r \t \b \a \\ \"` and `\xHH` are escapes, in single quotes
//! `\'` alone. A closing quote ends the word.

use std::fmt;

/// Why a line is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadLine {
    /// No closing quote.
    Unclosed,
    /// Something other than a space behind a closing quote.
    Glued,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclosed => "a quote has no end; \\\" is one inside double quotes",
            Self::Glued => "text follows a closing quote; put a space there",
        })
    }
}

/// One command's words, in one piece of memory that is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Words {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Memory that is kept for the next command: 64 KiB.
const KEPT: usize = 64 << 10;

impl Words {
    /// Takes the words of `line` in place of what was there; none where the line is blank.
    pub(crate) fn split(&mut self, line: &[u8]) -> Result<(), BadLine> {
        self.clear();
        let mut rest = line.trim_ascii_start();
        while let Some((&first, _)) = rest.split_first() {
            rest = match first {
                b'"' => self.double_quoted(&rest[1..])?,
                b'\'' => self.single_quoted(&rest[1..])?,
                _ => self.plain(rest)?,
            };
            self.end_word();
            rest = rest.trim_ascii_start();
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.ends.clear();
        self.ends.shrink_to(KEPT / size_of::<usize>());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.bytes[start..end])
    }

    /// More bytes of the word under way.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The word under way is whole; it may be empty.
    pub(crate) fn end_word(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// A word without quotes before it; a quote inside begins a quoted part that ends it.
    fn plain<'l>(&mut self, line: &'l [u8]) -> Result<&'l [u8], BadLine> {
        let end = line
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
            .unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        self.extend(word);
        match rest.first() {
            Some(b'"') => self.double_quoted(&rest[1..]),
            Some(b'\'') => self.single_quoted(&rest[1..]),
            _ => Ok(rest),
        }
    }

    fn double_quoted<'l>(&mut self, mut line: &'l [u8]) -> Result<&'l [u8], BadLine> {
        loop {
            let (byte, rest) = match line {
                [] => return Err(BadLine::Unclosed),
                [b'"', rest @ ..] => return behind_quote(rest),
                [b'\\', b'x', high, low, rest @ ..]
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    (hex(*high) << 4 | hex(*low), rest)
                }
                [b'\\', escaped, rest @ ..] => (unescaped(*escaped), rest),
                [byte, rest @ ..] => (*byte, rest),
            };
            self.bytes.push(byte);
            line = rest;
        }
    }

    fn single_quoted<'l>(&mut self, mut line: &'l [u8]) -> Result<&'l [u8], BadLine> {
        loop {
            let (byte, rest) = match line {
                [] => return Err(BadLine::Unclosed),
                [b'\'', rest @ ..] => return behind_quote(rest),
                [b'\\', b'\'', rest @ ..] => (b'\'', rest),
                [byte, rest @ ..] => (*byte, rest),
            };
            self.bytes.push(byte);
            line = rest;
        }
    }
}

fn behind_quote(rest: &[u8]) -> Result<&[u8], BadLine> {
    match rest.first() {
        Some(byte) if !byte.is_ascii_whitespace() => Err(BadLine::Glued),
        _ => Ok(rest),
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

#[cfg(test)]
mod tests;
