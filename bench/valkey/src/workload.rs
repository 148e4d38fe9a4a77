//! What every client does.

/// Commands on their way at any time.
pub(crate) const DEPTH: usize = 32;

/// Key of the small value.
pub(crate) const KEY: &str = "key:000000000001";

/// Key of the large one.
pub(crate) const LARGE_KEY: &str = "large";

/// Bytes of the small value.
pub(crate) const SMALL: usize = 1024;

/// Bytes of the large one: 64 MiB.
pub(crate) const LARGE: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    Set,
    Get,
    GetLarge,
    GetLargeReuse,
    GetLargeStream,
}

impl Workload {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "set" => Self::Set,
            "get" => Self::Get,
            "get-64m" => Self::GetLarge,
            "get-64m-reuse" => Self::GetLargeReuse,
            "get-64m-stream" => Self::GetLargeStream,
            _ => return None,
        })
    }

    pub(crate) fn is_large(self) -> bool {
        !matches!(self, Self::Set | Self::Get)
    }
}

/// The small value.
pub(crate) fn value() -> Vec<u8> {
    vec![b'x'; SMALL]
}

/// One thread, for every asynchronous client.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
