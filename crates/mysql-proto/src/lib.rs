//! The MySQL and MariaDB protocol without IO: packets, authentication, client and server state machines.
//!
//! | folder | what is there |
//! |--------|---------------|
//! | [`packet`] | one packet a file, encoder and decoder with its byte table |
//! | [`frame`] | packets to payloads and back: order, joining, splitting |
//! | [`value`] | lossless values of every column type, text and binary |
//! | [`auth`] | authentication methods, both sides |
//! | `compression` | frames of compressed bytes around packets, with the feature of this name |
//! | [`client`] | the client's role: a login, then commands |
//! | [`owned`] | copies whose memory may be refused |
//! | [`relay`] | what passes between a client and a server: for proxies that forward bytes as they are |
//! | [`server`] | the server's role: for test servers and proxies |
#![forbid(unsafe_code)]

mod error;
mod flag_set;

pub mod auth;
pub mod capability;
pub mod charset;
pub mod client;
pub mod codec;
pub mod column_flags;
pub mod column_type;
#[cfg(feature = "compression")]
pub mod compression;
pub mod frame;
pub mod owned;
pub mod packet;
pub mod relay;
pub mod server;
pub mod server_version;
pub mod status;
pub mod value;

pub use capability::Capabilities;
pub use charset::CollationId;
pub use codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use column_flags::ColumnFlags;
pub use column_type::ColumnType;
pub use error::Error;
pub use server_version::ServerVersion;
pub use status::StatusFlags;
