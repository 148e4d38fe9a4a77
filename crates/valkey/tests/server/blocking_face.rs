//! What the cases mean in the blocking API.

/// The call itself.
macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

/// A type of the blocking API.
macro_rules! face {
    ($($path:tt)*) => { onecopy_valkey::blocking::$($path)* };
}

/// A stream of this API over a connected socket.
macro_rules! stream_of {
    ($socket:expr) => {
        onecopy_valkey::blocking::Stream::from($socket)
    };
}

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_blocking")
    };
}

/// The traits that a string is read by.
macro_rules! use_reader_traits {
    () => {
        #[allow(unused_imports)]
        use std::io::{BufRead as _, Read as _};
    };
}

/// A reader of these bytes without an end.
macro_rules! endless {
    () => {
        std::io::repeat(b'x')
    };
}
