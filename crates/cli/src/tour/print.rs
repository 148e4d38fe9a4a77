//! Text for a person: wrapped, with a little colour on a terminal, without it where NO_COLOR is set.

use anstream::println;
use anstyle::{AnsiColor, Style};

/// Narrow enough for every terminal, and for the eye.
const WIDTH: usize = 84;

const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const INDENT: &str = "  ";

/// A headline.
pub(super) fn title(text: &str) {
    println!("\n{BOLD}{text}{BOLD:#}");
}

/// A paragraph.
pub(super) fn plain(text: &str) {
    for line in wrapped(text, WIDTH) {
        println!("{INDENT}{line}");
    }
}

/// What a stop has shown.
pub(super) fn shown(text: &str) {
    for line in wrapped(text, WIDTH) {
        println!("{INDENT}{GREEN}{line}{GREEN:#}");
    }
}

/// A line of a table, as it is.
pub(super) fn line(text: &str) {
    println!("{INDENT}{}", text.trim_end());
}

/// An empty line.
pub(super) fn gap() {
    println!();
}

/// One thing of a list, and how it is done.
pub(super) fn item(what: &str, how: &str) {
    println!("{INDENT}{what:<32}{BOLD}{how}{BOLD:#}");
}

/// Breaks at spaces; a longer word stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}
