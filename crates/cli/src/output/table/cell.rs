//! One value as a table shows it.

use std::fmt::Write as _;
use std::io::Read;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::Failure;
use crate::output::text::{Lines, Part, Pieces, is_readable, push_bytes, push_hex, push_visible};
use crate::output::{Column, Kind, Value};

/// A value's first bytes that are looked at: more fill no terminal's line.
const SHOWN_BYTES: usize = 2 << 10;

/// A value on one line, and how wide a terminal shows it.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    pub(super) width: usize,
    pub(super) is_null: bool,
}

impl Cell {
    fn new(text: String) -> Self {
        Self {
            width: text.width(),
            text,
            is_null: false,
        }
    }

    pub(super) fn null(text: &str) -> Self {
        Self {
            is_null: true,
            ..Self::new(text.into())
        }
    }

    pub(super) fn name(name: &str) -> Self {
        let mut text = String::new();
        push_visible(name, Lines::Escaped, &mut text);
        Self::new(text)
    }

    /// Reads at most the first 2 KiB of the value.
    pub(super) fn read(column: &Column, value: Value<'_>) -> Result<Self, Failure> {
        let mut text = String::new();
        let piece = value.bytes.fill_buf()?;
        if piece.len() as u64 == value.len && piece.len() <= SHOWN_BYTES {
            push(column, piece, true, &mut text);
        } else {
            let mut start = Vec::with_capacity(SHOWN_BYTES);
            Read::take(&mut *value.bytes, SHOWN_BYTES as u64).read_to_end(&mut start)?;
            let is_whole = start.len() as u64 == value.len;
            push(column, &start, is_whole, &mut text);
            if !is_whole {
                text.push('…');
            }
        }
        Ok(Self::new(text))
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }

    /// Appends the text, padded or cut to `width`. The padding has no style.
    pub(super) fn push(&self, width: usize, right: bool, style: Style, line: &mut String) {
        let shown = match self.width > width {
            true => cut(&self.text, width),
            false => &self.text,
        };
        let ellipsis = if self.width > width { "…" } else { "" };
        let pad = width.saturating_sub(shown.width() + ellipsis.width());
        let pad = |line: &mut String| line.extend(std::iter::repeat_n(' ', pad));
        // What is cut starts at the left, also a number.
        let right = right && ellipsis.is_empty();
        if right {
            pad(line);
        }
        if style.is_plain() {
            line.push_str(shown);
            line.push_str(ellipsis);
        } else {
            let _ = write!(line, "{style}{shown}{ellipsis}{style:#}");
        }
        if !right {
            pad(line);
        }
    }
}

/// Columns of a terminal that a value takes, where it is not cut.
pub(in crate::output) fn width(column: &Column, bytes: &[u8]) -> usize {
    let mut text = String::new();
    push(column, bytes, true, &mut text);
    text.width()
}

fn push(column: &Column, bytes: &[u8], is_whole: bool, text: &mut String) {
    if column.kind == Kind::Bytes && !is_readable(bytes, is_whole) {
        text.push_str("0x");
        return push_hex(bytes, text);
    }
    let mut pieces = Pieces::default();
    let mut show = |part: Part<'_>| -> Result<(), std::convert::Infallible> {
        match part {
            Part::Text(part) => push_visible(part, Lines::Escaped, text),
            Part::Bad(bytes) => push_bytes(bytes, text),
        }
        Ok(())
    };
    let Ok(()) = pieces.feed(bytes, &mut show);
    // A character that is cut by our own limit is no error of the value's.
    if is_whole {
        let Ok(()) = pieces.finish(&mut show);
    }
}

/// The start of `text` that leaves room for … in `width`.
fn cut(text: &str, width: usize) -> &str {
    let mut used = 1;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests;
