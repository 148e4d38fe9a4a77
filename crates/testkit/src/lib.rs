//! Test servers and scripted peers for onecopy's own tests.
//!
//! Not published. [`server`] starts a real MariaDB for a test, a benchmark or the tour, and stops it whatever happens.

pub mod server;
