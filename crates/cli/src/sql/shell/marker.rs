//! Where in a statement the server found an error, as far as its message tells.

use std::fmt;

use onecopy_mysql::ServerError;
use unicode_width::UnicodeWidthStr;

use super::lexer::{Kind, Token, tokens};
use crate::output::text::{Lines, push_visible};

/// A line of the statement, and a sign below the place. Shown behind `   at: `.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    line: String,
    /// Columns of the terminal in front of the place.
    column: usize,
    /// What is put in front of the line, where there are several.
    label: String,
}

impl Marker {
    /// `None` where the message does not tell.
    pub(super) fn of(sql: &str, error: &ServerError) -> Option<Self> {
        let at = match error.code {
            1064 => syntax(sql, &error.message)?,
            1054 | 1146 | 1305 | 1109 | 1051 | 1091 | 1176 => named(sql, &error.message)?,
            _ => return None,
        };
        Some(Self::at(sql, at))
    }

    fn at(sql: &str, at: usize) -> Self {
        let start = sql[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = sql[at..].find('\n').map_or(sql.len(), |end| at + end);
        let number = sql[..at].matches('\n').count() + 1;
        let label = match sql.contains('\n') {
            true => format!("line {number}: "),
            false => String::new(),
        };
        let (before, is_cut) = last(&sql[start..at]);
        let mut line = String::from(if is_cut { "…" } else { "" });
        push_visible(before, Lines::Escaped, &mut line);
        let column = line.width();
        let behind: String = sql[at..end].chars().take(BEHIND).collect();
        push_visible(&behind, Lines::Escaped, &mut line);
        Self {
            line,
            column,
            label,
        }
    }
}

/// Characters of the line that are shown in front of the place and behind it.
const BEFORE: usize = 40;
const BEHIND: usize = 30;

fn last(text: &str) -> (&str, bool) {
    match text.char_indices().rev().nth(BEFORE) {
        Some((at, _)) => (&text[at..], true),
        None => (text, false),
    }
}

/// What stands in front of the place in a failure's line, `   at: `.
const INDENT: usize = 7;

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = INDENT + self.label.len() + self.column;
        write!(f, "{}{}\n{}^", self.label, self.line, " ".repeat(column))
    }
}

/// Servers show at most so many bytes of what they could not read.
const NEAR: usize = 80;

/// `near 'TEXT' at line N`: the text goes to the end of the statement, unless it was cut.
fn syntax(sql: &str, message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("near '")?;
    let (near, line) = rest.rsplit_once("' at line ")?;
    let line: usize = line.trim().parse().ok()?;
    if near.is_empty() {
        return Some(sql.trim_end().len());
    }
    if near.len() < NEAR && sql.ends_with(near) {
        return Some(sql.len() - near.len());
    }
    let mut places = sql.match_indices(near).map(|(at, _)| at);
    places.find(|&at| sql[..at].matches('\n').count() + 1 == line)
}

/// A name in quotes, `'shop.custmer'`: the only word of the statement that is its last part.
fn named(sql: &str, message: &str) -> Option<usize> {
    let name = message.split('\'').nth(1)?;
    let last = name.rsplit('.').next()?;
    let is_it = |token: &Token<'_>| {
        matches!(token.kind, Kind::Word | Kind::Name)
            && token
                .name()
                .is_some_and(|name| name.eq_ignore_ascii_case(last))
    };
    let mut places = tokens(sql).filter(is_it).map(|token| token.at);
    let first = places.next()?;
    // Which of several it is, nobody knows.
    places.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sql: &str, code: u16, message: &str) -> Option<String> {
        let at = match code {
            1064 => syntax(sql, message),
            _ => named(sql, message),
        };
        at.map(|at| format!("   at: {}", Marker::at(sql, at)))
    }

    #[test]
    fn the_place_of_a_syntax_error_is_marked() {
        let message = "You have an error in your SQL syntax; check the manual for the right syntax to use near 'FORM t' at line 1";
        assert_eq!(
            shown("SELECT * FORM t", 1064, message).unwrap(),
            "   at: SELECT * FORM t\n                ^"
        );
        let message = "... to use near 'WHER a = 1' at line 2";
        assert_eq!(
            shown("SELECT *\nFROM té WHER a = 1", 1064, message).unwrap(),
            "   at: line 2: FROM té WHER a = 1\n                       ^"
        );
        let message = "... to use near '' at line 1";
        assert_eq!(
            shown("SELECT", 1064, message).unwrap(),
            "   at: SELECT\n             ^"
        );
        assert_eq!(shown("SELECT", 1064, "... near 'x' at line 1"), None);
    }

    #[test]
    fn a_name_that_is_there_once_is_marked() {
        let message = "Table 'shop.custmer' doesn't exist";
        assert_eq!(
            shown("SELECT * FROM custmer", 1146, message).unwrap(),
            "   at: SELECT * FROM custmer\n                     ^"
        );
        assert_eq!(
            shown(
                "SELECT a, a FROM t",
                1054,
                "Unknown column 'a' in 'field list'"
            ),
            None
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let sql = format!("SELECT {} FORM {}", "a, ".repeat(100), "t".repeat(100));
        let shown = shown(
            &sql,
            1064,
            &format!("near 'FORM {}' at line 1", "t".repeat(75)),
        )
        .unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.width() <= 80), "{shown}");
        assert!(lines[0].starts_with("   at: …"), "{shown}");
        let place = lines[1].find('^').unwrap();
        assert!(
            lines[0]
                .chars()
                .skip(place)
                .collect::<String>()
                .starts_with("FORM"),
            "{shown}"
        );
    }
}
