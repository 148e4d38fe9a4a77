//! A password that is never shown.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use onecopy_mysql_proto::auth::Secret;

use crate::Error;

type Provider = dyn Fn() -> Result<Secret, Box<dyn StdError + Send + Sync>> + Send + Sync;

/// A password, or a function that provides one for each login. It is wiped from memory when dropped, and `Debug` prints `***`.
///
/// # Example
/// ```
/// use onecopy_mysql::{Config, Password};
///
/// let mut config = Config::default();
/// config.password = "secret".into();
/// // A token that changes: read at each login.
/// config.password = Password::from_provider(|| std::fs::read_to_string("/run/secrets/db-token"));
/// assert_eq!(format!("{:?}", config.password), "***");
/// ```
#[derive(Clone, Default)]
pub struct Password(Source);

#[derive(Clone, Default)]
enum Source {
    #[default]
    None,
    Known(Secret),
    Provided(Arc<Provider>),
}

impl Password {
    /// No password.
    pub const NONE: Self = Self(Source::None);

    /// Creates a password that `provider` returns at each login: of a connection, of each connection of a pool, of the connection
    /// that cancels a statement, and of a change of user. It is for tokens that expire. Both APIs call it on the thread that
    /// connects, and no deadline interrupts it: let another thread or task refresh the token, and return the current one.
    pub fn from_provider<P, E>(provider: impl Fn() -> Result<P, E> + Send + Sync + 'static) -> Self
    where
        P: Into<Vec<u8>>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        Self(Source::Provided(Arc::new(move || {
            provider().map(Secret::new).map_err(Into::into)
        })))
    }

    /// Returns whether there is a password, even an empty one.
    pub fn is_some(&self) -> bool {
        !matches!(self.0, Source::None)
    }

    /// Whether it is known to be empty.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Source::None => true,
            Source::Known(secret) => secret.is_empty(),
            Source::Provided(_) => false,
        }
    }

    /// The password of one login.
    pub(crate) fn secret(&self) -> Result<Secret, Error> {
        match &self.0 {
            Source::None => Ok(Secret::default()),
            Source::Known(secret) => Ok(secret.clone()),
            Source::Provided(provider) => provider().map_err(Error::password),
        }
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Self(Source::Known(Secret::new(password.as_bytes())))
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(Source::Known(Secret::new(password.into_bytes())))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "***" } else { "none" })
    }
}
