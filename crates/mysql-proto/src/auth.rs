//! Authentication: the computation of each plugin, and the client's and the server's side of the exchange.
//!
//! How a password may be sent over each kind of connection:
//!
//! | plugin                                              | plain     | Unix socket | TLS, verified | TLS, not verified |
//! |-----------------------------------------------------|-----------|-------------|---------------|-------------------|
//! | `mysql_native_password`, `client_ed25519`, `parsec` | hash      | hash        | hash          | hash              |
//! | `caching_sha2_password`, in the server's cache      | hash      | hash        | hash          | hash              |
//! | `caching_sha2_password`, otherwise                  | encrypted | clear       | clear         | clear, by opt-in  |
//! | `sha256_password`                                   | encrypted | encrypted   | clear         | clear, by opt-in  |
//! | `mysql_clear_password`, answers of `dialog`         | no        | by opt-in   | by opt-in     | no                |
//! | `mysql_old_password`                                | no        | no          | no            | no                |
//!
//! "Clear" is the password itself. "Encrypted" is encrypted with the server's RSA public key, if the caller provides it. Without
//! it, over a Unix socket, the key that the server sends is used. Over plain TCP that key is used only by opt-in; by default the
//! login fails. See [`rsa`].
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
mod dialog;
mod error;
mod nonce;
mod options;
mod plugin;
mod proof;
mod public_key;
mod secret;
mod server;
mod sha_crypt;

pub use channel::Channel;
pub use client::{AuthAction, ClientAuth, MAX_STEPS};
pub use crypto::{Crypto, CryptoError, NoCrypto, PrivateKey};
pub use dialog::{Answer, Dialog, Question};
pub use error::AuthError;
pub use options::AuthOptions;
pub use plugin::{Plugin, PluginSet};
pub use proof::{Fingerprint, PROVABLE};
pub use public_key::{MAX_KEY_BITS, MAX_PEM_BYTES, MIN_KEY_BITS, PublicKey, PublicKeyError};
pub use secret::Secret;
pub use server::{ServerAuth, ServerAuthAction, Verifier};
