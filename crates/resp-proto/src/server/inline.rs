//! Requests as one types them: words between spaces, quoted where they hold some.
//!
//! | in a word | stands for                                                  |
//! |-----------|-------------------------------------------------------------|
//! | `"..."`   | its bytes; `\n \r \t \b \a`, `\xHH`, and `\` before another |
//! | `'...'`   | its bytes; `\'` is a quote                                  |
//!
//! Behind a closing quote comes a space or the end. Words are put together where they lie: none is longer than it is
//! written.

use std::ops::Range;

/// A quote is not closed, or not followed by a space.
#[derive(Debug)]
pub(crate) struct Unbalanced;

/// Where in a line the next word is looked for.
#[derive(Debug, Default)]
pub(crate) struct Words {
    at: usize,
}

impl Words {
    /// Puts the next word of the line together in place; gives where it lies. `None`: there is none.
    pub(crate) fn next(&mut self, line: &mut [u8]) -> Result<Option<Range<usize>>, Unbalanced> {
        while line.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        if self.at >= line.len() {
            return Ok(None);
        }
        let start = self.at;
        let mut end = start;
        self.at = word(line, start, &mut end).ok_or(Unbalanced)?;
        Ok(Some(start..end))
    }
}

/// Bytes that tell a request of HTTP.
pub(super) const HTTP: usize = 5;

/// Whether a line is of an HTTP request. Who makes a browser send one has it do what the lines behind it say: servers close
/// such a connection.
pub(super) fn is_http(line: &[u8]) -> bool {
    let begins = |word: &[u8; HTTP]| {
        line.get(..HTTP)
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    begins(b"post ") || begins(b"host:")
}

/// Puts the word at `at` together, up to `end`; gives what is behind it as it is written.
fn word(line: &mut [u8], mut at: usize, end: &mut usize) -> Option<usize> {
    let mut put = |line: &mut [u8], byte: u8| {
        line[*end] = byte;
        *end += 1;
    };
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'"' | b'\'' => {
                at = quoted(line, at, byte, &mut put)?;
                let is_ended = line.get(at).is_none_or(u8::is_ascii_whitespace);
                return is_ended.then_some(at);
            }
            byte if byte.is_ascii_whitespace() => return Some(at),
            byte => put(line, byte),
        }
    }
    Some(at)
}

/// What is between the quotes; gives what is behind the closing one.
fn quoted(
    line: &mut [u8],
    mut at: usize,
    quote: u8,
    put: &mut impl FnMut(&mut [u8], u8),
) -> Option<usize> {
    loop {
        let byte = *line.get(at)?;
        at += 1;
        if byte == quote {
            return Some(at);
        }
        if byte != b'\\' || (quote == b'\'' && line.get(at) != Some(&b'\'')) {
            put(line, byte);
            continue;
        }
        let escaped = *line.get(at)?;
        at += 1;
        let hex = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
        if let (b'x', b'"', Some(high), Some(low)) =
            (escaped, quote, hex(line.get(at)), hex(line.get(at + 1)))
        {
            #[allow(clippy::cast_possible_truncation)] // two digits
            put(line, (high * 16 + low) as u8);
            at += 2;
            continue;
        }
        put(line, unescaped(escaped));
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
