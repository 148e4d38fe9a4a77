//! The answer to `\?`.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::command::{Entry, table};

/// The names and the argument of a command take so much; the text follows.
const NAMES: usize = 35;

/// Columns of a terminal that it has to fit.
const WIDTH: usize = 80;

const KEYS: &str = "\
Keys
  Enter       runs a statement that ends with ; otherwise begins a new line
  Tab         completes keywords, databases, tables, columns and functions
  Up, Down    lines of the statement, then the history; Ctrl-R searches it
  Right, End  accepts the dimmed suggestion from the history
  Ctrl-C      cancels the running statement on the server, or clears the line
  Ctrl-D      exits

Statements with a password, and those that begin with a space, are not stored in
the history.
";

/// All commands.
pub(super) fn text() -> String {
    let mut text = String::new();
    for entry in table() {
        if !entry.heading.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", entry.heading);
        }
        push(entry, &mut text);
    }
    text + "\n" + KEYS
}

fn push(entry: Entry, text: &mut String) {
    let names = match (entry.letters, entry.word) {
        ("", word) => format!("      {word}"),
        (letters, "") => letters.to_owned(),
        (letters, word) => format!("{letters}, {word}"),
    };
    let names = format!("  {names} {}", entry.argument);
    let pad = NAMES.saturating_sub(names.width());
    let _ = write!(text, "{names}{}", " ".repeat(pad));
    let mut column = NAMES;
    for (index, word) in entry.text.split(' ').enumerate() {
        if column + 1 + word.width() > WIDTH {
            let _ = write!(text, "\n{}", " ".repeat(NAMES));
            column = NAMES;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.width();
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_its_lines_and_they_fit_a_terminal() {
        let text = text();
        for line in text.lines() {
            assert!(line.width() <= WIDTH && line.trim_end() == line, "{line}");
        }
        for name in [
            "\\G",
            "\\watch [SECONDS] [STATEMENT]",
            "\\., source FILE",
            "DELIMITER TEXT",
        ] {
            assert!(text.contains(name), "{name} in {text}");
        }
    }
}
