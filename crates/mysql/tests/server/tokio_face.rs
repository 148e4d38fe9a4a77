//! What the cases mean in the tokio face.

/// The call, awaited.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// A type of the tokio face.
macro_rules! face {
    ($($path:tt)*) => { onecopy_mysql::tokio::$($path)* };
}

/// The traits that a column is read by.
macro_rules! use_reader_traits {
    () => {
        #[allow(unused_imports)]
        use ::tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};
    };
}

/// A reader without an end.
macro_rules! endless {
    () => {
        ::tokio::io::repeat(b'x')
    };
}
