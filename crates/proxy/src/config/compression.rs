//! Compression as it is asked for on each side.

use std::fmt;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::Algorithm;

/// Which algorithms a listener offers to clients. Where both are agreed on it is zlib, as with servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offered {
    /// Those that the client's backend offers: the client sees what it would see without the proxy.
    Backend,
    /// None. mysql-connector-python without its C extension waits for ever where a packet comes in more than two frames, as large
    /// ones do here.
    #[default]
    Off,
    /// zlib.
    Zlib,
    /// zstd.
    Zstd,
    /// zlib and zstd.
    Both,
}

impl Offered {
    /// The capabilities for a client whose backend offers `backend`.
    pub(crate) fn capabilities(self, backend: Capabilities) -> Capabilities {
        let (zlib, zstd) = (Algorithm::Zlib.capability(), Algorithm::Zstd.capability());
        match self {
            Self::Backend => backend.intersection(zlib | zstd),
            Self::Off => Capabilities::default(),
            Self::Zlib => zlib,
            Self::Zstd => zstd,
            Self::Both => zlib | zstd,
        }
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backend => "backend",
            Self::Off => "off",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Both => "both",
        })
    }
}
