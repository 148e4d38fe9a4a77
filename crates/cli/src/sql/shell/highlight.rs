//! Colours of what is typed.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::completion::is_keyword;
use super::lexer::{Kind, Token, tokens};
use crate::output::style::{ABSENT, NUMBER, PLAIN};

const KEYWORD: Style = AnsiColor::Blue.on_default().bold();
const TEXT: Style = AnsiColor::Green.on_default();
const VARIABLE: Style = AnsiColor::Magenta.on_default();

/// A longer text is not coloured: it is looked at with each key. 16 KiB.
const LONGEST: usize = 16 << 10;

/// The text with its colours.
pub(super) fn highlight(text: &str) -> Cow<'_, str> {
    if !is_coloured(text) {
        return Cow::Borrowed(text);
    }
    let mut coloured = String::with_capacity(2 * text.len());
    for token in tokens(text) {
        let style = style(token);
        let _ = write!(coloured, "{style}{}{style:#}", token.text);
    }
    Cow::Owned(coloured)
}

/// Whether [`highlight`] does anything.
pub(super) fn is_coloured(text: &str) -> bool {
    text.len() <= LONGEST && !text.starts_with('\\')
}

fn style(token: Token<'_>) -> Style {
    match token.kind {
        Kind::Word if is_keyword(token.text) => KEYWORD,
        Kind::Text => TEXT,
        Kind::Number => NUMBER,
        Kind::Variable => VARIABLE,
        Kind::Comment => ABSENT,
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_texts_and_comments_have_colours_and_nothing_else_changes() {
        let text = "select 'é', id, 1 from t -- rest";
        let coloured = highlight(text);
        assert!(
            coloured.contains("\x1b[1m\x1b[34mselect\x1b[0m"),
            "{coloured:?}"
        );
        assert!(coloured.contains("\x1b[32m'é'\x1b[0m"), "{coloured:?}");
        assert!(coloured.contains(" id, "), "{coloured:?}");
        let plain = anstream::adapter::strip_str(&coloured).to_string();
        assert_eq!(plain, text);
        let long = "select ".repeat(LONGEST);
        assert_eq!(highlight(&long), long);
    }
}
