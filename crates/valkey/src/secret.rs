//! A password that is never shown.

use std::fmt;

use onecopy_resp_proto::Secret;

use crate::command::{Raw, raw};

/// A password. It is wiped from memory when dropped, and `Debug` prints `***`.
#[derive(Clone, Default)]
pub struct Password(Option<Secret>);

impl Password {
    /// No password.
    pub const NONE: Self = Self(None);

    /// Returns whether there is a password, even an empty one.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The command that logs in by it.
    pub(crate) fn auth<'p>(&'p self, user: Option<&'p str>) -> Raw<'p> {
        let password = self.0.as_ref().map_or(&[][..], Secret::expose);
        match user {
            Some(user) => raw("AUTH").arg(user).arg(password),
            None => raw("AUTH").arg(password),
        }
    }

    pub(crate) fn to_secret(&self) -> Option<Secret> {
        self.0.clone()
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Self(Some(Secret::new(password.as_bytes())))
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(Some(Secret::new(password.into_bytes())))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "***" } else { "none" })
    }
}
