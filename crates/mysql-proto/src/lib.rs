//! The MySQL and MariaDB protocol without IO: packets, authentication, client and server state machines.
#![forbid(unsafe_code)]

pub mod charset;
pub mod column_flags;
pub mod column_type;
pub mod value;
