//! Test servers and scripted peers for onecopy's own tests.
//!
//! Not published. The feature `servers` is on by default: [`server`] starts a real MariaDB or MySQL for a test, a benchmark or
//! the tour, [`valkey`] a real Valkey or Redis, and both are stopped whatever happens; [`certificate`] makes certificates for
//! tests over TLS. With the feature `script`, `script` plays a server's part of a conversation byte by byte, to both drivers,
//! with a fault at any place. With the feature `alloc`, `alloc` is an allocator that counts, and fails where it is told to.

#[cfg(feature = "alloc")]
pub mod alloc;
#[cfg(feature = "servers")]
pub mod certificate;
#[cfg(feature = "servers")]
mod closed_port;
#[cfg(feature = "servers")]
mod left_out;
#[cfg(feature = "servers")]
mod open_files;
#[cfg(feature = "servers")]
mod other_clock;
#[cfg(feature = "servers")]
pub mod own_network;
#[cfg(feature = "servers")]
mod private;
#[cfg(feature = "servers")]
mod programs;
#[cfg(feature = "script")]
pub mod script;
#[cfg(feature = "servers")]
pub mod server;
#[cfg(feature = "servers")]
pub mod valkey;

#[cfg(feature = "servers")]
pub use closed_port::{ClosedPort, closed_port};
#[cfg(feature = "servers")]
pub use left_out::LeavesOut;
#[cfg(feature = "servers")]
pub use open_files::allow_open_files;
#[cfg(feature = "servers")]
pub use other_clock::OtherClock;
#[cfg(feature = "servers")]
pub use programs::{mariadb_client, mariadb_dump};
