//! Monitoring and control of a running proxy, with real servers.
#![allow(clippy::unwrap_used)]

mod admin;
#[path = "../sessions/common.rs"]
#[allow(dead_code)]
mod common;
mod digests;
mod health;
mod kill;
mod log;
mod metrics;
mod page;
mod pins;
#[path = "../pooled/common.rs"]
#[allow(dead_code)]
mod pooled;
mod silent;
mod statement_logs;
mod traces;
