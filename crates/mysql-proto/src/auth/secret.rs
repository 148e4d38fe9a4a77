//! Bytes that are wiped when dropped and never shown.

use core::fmt;

use zeroize::Zeroizing;

/// A password, or what is sent in its place. It is wiped on drop, and `Debug` prints `***`.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes ownership of the bytes; a `String` or `Vec` is not copied.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// Returns the bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether there are no bytes, which means an account without a password.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests;
