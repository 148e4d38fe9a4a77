//! Test servers and scripted peers for onecopy's own tests.
//!
//! Not published. [`server`] starts a real MariaDB or MySQL for a test, a benchmark or the tour, [`valkey`] a real Valkey
//! or Redis; both are stopped whatever happens. With the feature `script`, `script` plays a server's part of a
//! conversation byte by byte, to both drivers, with a fault at any place. [`certificate`] makes the certificates of tests
//! over TLS. With the feature `alloc`, `alloc` is an allocator that counts, and fails where it is told to.

#[cfg(feature = "alloc")]
pub mod alloc;
pub mod certificate;
mod open_files;
pub mod own_network;
mod private;
#[cfg(feature = "script")]
pub mod script;
pub mod server;
pub mod valkey;

pub use open_files::allow_open_files;
