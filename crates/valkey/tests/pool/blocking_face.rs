//! What the cases mean in the blocking API.

/// The call itself.
macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

/// A type of the blocking API.
macro_rules! face {
    ($name:ident) => {
        onecopy_valkey::blocking::$name
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

/// A name of the server's that only this API uses.
macro_rules! face_name {
    ($name:literal) => {
        concat!($name, "_blocking")
    };
}
