//! Sessions that are compressed on either side, or on both.
#![allow(clippy::unwrap_used)]

mod common;
mod hostile;
mod ids;
mod large;
mod packed;
mod replication;
mod sessions;
mod sides;
