//! A statement's text without its literals, by which another statement is found to have the same digest.
//!
//! ```text
//!   SELECT c FROM t WHERE id=4711 AND name='x'
//!   |<------- fixed ------->|<->|<- fixed ->|<>|
//! ```
//!
//! Only the literals of the statement that is asked about are read byte by byte: it costs a comparison of memory and a few
//! instructions for each digit, where a digest costs some fifty instructions for each byte.

use super::lexer::{Lexer, Token, is_word};

/// The parts of a text that may differ; longer lists of them are seldom met twice.
const MAX_PIECES: usize = 32;

/// A part of a text that may be another one without a change of the digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// `12`, `1.5`. A number with an exponent or in another base is a part of the fixed text.
    Number,
    /// Two or more of them, with a comma between them, and one blank behind it.
    Numbers { has_blank: bool },
    /// In these quotes.
    String(u8),
    /// `/* ... */`
    Comment,
}

/// The text of a statement, with places for literals and comments.
#[derive(Debug)]
pub struct Template {
    /// The fixed parts, one behind the other.
    fixed: Box<[u8]>,
    /// What may differ, and where it is: so many bytes of the fixed parts are before it.
    pieces: Box<[(usize, Piece)]>,
}

impl Template {
    /// Makes the template of a statement. `None` if it has something that templates cannot describe: a comment to the end of a line or of
    /// a version, a number like `0x1F` or `1e5`, more than 32 literals.
    pub fn new(sql: &[u8]) -> Option<Self> {
        let mut maker = Maker::default();
        let mut lexer = Lexer::new(sql);
        loop {
            let before = lexer.rest;
            lexer.skip();
            maker.gap(taken(before, lexer.rest))?;
            let before = lexer.rest;
            let Some(token) = lexer.next() else { break };
            let text = taken(before, lexer.rest);
            match token {
                Token::Value => maker.value(text)?,
                _ => maker.fixed.extend_from_slice(text),
            }
        }
        let template = Self {
            fixed: maker.fixed.into(),
            pieces: maker.pieces.into(),
        };
        template.matches(sql).then_some(template)
    }

    /// Returns whether a statement differs from the template's in literals and comments alone. It has the same digest then. Statements
    /// that do not match may have the same digest as well.
    #[inline]
    pub fn matches(&self, sql: &[u8]) -> bool {
        let (mut at, mut from) = (0, 0);
        for &(until, piece) in &self.pieces {
            let fixed = self.fixed.get(from..until).unwrap_or_default();
            let end = at + fixed.len();
            if sql.get(at..end) != Some(fixed) {
                return false;
            }
            let behind = match piece {
                Piece::Number => number_end(sql, end),
                _ => piece.end(sql, end),
            };
            let Some(behind) = behind else { return false };
            (at, from) = (behind, until);
        }
        sql.get(at..) == self.fixed.get(from..)
    }

    /// Returns a number that statements which match one template have in common, by which templates can be looked up.
    ///
    /// It is computed from the text up to the first literal, so that statements that differ behind it have the same number, too.
    pub fn key(sql: &[u8]) -> u64 {
        /// The golden ratio, as a fraction of 2^64.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let mix = |key: u64, part: u64| (key.rotate_left(5) ^ part).wrapping_mul(FACTOR);
        let mut key = 0;
        let mut before = 0;
        let looked_at = sql.get(..KEY_BYTES).unwrap_or(sql);
        let (chunks, tail) = looked_at.as_chunks::<8>();
        for (number, chunk) in chunks.iter().enumerate() {
            let word = u64::from_le_bytes(*chunk);
            let end = match may_have_literal(word) {
                true => first_literal(before, chunk),
                false => None,
            };
            if let Some(end) = end {
                return chunk[..end]
                    .iter()
                    .fold(key, |key, byte| mix(key, u64::from(*byte)))
                    ^ number as u64;
            }
            key = mix(key, word);
            before = chunk[7];
        }
        let end = first_literal(before, tail).unwrap_or(tail.len());
        let tail = tail.get(..end).unwrap_or_default();
        tail.iter()
            .fold(key, |key, byte| mix(key, u64::from(*byte)))
            ^ chunks.len() as u64
    }

    /// Returns the bytes of allocated memory.
    pub fn memory(&self) -> usize {
        self.fixed.len() + size_of_val(&*self.pieces)
    }
}

/// So much of a text is looked at for its key.
const KEY_BYTES: usize = 256;

/// Whether one of eight bytes is a quote, a digit or a slash, or one of those between them in ASCII, which are not frequent.
#[inline]
fn may_have_literal(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let low = word & !HIGH;
    // The high bit of each byte: 0x22 or more, and 0x3A or more.
    let from_quote = low + (0x80 - 0x22) * ONES;
    let behind_digits = low + (0x80 - 0x3A) * ONES;
    from_quote & !behind_digits & !word & HIGH != 0
}

/// Where the first literal or comment may begin. `before`: the byte in front of them.
fn first_literal(before: u8, bytes: &[u8]) -> Option<usize> {
    let mut before = before;
    bytes.iter().position(|&byte| {
        let is_start = match byte {
            b'\'' | b'"' | b'/' => true,
            b'0'..=b'9' => !is_word(before),
            _ => false,
        };
        before = byte;
        is_start
    })
}

impl Piece {
    /// Where it ends that begins at `at`; `None` where it is not there.
    fn end(self, sql: &[u8], at: usize) -> Option<usize> {
        if let Self::Number = self {
            return number_end(sql, at);
        }
        let text = sql.get(at..)?;
        let rest = match self {
            Self::Number => None,
            Self::Numbers { has_blank } => return numbers_end(sql, at, has_blank),
            Self::String(quote) => skip_string(text, quote),
            Self::Comment => skip_comment(text),
        };
        Some(sql.len() - rest?.len())
    }
}

#[inline]
fn number_end(sql: &[u8], at: usize) -> Option<usize> {
    let end = digits_end(sql, at);
    if end == at {
        return None;
    }
    match sql.get(end) {
        None => Some(end),
        Some(b'.') => {
            let end = digits_end(sql, end + 1);
            let next = sql.get(end);
            next.is_none_or(|next| !is_word(*next)).then_some(end)
        }
        Some(&next) => (!is_word(next)).then_some(end),
    }
}

/// Where the digits end that begin at `at`: eight at a time, as ids are long.
#[inline]
fn digits_end(sql: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        let rest = sql.get(end..).unwrap_or_default();
        let word = match (rest.first_chunk(), sql.last_chunk::<8>()) {
            (Some(chunk), _) => u64::from_le_bytes(*chunk),
            // What is in front of the rest is shifted out.
            (None, Some(last)) if !rest.is_empty() => {
                u64::from_le_bytes(*last) >> (64 - 8 * rest.len())
            }
            _ => {
                let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                return end + count;
            }
        };
        let count = leading_digits(word);
        end += count;
        if count < 8 {
            return end;
        }
    }
}

/// How many of eight bytes are digits, up to the first that is none.
#[inline]
fn leading_digits(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A digit becomes 0 to 9. A byte that overflows spoils only those behind it.
    let values = word ^ (0x30 * ONES);
    let others = (values.wrapping_add(0x76 * ONES) | values) & (0x80 * ONES);
    (others.trailing_zeros() / 8) as usize
}

fn numbers_end(sql: &[u8], at: usize, has_blank: bool) -> Option<usize> {
    let separator: &[u8] = if has_blank { b", " } else { b"," };
    let next = |end: usize| {
        let number = end + separator.len();
        let is_next = sql.get(end..number) == Some(separator)
            && sql.get(number).is_some_and(u8::is_ascii_digit);
        is_next.then_some(number)
    };
    let mut end = number_end(sql, next(number_end(sql, at)?)?)?;
    while let Some(number) = next(end) {
        end = number_end(sql, number)?;
    }
    Some(end)
}

fn skip_string(text: &[u8], quote: u8) -> Option<&[u8]> {
    let [first, ..] = text else { return None };
    if *first != quote {
        return None;
    }
    let mut lexer = Lexer::new(text);
    lexer.next();
    Some(lexer.rest)
}

fn skip_comment(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"/*")?;
    if text.starts_with(b"!") || text.starts_with(b"M!") {
        return None;
    }
    let end = text.windows(2).position(|two| two == b"*/")?;
    text.get(end + 2..)
}

/// What the lexer has taken, from what was left before and what is left.
fn taken<'s>(before: &'s [u8], rest: &[u8]) -> &'s [u8] {
    before.get(..before.len() - rest.len()).unwrap_or_default()
}

#[derive(Default)]
struct Maker {
    fixed: Vec<u8>,
    pieces: Vec<(usize, Piece)>,
}

impl Maker {
    fn piece(&mut self, piece: Piece) -> Option<()> {
        if self.pieces.len() == MAX_PIECES {
            return None;
        }
        self.pieces.push((self.fixed.len(), piece));
        Some(())
    }

    /// Blanks and comments.
    fn gap(&mut self, mut gap: &[u8]) -> Option<()> {
        while let [first, rest @ ..] = gap {
            if first.is_ascii_whitespace() || *first == 0x0B {
                self.fixed.push(*first);
                gap = rest;
            } else {
                gap = skip_comment(gap)?;
                self.piece(Piece::Comment)?;
            }
        }
        Some(())
    }

    fn value(&mut self, text: &[u8]) -> Option<()> {
        match *text {
            [quote @ (b'\'' | b'"'), ..] => self.piece(Piece::String(quote)),
            [letter, b'\'', ..] => {
                self.fixed.push(letter);
                self.piece(Piece::String(b'\''))
            }
            [b'?'] => {
                self.fixed.push(b'?');
                Some(())
            }
            _ if number_end(text, 0) == Some(text.len()) => self.number(),
            _ => None,
        }
    }

    /// One of a list goes into the piece of the one before.
    fn number(&mut self) -> Option<()> {
        let fixed = self.fixed.len();
        let Some((until, piece)) = self.pieces.last_mut() else {
            return self.piece(Piece::Number);
        };
        let has_blank = match self.fixed.get(*until..) {
            Some(b",") => false,
            Some(b", ") => true,
            _ => return self.piece(Piece::Number),
        };
        let list = Piece::Numbers { has_blank };
        if *piece != Piece::Number && *piece != list {
            return self.piece(Piece::Number);
        }
        *piece = list;
        self.fixed.truncate(fixed - if has_blank { 2 } else { 1 });
        Some(())
    }
}

#[cfg(test)]
mod tests;
