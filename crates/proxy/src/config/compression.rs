//! The compression settings of clients.

use std::fmt;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::Algorithm;

/// The compression algorithms that a listener offers to clients. If client and proxy agree on both, zlib is used, as by servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offered {
    /// Those that the client's backend offers: the client sees what it would see without the proxy.
    Backend,
    /// None. mysql-connector-python without its C extension hangs if a packet spans more than two frames, as large packets do
    /// here.
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
