//! Replies in and out of shape, whole, byte by byte and at every cut.
#![allow(clippy::unwrap_used)] // all of it is tests

mod bad_input;
mod endless;
mod limits;
mod linear;
mod owned;
mod play;
mod property;
mod repeated;
mod shape;
mod shortcuts;
mod skipped;
mod streamed;
mod texts;
