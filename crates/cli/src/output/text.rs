//! Text for a terminal, and UTF-8 that comes in pieces.

use std::fmt::Write as _;

/// What becomes of line feeds and tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// They are written as they are.
    Kept,
    /// They are written as `\n` and `\t`: the text stays on its line.
    Escaped,
}

/// Appends `text` so that it can't make a terminal do anything: control characters and those that turn the writing
/// direction are spelled out.
pub(crate) fn push_visible(text: &str, lines: Lines, into: &mut String) {
    for character in text.chars() {
        match character {
            '\n' | '\t' if lines == Lines::Kept => into.push(character),
            '\n' => into.push_str("\\n"),
            '\t' => into.push_str("\\t"),
            '\r' => into.push_str("\\r"),
            '\0' => into.push_str("\\0"),
            _ if character.is_control() || is_bidi_control(character) => {
                let _ = write!(into, "\\u{{{:x}}}", u32::from(character));
            }
            _ => into.push(character),
        }
    }
}

pub(crate) fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends bytes that are no UTF-8, as `\xFF`.
pub(crate) fn push_bytes(bytes: &[u8], into: &mut String) {
    for byte in bytes {
        let _ = write!(into, "\\x{byte:02X}");
    }
}

/// Appends bytes as hexadecimal digits.
pub(crate) fn push_hex(bytes: &[u8], into: &mut String) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    for byte in bytes {
        into.push(DIGITS[usize::from(byte >> 4)]);
        into.push(DIGITS[usize::from(byte & 0x0F)]);
    }
}

/// Whether bytes of unknown meaning read well as text: UTF-8 with no control characters but the ends of lines and tabs.
pub(crate) fn is_readable(bytes: &[u8], is_whole: bool) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if !is_whole && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text
        .chars()
        .any(|character| character.is_control() && !matches!(character, '\n' | '\r' | '\t'))
}

/// A part of a text that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    /// Bytes that are no UTF-8.
    Bad(&'t [u8]),
}

/// Puts a character together that was cut by the end of a piece.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// The start of a character: at most three bytes, a fourth completes any.
    cut: [u8; 4],
    len: usize,
}

impl Pieces {
    /// Gives the parts of the next piece; a character that its end cuts waits for the next one.
    pub(crate) fn feed<E>(
        &mut self,
        mut piece: &[u8],
        mut sink: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while self.len > 0 {
            let Some((&byte, rest)) = piece.split_first() else {
                return Ok(());
            };
            self.cut[self.len] = byte;
            let known = self.len;
            match std::str::from_utf8(&self.cut[..=known]) {
                Ok(text) => sink(Part::Text(text))?,
                Err(error) if error.error_len().is_none() => {
                    self.len += 1;
                    piece = rest;
                    continue;
                }
                // The byte does not belong to the character: it is looked at again, on its own.
                Err(_) => {
                    sink(Part::Bad(&self.cut[..known]))?;
                    self.len = 0;
                    break;
                }
            }
            self.len = 0;
            piece = rest;
        }
        while !piece.is_empty() {
            let error = match std::str::from_utf8(piece) {
                Ok(text) => return sink(Part::Text(text)),
                Err(error) => error,
            };
            let (good, rest) = piece.split_at(error.valid_up_to());
            if let Ok(text) = std::str::from_utf8(good)
                && !text.is_empty()
            {
                sink(Part::Text(text))?;
            }
            let Some(bad) = error.error_len() else {
                self.cut[..rest.len()].copy_from_slice(rest);
                self.len = rest.len();
                return Ok(());
            };
            sink(Part::Bad(&rest[..bad]))?;
            piece = &rest[bad..];
        }
        Ok(())
    }

    /// Gives what is left of a character at the end of the text.
    pub(crate) fn finish<E>(
        &mut self,
        mut sink: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match std::mem::take(&mut self.len) {
            0 => Ok(()),
            len => sink(Part::Bad(&self.cut[..len])),
        }
    }
}

#[cfg(test)]
mod tests;
