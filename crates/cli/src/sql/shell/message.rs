//! Lines that the shell says, wrapped between words at the width of the screen.

use unicode_width::UnicodeWidthStr;

use super::settings::Screen;
use crate::failure;

/// On standard error, as [`failure::say`] has it.
pub(super) fn say(text: &str) {
    failure::say(&fitted(text));
}

/// The text with its lines wrapped.
pub(super) fn fitted(text: &str) -> String {
    match Screen::now() {
        Some(screen) => wrapped(text, screen.width),
        None => text.to_owned(),
    }
}

/// A line that begins so shows a part of a statement, which is not to be wrapped.
const QUOTED: &str = "   ";

fn wrapped(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for (index, line) in text.lines().enumerate() {
        if index > 0 {
            wrapped.push('\n');
        }
        match line.starts_with(QUOTED) {
            true => wrapped.push_str(line),
            false => push(line, width, &mut wrapped),
        }
    }
    wrapped
}

fn push(line: &str, width: usize, into: &mut String) {
    let mut column = 0;
    for (index, word) in line.split(' ').enumerate() {
        let len = anstream::adapter::strip_str(word).to_string().width();
        if index > 0 && column > 0 && column + 1 + len > width {
            into.push('\n');
            column = 0;
        } else if index > 0 {
            into.push(' ');
            column += 1;
        }
        into.push_str(word);
        column += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_next_line_whole_and_statements_stay() {
        assert_eq!(wrapped("one two three", 8), "one two\nthree");
        assert_eq!(wrapped("one two", 7), "one two");
        assert_eq!(wrapped(" hint: two", 7), " hint:\ntwo");
        assert_eq!(wrapped("abcdefghijk b", 5), "abcdefghijk\nb");
        assert_eq!(
            wrapped("a\n   at: b c d e f\nc", 5),
            "a\n   at: b c d e f\nc"
        );
        // Colours take no room.
        assert_eq!(wrapped("\x1b[1mone\x1b[0m two", 7), "\x1b[1mone\x1b[0m two");
    }
}
