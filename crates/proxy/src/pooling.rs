//! Connections to backends that clients share, and what has to be known to share them.
//!
//! A session is a wanted state, a connection is an actual one. Nothing here knows sessions.

pub(crate) mod account_reading;
pub(crate) mod accounts;
pub(crate) mod by_number;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod counts;
pub(crate) mod exchange;
pub(crate) mod facts;
pub(crate) mod held;
mod lane;
pub(crate) mod limiter;
pub(crate) mod line;
pub(crate) mod look;
pub(crate) mod own_id;
pub(crate) mod password_checks;
pub(crate) mod pin;
pub(crate) mod pool;
pub(crate) mod recipient;
pub(crate) mod refusals;
pub(crate) mod rules;
pub(crate) mod servers;
pub(crate) mod setup;
pub(crate) mod state;
pub(crate) mod statements;
pub(crate) mod wrong_logins;
