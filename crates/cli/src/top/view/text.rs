//! Text that fits: cut, wrapped, and put on the screen within an area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Writes into the first line of the area, from a column of it on, as much as fits. Returns the column behind.
pub(super) fn put(buffer: &mut Buffer, area: Rect, x: u16, text: &str, style: Style) -> u16 {
    let area = area.intersection(buffer.area);
    if area.height == 0 || x >= area.width {
        return x;
    }
    let text = cut(text, usize::from(area.width - x));
    let width = usize::from(area.width - x);
    let (end, _) = buffer.set_stringn(area.x + x, area.y, text, width, style);
    end - area.x
}

/// The text, or its start with `…` if it is wider.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let mut start = String::new();
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used > width {
            break;
        }
        start.push(character);
    }
    if width > 0 {
        start.push('…');
    }
    start
}

/// Lines of at most this width, broken between words if possible. What does not fit so many lines is cut.
pub(super) fn wrap(text: &str, width: usize, lines: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && wrapped.len() < lines {
        if rest.width() <= width || wrapped.len() + 1 == lines {
            wrapped.push(cut(rest, width));
            break;
        }
        let end = fitting(rest, width);
        let (line, behind) = rest.split_at(end);
        wrapped.push(line.trim_end().to_owned());
        rest = behind.trim_start();
    }
    wrapped
}

/// Bytes of the text that fit: up to the last space, or to the last character. At least one, so that there is an end.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut space = None;
    for (at, character) in text.char_indices() {
        if character == ' ' {
            space = Some(at);
        }
        used += character.width().unwrap_or_default();
        if used > width {
            let first = text.chars().next().map_or(0, char::len_utf8);
            return space.filter(|&at| at > 0).unwrap_or(at.max(first));
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_a_terminal_shows() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
        }
    }

    #[test]
    fn lines_break_between_words_and_always_end() {
        assert_eq!(wrap("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrap("one two three", 7, 1), ["one tw…"]);
        assert_eq!(wrap("abcdefgh", 3, 9), ["abc", "def", "gh"]);
        assert_eq!(wrap("日本", 1, 9), ["日", "本"]);
        assert_eq!(wrap("", 3, 9), Vec::<String>::new());
        assert!(wrap("a b", 0, 3).len() <= 3);
    }
}
