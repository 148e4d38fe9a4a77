//! What the user can do about an error.

pub(crate) mod mysql;
pub(crate) mod valkey;
