//! What the cases mean in the blocking face.

/// The call itself.
macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

/// A type of the blocking face.
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
