//! Authentication: each plugin's arithmetic, the client's side of the exchange and the server's.
//!
//! What a password may be sent over:
//!
//! | plugin                                              | plain       | Unix socket | TLS, verified | TLS, not verified |
//! |-----------------------------------------------------|-------------|-------------|---------------|-------------------|
//! | `mysql_native_password`, `client_ed25519`, `parsec` | hash        | hash        | hash          | hash              |
//! | `caching_sha2_password`, the server knows it        | hash        | hash        | hash          | hash              |
//! | `caching_sha2_password` else                        | under a key | itself      | itself        | by opt-in         |
//! | `sha256_password`                                   | under a key | under a key | itself        | by opt-in         |
//! | `mysql_clear_password`                              | no          | by opt-in   | by opt-in     | no                |
//! | `mysql_old_password`                                | no          | no          | no            | no                |
//!
//! "Under a key": under the server's RSA key where the caller has given it; over a Unix socket else under the one that the
//! server hands over; over clear text under that one by opt-in, and not at all by default. See [`rsa`].
#![deny(clippy::indexing_slicing)]

pub mod caching_sha2;
pub mod clear_password;
pub mod ed25519;
pub mod native_password;
pub mod parsec;
pub mod rsa;

mod channel;
mod client;
mod crypto;
mod error;
mod nonce;
mod options;
mod plugin;
mod public_key;
mod secret;
mod server;

pub use channel::Channel;
pub use client::{AuthAction, ClientAuth, MAX_STEPS};
pub use crypto::{Crypto, CryptoError, NoCrypto};
pub use error::AuthError;
pub use options::AuthOptions;
pub use plugin::{Plugin, PluginSet};
pub use public_key::{MAX_KEY_BITS, MAX_PEM_BYTES, MIN_KEY_BITS, PublicKey, PublicKeyError};
pub use secret::Secret;
pub use server::{ServerAuth, ServerAuthAction, Verifier};
