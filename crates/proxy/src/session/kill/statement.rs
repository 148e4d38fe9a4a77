//! Whether a statement is a `KILL`, and of which session.
//!
//! ```text
//!   [blank] KILL [HARD | SOFT] [CONNECTION | QUERY] number [blank | ;]
//! ```
//!
//! Blank is white space and comments; a comment that servers run, `/*! */`, is looked into. `KILL QUERY ID` names a query by
//! the server's own number and not a session, `KILL USER` a user: these are for the client's own server. What is no plain number,
//! and what else is in the same text, only a server can evaluate, and each would find another thread.

/// What a statement is, as far as it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Found {
    /// Anything else.
    Ordinary,
    /// More of it has to come before it can be told.
    Cut,
    Kill(Kill),
    /// A `KILL` of whom only a server can tell.
    Unclear,
    /// Not a statement: the one that was prepared last is to be executed.
    Last,
}

/// A `KILL` of a session by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Kill {
    pub(in crate::session) id: u32,
    /// MariaDB: `HARD ` or `SOFT `, or empty.
    pub(in crate::session) force: &'static str,
    /// `CONNECTION ` or `QUERY `.
    pub(in crate::session) what: &'static str,
}

impl Kill {
    /// The statement in plain words.
    pub(in crate::session) fn sql(&self) -> String {
        format!("KILL {}{}{}", self.force, self.what, self.id)
    }
}

/// Whether a statement that begins so may be one.
#[inline]
pub(super) fn may_begin(first: u8) -> bool {
    matches!(first, b'K' | b'k' | b'/' | b'-' | b'#')
        || first.is_ascii_whitespace()
        || first == 0x0B
}

/// Looks at a statement, or the beginning of one.
pub(super) fn find(text: &[u8], is_whole: bool) -> Found {
    let mut rest = Rest { text };
    let found = rest.find(is_whole);
    match found {
        Some(Found::Cut) | None if is_whole => Found::Ordinary,
        Some(found) => found,
        None => Found::Cut,
    }
}

/// What was not checked yet.
struct Rest<'a> {
    text: &'a [u8],
}

impl<'a> Rest<'a> {
    /// `None` where a comment has no end.
    fn find(&mut self, is_whole: bool) -> Option<Found> {
        self.skip_blank()?;
        let word = self.word();
        if self.text.is_empty() && !is_whole {
            let may_become = b"KILL".get(..word.len());
            let is_beginning = may_become.is_some_and(|kill| kill.eq_ignore_ascii_case(word));
            return Some(if is_beginning {
                Found::Cut
            } else {
                Found::Ordinary
            });
        }
        if !word.eq_ignore_ascii_case(b"KILL") {
            return Some(Found::Ordinary);
        }
        if !is_whole {
            return Some(Found::Cut);
        }
        self.skip_blank()?;
        let force = self.one_of(&["HARD ", "SOFT "])?;
        let what = self.one_of(&["CONNECTION ", "QUERY "])?;
        let digits = self.word();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let id = str::from_utf8(digits).ok().and_then(|id| id.parse().ok());
        let is_of_others = |word: &str| digits.eq_ignore_ascii_case(word.as_bytes());
        let id = match id {
            Some(id) if is_number => id,
            // No thread has such a number.
            _ if is_number || is_of_others("USER") => return Some(Found::Ordinary),
            _ if is_of_others("ID") && what == "QUERY " => return Some(Found::Ordinary),
            // A syntax error.
            _ if digits.is_empty() && self.text.is_empty() => return Some(Found::Ordinary),
            _ => return Some(Found::Unclear),
        };
        loop {
            self.skip_blank()?;
            match self.text.split_first() {
                None => break,
                Some((b';', rest)) => self.text = rest,
                Some(_) => return Some(Found::Unclear),
            }
        }
        let what = if what.is_empty() { "CONNECTION " } else { what };
        Some(Found::Kill(Kill { id, force, what }))
    }

    /// Takes one of these words, where it comes next, and the blank behind it.
    fn one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let before = self.text;
        let next = self.word();
        for word in words {
            if next.eq_ignore_ascii_case(word.trim_end().as_bytes()) {
                self.skip_blank()?;
                return Some(word);
            }
        }
        self.text = before;
        Some("")
    }

    /// Takes letters, digits and underscores.
    fn word(&mut self) -> &'a [u8] {
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
        let end = self.text.iter().position(is_end);
        let (word, rest) = self.text.split_at(end.unwrap_or(self.text.len()));
        self.text = rest;
        word
    }

    /// Takes white space and comments; `None` where one of them does not end.
    fn skip_blank(&mut self) -> Option<()> {
        loop {
            let blank = |byte: &u8| !byte.is_ascii_whitespace() && *byte != 0x0B;
            let skipped = self.text.iter().position(blank).unwrap_or(self.text.len());
            self.text = &self.text[skipped..];
            match self.text {
                // To be run: what is in it counts.
                [b'/', b'*', b'!', rest @ ..] | [b'/', b'*', b'M', b'!', rest @ ..] => {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    self.text = &rest[digits.min(6)..];
                }
                [b'*', b'/', rest @ ..] => self.text = rest,
                [b'/', b'*', rest @ ..] => {
                    let end = rest.windows(2).position(|two| two == b"*/")?;
                    self.text = &rest[end + 2..];
                }
                [b'#', ..] | [b'-', b'-'] => self.skip_line()?,
                [b'-', b'-', next, ..] if next.is_ascii_whitespace() || next.is_ascii_control() => {
                    self.skip_line()?;
                }
                [b'/'] | [b'-'] => return None,
                _ => return Some(()),
            }
        }
    }

    fn skip_line(&mut self) -> Option<()> {
        let end = self.text.iter().position(|&byte| byte == b'\n')?;
        self.text = &self.text[end + 1..];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Kill = Kill {
        id: 12,
        force: "",
        what: "CONNECTION ",
    };

    #[test]
    fn every_form_of_a_kill_is_seen() {
        let query = Kill {
            what: "QUERY ",
            ..PLAIN
        };
        for (text, kill) in [
            ("KILL 12", PLAIN),
            ("kill connection 12;", PLAIN),
            ("\t KiLL\n12 ; ", PLAIN),
            ("/* from a tool */ KILL 12 /* now */", PLAIN),
            ("-- why\nKILL 12", PLAIN),
            ("# why\n#\nKILL/**/12", PLAIN),
            ("/*!50000 KILL 12 */", PLAIN),
            ("/*M! KILL 12 */", PLAIN),
            ("KILL QUERY 12", query),
            (
                "KILL SOFT 12",
                Kill {
                    force: "SOFT ",
                    ..PLAIN
                },
            ),
            (
                "KILL HARD QUERY 12",
                Kill {
                    force: "HARD ",
                    ..query
                },
            ),
        ] {
            assert_eq!(find(text.as_bytes(), true), Found::Kill(kill), "{text}");
            assert!(may_begin(text.as_bytes()[0]), "{text}");
        }
        assert_eq!(PLAIN.sql(), "KILL CONNECTION 12");
        assert_eq!(
            Kill {
                force: "HARD ",
                ..query
            }
            .sql(),
            "KILL HARD QUERY 12"
        );
    }

    #[test]
    fn what_only_the_server_can_tell_is_left_to_it() {
        for text in [
            "",
            "KILL",
            "KILL QUERY ID 12",
            "KILL USER app",
            "KILL SOFT QUERY ID 12",
            "KILL CONNECTION USER app",
            "KILL QUERY",
            "KILL 99999999999",
            "KILL12",
            "SELECT 'KILL 12'",
            "/* KILL 12 */ SELECT 1",
            "/* KILL 12",
            "-- KILL 12",
            "--KILL 12",
            "/",
        ] {
            assert_eq!(find(text.as_bytes(), true), Found::Ordinary, "{text}");
        }
    }

    #[test]
    fn what_every_server_would_tell_otherwise_is_seen() {
        for text in [
            "KILL 12 + 1",
            "KILL 12; SELECT 1",
            "KILL @id",
            "KILL QUERY ?",
            "kill ?",
            "KILL (12)",
            "KILL '12'",
            "KILL CONNECTION_ID()",
            "KILL ID",
            "/*! KILL -1 */",
            "KILL 0x0C",
        ] {
            assert_eq!(find(text.as_bytes(), true), Found::Unclear, "{text}");
        }
    }

    #[test]
    fn a_kill_cut_at_any_byte_waits_for_the_rest() {
        let text = b" /* a */ -- b\n /*M!100 KILL HARD QUERY 12 */ ;";
        for cut in 0..text.len() {
            assert_eq!(find(&text[..cut], false), Found::Cut, "cut at {cut}");
        }
        assert!(matches!(find(text, true), Found::Kill(_)));
    }

    #[test]
    fn others_are_told_as_soon_as_they_can_be() {
        for text in ["S", "KX", "/* a */S", "KILLER", "(", "-1"] {
            assert_eq!(find(text.as_bytes(), false), Found::Ordinary, "{text}");
        }
    }
}
