//! The onecopy command line.
#![forbid(unsafe_code)]

fn main() {}
