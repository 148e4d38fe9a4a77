//! The live page, its JSON, its events and its actions, over HTTP as browsers and programs use it.
#![allow(clippy::unwrap_used)]

mod actions;
#[path = "../pooled/common.rs"]
#[allow(dead_code)]
mod common;
mod events;
mod hostile;
mod http;
mod limits;
mod numbers;
