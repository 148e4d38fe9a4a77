//! Authentication: each plugin's arithmetic, the client's side of the exchange and the server's.
//!
//! What a password may be sent over:
//!
//! | plugin                                          | plain | Unix socket | TLS, verified | TLS, not verified |
//! |-------------------------------------------------|-------|-------------|---------------|-------------------|
//! | `mysql_native_password`, `client_ed25519`       | hash  | hash        | hash          | hash              |
//! | `caching_sha2_password`, the server knows it    | hash  | hash        | hash          | hash              |
//! | `caching_sha2_password` else, `sha256_password` | no    | itself      | itself        | by opt-in         |
//! | `mysql_clear_password`                          | no    | by opt-in   | by opt-in     | no                |
//! | `mysql_old_password`                            | no    | no          | no            | no                |
#![deny(clippy::indexing_slicing)]

pub mod caching_sha2;
pub mod clear_password;
pub mod ed25519;
pub mod native_password;

mod channel;
mod client;
mod error;
mod nonce;
mod plugin;
mod secret;
mod server;

pub use channel::Channel;
pub use client::{AuthAction, AuthOptions, ClientAuth, MAX_STEPS};
pub use error::AuthError;
pub use plugin::{Plugin, PluginSet};
pub use secret::Secret;
pub use server::{ServerAuth, ServerAuthAction, Verifier};
