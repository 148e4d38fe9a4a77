//! Clients that share a few server connections, in front of a real server.
#![allow(clippy::unwrap_used)]

mod common;
mod cut_short;
mod cuts;
mod fair;
mod gone;
mod idle;
mod kill;
mod killed;
mod large;
mod left_behind;
mod private;
mod rate;
mod refused;
mod released;
mod restart;
mod rows;
mod rules;
mod rules_of_mix;
mod sharing;
mod silent;
mod state;
mod timeout;
mod types;
mod untracked;
mod variables;
