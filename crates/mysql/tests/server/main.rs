//! Tests against a real server: a private MariaDB, or the one that `ONECOPY_TEST_MYSQL_URL` names.
//!
//! Each case is written once and compiled twice: `wait!` and `API!` are the blocking API's in `blocking`, and tokio's
//! in `tokio`. `ONECOPY_SOAK=1` runs the whole of each matrix.
#![allow(clippy::unwrap_used, clippy::duplicate_mod)]

#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod common;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod tls_servers;

#[cfg(feature = "tokio")]
mod bulk_drops;
#[cfg(feature = "tokio")]
mod drops;
#[cfg(feature = "tokio")]
mod futures;
#[cfg(feature = "tokio")]
mod local_infile_drops;
#[cfg(feature = "tokio")]
mod names;
#[cfg(feature = "tokio")]
mod parity;
#[cfg(feature = "tokio")]
mod polls;
#[cfg(feature = "tokio")]
mod pool_drops;
#[cfg(feature = "tokio")]
mod pool_soak;
mod relay;
mod servers;

#[macro_use]
mod blocking_face;
#[path = "cases.rs"]
mod blocking;

#[cfg(feature = "tokio")]
#[macro_use]
mod tokio_face;
#[cfg(feature = "tokio")]
#[path = "cases.rs"]
mod tokio;
