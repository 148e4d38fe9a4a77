//! `dialog`: the server asks questions in plain text, as PAM does, and the client sends the answers.
//!
//! | bytes | field    | note                                                                     |
//! |-------|----------|--------------------------------------------------------------------------|
//! | 1     | kind     | 0x02, or 0x04 for an answer that is not to be shown; 1 more for the last one |
//! | rest  | question |                                                                          |
//!
//! The answer is text and a NUL. Any server can ask for a password so. The plugin therefore requires both the caller's permission
//! ([`PluginSet::DIALOG`](super::PluginSet::DIALOG)) and a verified channel, as `mysql_clear_password` does.
//!
//! <https://mariadb.com/kb/en/authentication-plugin-pam/#dialog>

use core::fmt;
use std::sync::Arc;

use super::error::AuthError;
use super::secret::Secret;
use crate::codec::{DecodeErrorKind, Reader};

const NAME: &str = "dialog question";

/// The kinds of questions: the last one of each pair is the last question.
const KINDS: core::ops::RangeInclusive<u8> = 0x02..=0x05;

/// A question of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The text, which is the server's and may be anything.
    pub text: &'a [u8],
    /// Whether the answer is a secret, not to be shown while it is typed.
    pub is_secret: bool,
    /// Whether no other question follows.
    pub is_last: bool,
}

/// Answers the questions of a server.
pub type Answer = dyn Fn(&Question<'_>) -> Option<Secret> + Send + Sync;

/// What answers questions. Its first answer to a secret question is the account's password, if there is one.
#[derive(Clone)]
pub struct Dialog(Arc<Answer>);

impl Dialog {
    /// Creates it from a function, which returns `None` to give up. It is called during the login and should not block for long.
    pub fn new(answer: impl Fn(&Question<'_>) -> Option<Secret> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    pub(super) fn answer(&self, question: &Question<'_>) -> Option<Secret> {
        (self.0)(question)
    }
}

impl fmt::Debug for Dialog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialog")
    }
}

/// Whether a question begins with this byte.
pub(super) fn is_question(first: u8) -> bool {
    KINDS.contains(&first)
}

impl<'a> Question<'a> {
    /// Decodes a question.
    ///
    /// # Errors
    /// Fails on another kind.
    pub fn decode(data: &'a [u8]) -> Result<Self, AuthError> {
        const SECRET: u8 = 0x04;
        let mut reader = Reader::new(NAME, data);
        let start = reader.clone();
        let kind = reader.u8("kind")?;
        if !is_question(kind) {
            return Err(start.error("kind", DecodeErrorKind::BadValue).into());
        }
        Ok(Self {
            text: reader.rest(),
            is_secret: kind & SECRET != 0,
            is_last: kind & 1 != 0,
        })
    }
}
