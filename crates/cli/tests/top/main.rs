//! `onecopy top`, the real binary, at real proxies with a server behind them.
#![allow(clippy::unwrap_used)] // helpers of tests

mod ground;
mod keys;
mod lost;
mod once;
mod screen;
#[path = "../common/terminal.rs"]
mod terminal;
