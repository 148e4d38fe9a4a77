//! Compression of a connection: which algorithms it accepts, and the layer that does it.

#[cfg(feature = "compression")]
mod codec;

use std::fmt;

use onecopy_mysql_proto::Capabilities;

use crate::{Config, Error};

#[cfg(feature = "compression")]
pub(crate) use codec::{FrameCodec, Workspaces, of_io};

/// A method of compressing a connection, see [`Config::compression`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// zlib, which every MySQL and MariaDB server offers. Needs the crate's feature `compression`.
    Zlib,
    /// Zstandard, which MySQL offers since 8.0.18. It takes a third of zlib's time. Needs the crate's feature `zstd`, whose library
    /// is in C.
    Zstd,
    /// No compression.
    Uncompressed,
}

impl Compression {
    const ALL: [Self; 3] = [Self::Zlib, Self::Zstd, Self::Uncompressed];

    /// Returns the name in a URL, which is also MySQL's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Uncompressed => "uncompressed",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    fn capability(self) -> Option<Capabilities> {
        match self {
            Self::Zlib => Some(Capabilities::COMPRESS),
            Self::Zstd => Some(Capabilities::ZSTD_COMPRESSION_ALGORITHM),
            Self::Uncompressed => None,
        }
    }

    /// What the login has agreed on.
    pub(crate) fn agreed(capabilities: Capabilities) -> Self {
        let agreed = |one: &Self| {
            let capability = one.capability();
            capability.is_some_and(|capability| capabilities.contains(capability))
        };
        let found = Self::ALL.into_iter().find(agreed);
        found.unwrap_or(Self::Uncompressed)
    }

    /// Whether this build has it.
    fn is_built_in(self) -> bool {
        match self {
            Self::Zlib => cfg!(feature = "compression"),
            Self::Zstd => cfg!(feature = "zstd"),
            Self::Uncompressed => true,
        }
    }

    fn feature(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            _ => "compression",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the login asks for: the algorithms, best first, whether one is required, and zstd's level.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) algorithms: Vec<Capabilities>,
    pub(crate) is_required: bool,
    pub(crate) zstd_level: Option<u8>,
}

impl Wanted {
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        let mut wanted = Self::default();
        let is_used = |one: &Compression| config.compression.contains(one);
        for (one, max) in [(Compression::Zlib, 9), (Compression::Zstd, 22)] {
            if is_used(&one) && !one.is_built_in() {
                return Err(Error::config(format!(
                    "this program was built without {one}: enable the feature '{}' of the crate onecopy-mysql",
                    one.feature()
                )));
            }
            let others = Compression::ALL[..2].iter().filter(|other| **other != one);
            let is_only = is_used(&one) && !others.copied().any(|other| is_used(&other));
            if let Some(level) = config.compression_level
                && (level == 0 || is_only && level > max)
            {
                return Err(Error::config(format!(
                    "compression-level {level} does not exist: {one} has the levels 1 to {max}"
                )));
            }
        }
        // What is behind it is never needed.
        for one in &config.compression {
            match one.capability() {
                Some(capability) => wanted.algorithms.push(capability),
                None => return Ok(wanted.with_level(config)),
            }
        }
        wanted.is_required = !wanted.algorithms.is_empty();
        Ok(wanted.with_level(config))
    }

    fn with_level(mut self, config: &Config) -> Self {
        const MAX_ZSTD: u8 = 22;
        self.zstd_level = config.compression_level.map(|level| level.min(MAX_ZSTD));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(options: &str) -> Result<Wanted, String> {
        let config = Config::from_url(&format!("mysql://user@host/?{options}"));
        config
            .and_then(|config| Wanted::new(&config))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_stands_behind_uncompressed_is_not_asked_for() {
        let zlib = wanted("compression=zlib").unwrap();
        assert_eq!(zlib.algorithms, [Capabilities::COMPRESS]);
        assert!(zlib.is_required);
        let first = wanted("compression=zlib,uncompressed,zstd").unwrap();
        assert_eq!(first.algorithms, [Capabilities::COMPRESS]);
        assert!(!first.is_required);
        for none in ["compression=uncompressed", "connect-timeout=1"] {
            let none = wanted(none).unwrap();
            assert!(none.algorithms.is_empty() && !none.is_required);
        }
    }

    #[test]
    #[cfg(feature = "zstd")]
    fn a_level_is_one_that_the_algorithm_has() {
        assert_eq!(
            wanted("compression=zlib&compression-level=10").unwrap_err(),
            "compression-level 10 does not exist: zlib has the levels 1 to 9"
        );
        assert_eq!(
            wanted("compression=zstd&compression-level=23").unwrap_err(),
            "compression-level 23 does not exist: zstd has the levels 1 to 22"
        );
        let both = wanted("compression=zstd,zlib&compression-level=12").unwrap();
        assert_eq!(both.zstd_level, Some(12));
    }

    #[test]
    fn the_error_for_an_unknown_algorithm_lists_the_known_ones() {
        assert_eq!(
            wanted("compression=lz4").unwrap_err(),
            "compression 'lz4' is none of zlib, zstd, uncompressed"
        );
    }
}
