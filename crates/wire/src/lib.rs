//! Read buffers, write queue, step and meter: the path on which each byte is copied once.
#![forbid(unsafe_code)]
