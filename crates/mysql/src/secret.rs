//! A password that is never shown.

use std::fmt;

use onecopy_mysql_proto::auth::Secret;

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

    pub(crate) fn to_secret(&self) -> Secret {
        self.0.clone().unwrap_or_default()
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
