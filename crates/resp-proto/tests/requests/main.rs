//! A server's requests and replies: in and out of shape, whole, byte by byte and at every cut.
#![allow(clippy::unwrap_used)] // all of it is tests

mod bad_input;
mod conversation;
mod inline;
mod play;
mod replies;
