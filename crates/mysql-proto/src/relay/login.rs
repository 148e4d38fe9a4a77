//! The login between a client and a server, through a proxy that has its own TLS and compression.
//!
//! The server's [`greeting`] is forwarded to the client, and the client's [`response`] to the server. In each, only those
//! capability bits are changed that the proxy handles itself. Then [`Login`] follows the packets of the authentication.
//!
//! ```text
//!   client                    proxy                     server
//!      <-- 0 ------------- greeting ------------- 0 <--
//!      --> 1  SSLRequest
//!      --> 2 ------------- response ------------- 1 -->
//!      <-- 3 -------------    OK    ------------- 2 <--
//! ```
//!
//! A request for TLS uses a sequence id, so the ids differ by one if only one side has TLS.

mod authentication;
mod capability;
mod tidy;

pub use authentication::{Login, LoginPacket};
pub use capability::{Change, greeting, response, ssl_request};
pub use tidy::tidy;

#[cfg(test)]
mod tests;
