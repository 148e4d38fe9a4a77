//! What the cases mean in the tokio API.

/// The call, awaited.
macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

/// A type of the tokio API.
macro_rules! face {
    ($name:ident) => {
        onecopy_valkey::aio::$name
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

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_tokio")
    };
}
