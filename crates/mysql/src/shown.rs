//! Limits how much of a name or cause of any length an error shows.

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
    fn a_name_is_cut_too() {
        assert_eq!(shown_bytes(b"n\xE4me"), "n\u{FFFD}me");
        assert!(shown_bytes(&[0xFF; 5000]).len() < 4 << 10);
    }
}
