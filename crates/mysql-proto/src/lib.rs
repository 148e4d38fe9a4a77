//! The MySQL and MariaDB protocol without I/O: packets, authentication, and state machines for clients, servers and proxies.
//!
//! For authors of drivers, proxies and test servers; applications use `onecopy-mysql`. The caller owns the stream and the buffers, a
//! state machine says what it needs next, and messages are positions in the read buffer, not copies.
//! [`ClientCore`](client::ClientCore) has an example that runs a query over a `TcpStream` in 50 lines. Limits apply to everything a
//! peer announces, and malformed input is a typed error.
//!
//! | module | contents |
//! |--------|---------------|
//! | [`packet`] | one module for each packet, with encoder, decoder and byte table |
//! | [`frame`] | packets to payloads and back: sequence ids, joining, splitting |
//! | [`value`] | lossless values of every column type, in the text and the binary protocol |
//! | [`auth`] | authentication methods, for clients and servers |
//! | `compression` | the compressed protocol, with the feature `compression` |
//! | [`client`] | the client's role: login, then commands |
//! | [`digest`] | statements without their literals, to count alike ones together |
//! | [`owned`] | copies whose memory allocation may fail |
//! | [`relay`] | follows a client and a server, for proxies that forward bytes unchanged |
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
pub mod digest;
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
