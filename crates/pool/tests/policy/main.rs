//! The policy under a virtual clock: single rules, and invariants over random histories.
#![allow(clippy::unwrap_used)]

mod random;
mod rules;
mod world;
