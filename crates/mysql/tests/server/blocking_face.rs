//! What the cases mean in the blocking API.

/// The call itself.
macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

/// A type of the blocking API.
macro_rules! face {
    ($($path:tt)*) => { onecopy_mysql::blocking::$($path)* };
}

/// The traits that a column is read by.
macro_rules! use_reader_traits {
    () => {
        #[allow(unused_imports)]
        use std::io::{BufRead as _, Read as _};
    };
}

/// A reader without an end.
macro_rules! endless {
    () => {
        std::io::repeat(b'x')
    };
}

/// Work beside the test's own.
macro_rules! spawn {
    ($body:expr) => {
        std::thread::spawn(move || $body)
    };
}

/// What such work came to.
macro_rules! join {
    ($work:expr) => {
        $work.join().unwrap()
    };
}

/// Lets time pass.
macro_rules! pause {
    ($time:expr) => {
        std::thread::sleep($time)
    };
}

/// A stream of this API over a connected socket.
macro_rules! stream_of {
    ($socket:expr) => {
        onecopy_mysql::blocking::Stream::from($socket)
    };
}

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_blocking")
    };
}
