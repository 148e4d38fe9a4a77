//! The server's role.
