//! The character set that the server assumes for the client's text.

use super::core::ClientCore;
use crate::charset::{CollationId, extends_ascii};
use crate::packet::SessionChange;

const UTF8MB4: &str = "utf8mb4";
const UTF8MB3: &str = "utf8mb3";

/// The session's `character_set_client`: what the login asks for, then what the server reports by session tracking. Both
/// servers track this variable by default. Empty for one that is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharacterSet(pub(super) &'static str);

impl Default for CharacterSet {
    fn default() -> Self {
        Self(UTF8MB4)
    }
}

impl CharacterSet {
    fn named(name: &[u8]) -> Self {
        // The alias of servers before MariaDB 10.6 and MySQL 8.0.29.
        if name == b"utf8" {
            return Self(UTF8MB3);
        }
        let mut names = (1..=u8::MAX).filter_map(|id| CollationId(id.into()).charset_name());
        Self(
            names
                .find(|known| known.as_bytes() == name)
                .unwrap_or_default(),
        )
    }

    /// Whether the server reads `text` as what it is.
    pub(super) fn takes(self, collation: CollationId, text: &[u8]) -> bool {
        if text.is_ascii() && extends_ascii(self.0) && collation.extends_ascii() {
            return true;
        }
        if !collation.may_be_utf8() {
            return collation.charset_name() == Some(self.0);
        }
        // MariaDB keeps the definitions of a statement whose results it sends in another character set since: not every
        // text is what its collation says.
        let has_four_bytes = || text.iter().any(|&byte| byte >= 0xF0);
        match self.0 {
            UTF8MB4 => str::from_utf8(text).is_ok(),
            UTF8MB3 => str::from_utf8(text).is_ok() && !has_four_bytes(),
            _ => false,
        }
    }
}

impl ClientCore {
    /// The last OK packet reported changes.
    #[cold]
    pub(super) fn note_changes(&mut self) {
        self.note_gtids();
        // A malformed change ends the list; the caller that asks for the changes gets the error.
        for change in self.session_changes().iter().flatten() {
            if let SessionChange::SystemVariable { name, value } = change
                && name == b"character_set_client"
            {
                self.character_set = CharacterSet::named(value);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
