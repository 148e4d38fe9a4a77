//! What the cases mean in the tokio face.

/// The call, awaited.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// A type of the tokio face.
macro_rules! face {
    ($($path:tt)*) => { onecopy_valkey::tokio::$($path)* };
}

/// A stream of this face over a connected socket.
macro_rules! stream_of {
    ($socket:expr) => {{
        let socket = $socket;
        socket.set_nonblocking(true).unwrap();
        let socket = ::tokio::net::TcpStream::from_std(socket).unwrap();
        onecopy_valkey::tokio::Stream::from(socket)
    }};
}

/// A name of the server's that only this face uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_tokio")
    };
}
