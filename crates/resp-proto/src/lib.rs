//! RESP2 and RESP3 without IO: scanner, lent replies, requests, and the client's and server's state machines.
#![forbid(unsafe_code)]
