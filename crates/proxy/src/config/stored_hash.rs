//! What a server stores of a password.

use std::sync::Arc;

use onecopy_mysql_proto::auth::{caching_sha2, native_password};

/// What a server stores of a password, for an account whose password the configuration does not have.
///
/// `Debug` does not show it: it allows offline guessing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredHash {
    /// Of `mysql_native_password`. Clients and the proxy log in with this plugin: the proxy with what the first client has proven to know.
    NativePassword(native_password::Verifier),
    /// Of `caching_sha2_password`. The first client has to send its password, over TLS, a Unix socket, or encrypted; the proxy keeps it in
    /// memory to log in to the servers with.
    CachingSha2Password(Arc<caching_sha2::StoredPassword>),
}

impl StoredHash {
    /// Reads what `mysql.user` has as `authentication_string`: `*` and 40 hexadecimal digits, or `$A$`, three digits, `$`, 20 bytes and 43 characters;
    /// the latter also as `0x` and hexadecimal digits. `None` if it is anything else, or needs more than 32,000 rounds.
    pub fn from_text(text: &str) -> Option<Self> {
        match native_password::Verifier::from_text(text) {
            Some(hash) => Some(Self::NativePassword(hash)),
            None => caching_sha2::StoredPassword::from_text(text)
                .map(|stored| Self::CachingSha2Password(Arc::new(stored))),
        }
    }
}
