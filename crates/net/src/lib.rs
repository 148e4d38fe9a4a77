//! Sockets, deadlines and the blocking and tokio drivers for onecopy's protocol cores.
#![forbid(unsafe_code)]
