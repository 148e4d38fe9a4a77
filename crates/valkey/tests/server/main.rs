//! Tests against a real server: a private Valkey or Redis, or the one that `ONECOPY_TEST_VALKEY_URL` names.
//!
//! Each case is written once and compiled twice: `wait!` and `API!` are the blocking API's in `blocking`, and tokio's
//! in `tokio`. `ONECOPY_SOAK=1` runs the large counts.
#![allow(clippy::unwrap_used, clippy::duplicate_mod)]

mod common;
mod drops;
mod parity;

#[macro_use]
mod blocking_face;
#[path = "cases.rs"]
mod blocking;

#[macro_use]
mod tokio_face;
#[path = "cases.rs"]
mod tokio;
