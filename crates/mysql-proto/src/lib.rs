//! The MySQL and MariaDB protocol without IO: packets, authentication, client and server state machines.
#![forbid(unsafe_code)]

mod flag_set;

pub mod auth;
pub mod capability;
pub mod codec;
pub mod packet;
pub mod server_version;
pub mod status;

pub use capability::Capabilities;
pub use codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use server_version::ServerVersion;
pub use status::StatusFlags;
