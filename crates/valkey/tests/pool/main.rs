//! Pools against real servers. As in `server`, each case is written once and compiled for both APIs.
#![allow(clippy::unwrap_used, clippy::duplicate_mod)]

#[path = "../server/common.rs"]
#[allow(dead_code)]
mod common;
mod drops;
mod outage;

#[macro_use]
mod blocking_face;
#[path = "cases.rs"]
mod blocking;

#[macro_use]
mod tokio_face;
#[path = "cases.rs"]
mod tokio;
