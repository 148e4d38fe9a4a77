//! Conversations with scripted servers, honest and hostile, each in every delivery and with every fault, through both
//! drivers.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod talk;

mod hostile;
mod hostile_login;
mod hostile_tls;
mod huge;
mod large;
mod login;
mod mended;
mod prepared;
mod session;
mod text;
