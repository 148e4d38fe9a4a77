//! Test servers and scripted peers for onecopy's own tests.
//!
//! Not published. [`server`] starts a real MariaDB for a test, a benchmark or the tour, and stops it whatever happens. With the
//! feature `script`, `script` plays a server's part of a conversation byte by byte, to both drivers, with a fault at any
//! place. With the feature `alloc`, `alloc` is an allocator that counts, and fails where it is told to.

#[cfg(feature = "alloc")]
pub mod alloc;
#[cfg(feature = "script")]
pub mod script;
pub mod server;
