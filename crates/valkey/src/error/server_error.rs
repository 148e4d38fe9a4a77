//! An error that the server sent.

use std::fmt;

use crate::shown::{one_line, shown, shown_bytes};

/// An error that the server sent as a reply. The connection stays usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    text: String,
    code_len: usize,
}

impl ServerError {
    /// Creates it from the text of a reply, of which at most 1 KiB is kept. If the server does not know a command, its text
    /// repeats the arguments: they are removed, because they may contain passwords.
    #[cold]
    pub fn new(text: &[u8]) -> Self {
        let text = shown(shown_bytes(without_arguments(text)));
        let code_len = text.find(' ').unwrap_or(text.len());
        Self { text, code_len }
    }

    /// Returns the first word: `WRONGTYPE`, `NOAUTH`, `READONLY`, or `ERR` if there is no specific code.
    pub fn code(&self) -> &str {
        &self.text[..self.code_len]
    }

    /// The code and the text after it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text after the code. Bytes that are not UTF-8 become the replacement character. Control characters are kept
    /// here, and escaped when the error is displayed.
    pub fn message(&self) -> &str {
        self.text[self.code_len..].trim_start_matches(' ')
    }
}

/// What stands before the arguments in `ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' ...`.
fn without_arguments(text: &[u8]) -> &[u8] {
    const ARGUMENTS: &[u8] = b", with args beginning with";
    let mut windows = text.windows(ARGUMENTS.len());
    let at = windows.position(|window| window == ARGUMENTS);
    at.map_or(text, |at| &text[..at])
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server error: {}", one_line(&self.text))
    }
}

/// Whether UNBLOCKED says that the server became a replica, and not that somebody has sent CLIENT UNBLOCK.
pub(crate) fn ends_by_role(text: &[u8]) -> bool {
    text.starts_with(b"UNBLOCKED force unblock")
}
