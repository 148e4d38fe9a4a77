//! The login between a client and a server, which a proxy stands between with TLS and compression of its own.
//!
//! The server's [`greeting`] goes to the client and the client's [`response`] to the server, each with only those
//! capability bits changed that the proxy has for itself; then [`Login`] follows the packets of the authentication.
//!
//! ```text
//!   client                    proxy                     server
//!      <-- 0 ------------- greeting ------------- 0 <--
//!      --> 1  SSLRequest
//!      --> 2 ------------- response ------------- 1 -->
//!      <-- 3 -------------    OK    ------------- 2 <--
//! ```
//!
//! A request for TLS takes a sequence id, so that the ids differ by one where only one side has it.

mod authentication;
mod capability;
mod tidy;

pub use authentication::{Login, LoginPacket};
pub use capability::{Change, greeting, response, ssl_request};
pub use tidy::tidy;

#[cfg(test)]
mod tests;
