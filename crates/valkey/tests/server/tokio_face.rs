//! What the cases mean in the tokio API.

/// The call, awaited.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// A type of the tokio API.
macro_rules! face {
    ($($path:tt)*) => { onecopy_valkey::aio::$($path)* };
}

/// A stream of this API over a connected socket.
macro_rules! stream_of {
    ($socket:expr) => {{
        let socket = $socket;
        socket.set_nonblocking(true).unwrap();
        let socket = ::tokio::net::TcpStream::from_std(socket).unwrap();
        onecopy_valkey::aio::Stream::from(socket)
    }};
}

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_tokio")
    };
}

/// The traits that a string is read by.
macro_rules! use_reader_traits {
    () => {
        #[allow(unused_imports)]
        use ::tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};
    };
}

/// A reader of these bytes without an end.
macro_rules! endless {
    () => {
        ::tokio::io::repeat(b'x')
    };
}
