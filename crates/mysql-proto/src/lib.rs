//! The MySQL and MariaDB protocol without IO: packets, authentication, client and server state machines.
#![forbid(unsafe_code)]
