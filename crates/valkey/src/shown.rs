//! Limits the names and causes that errors show, because a peer may make them arbitrarily long.

use std::fmt::{self, Display, Write};

/// Bytes of a text that an error shows at most: 1 KiB, more than the longest name that servers have.
const MOST: usize = 1 << 10;

/// What `text` shows, cut after 1 KiB, so that an error never needs memory that it may not get.
#[cold]
pub(crate) fn shown(text: impl Display) -> String {
    let mut short = Short(String::new());
    // The only failure is the one that ends it early.
    let _ = write!(short, "{text}");
    short.0
}

/// A name that came as bytes, cut before they become text.
#[cold]
pub(crate) fn shown_bytes(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name.get(..MOST).unwrap_or(name))
}

/// A peer's text on one line of an error or a log: control characters, line ends among them, are shown escaped.
#[cold]
pub(crate) fn one_line(text: &str) -> impl Display + '_ {
    fmt::from_fn(move |f| {
        text.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })
    })
}

struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MOST - self.0.len();
        let fits = text.floor_char_boundary(room);
        self.0.push_str(&text[..fits]);
        if fits < text.len() {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters_however_it_is_written() {
        assert_eq!(shown("short"), "short");
        assert_eq!(shown("x".repeat(5000)), "x".repeat(MOST));
        let wide = "\u{20AC}".repeat(400);
        assert_eq!(shown(format_args!("{}{}", wide, 7)), "\u{20AC}".repeat(341));
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            one_line("a\r\nb\u{1b}[1m\u{e9}").to_string(),
            "a\\r\\nb\\u{1b}[1m\u{e9}"
        );
    }

    #[test]
    fn a_name_is_cut_too() {
        assert_eq!(shown_bytes(b"n\xE4me"), "n\u{FFFD}me");
        assert!(shown_bytes(&[0xFF; 5000]).len() < 4 << 10);
    }
}
