//! What the cases mean in the tokio API.

/// The call, awaited.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// A type of the tokio API.
macro_rules! face {
    ($($path:tt)*) => { onecopy_mysql::aio::$($path)* };
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

/// Work beside the test's own.
macro_rules! spawn {
    ($body:expr) => {
        ::tokio::spawn(async move { $body })
    };
}

/// What such work came to.
macro_rules! join {
    ($work:expr) => {
        $work.await.unwrap()
    };
}

/// Lets time pass.
macro_rules! pause {
    ($time:expr) => {
        ::tokio::time::sleep($time).await
    };
}

/// A stream of this API over a connected socket.
macro_rules! stream_of {
    ($socket:expr) => {{
        let socket = $socket;
        socket.set_nonblocking(true).unwrap();
        let socket = ::tokio::net::TcpStream::from_std(socket).unwrap();
        onecopy_mysql::aio::Stream::from(socket)
    }};
}

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_tokio")
    };
}
