//! Sessions through a proxy in front of a real server.
#![allow(clippy::unwrap_used)]

mod basics;
mod changes;
mod client;
mod closes;
mod common;
mod compressed;
mod deaths;
mod drains;
mod endings;
mod faults;
mod features;
mod full_servers;
mod host_cache;
mod hostile_clients;
mod hostile_servers;
mod lenient;
mod memory;
mod passwords;
mod proxy_protocol;
mod raw;
mod sides;
mod tls;
mod wide;
