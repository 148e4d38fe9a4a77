//! How much is cached, and how the server is asked for what changes.

use std::time::Duration;

use crate::command::{Raw, raw};

/// How the server knows of which keys this client has to hear.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Tracking {
    /// The server remembers which keys this client has read. It costs the server memory for each of them
    /// (`tracking-table-max-keys`).
    #[default]
    Read,
    /// The server says of all keys with one of these prefixes that they have changed, whoever reads them. It costs the server no
    /// memory and this client more messages. Only keys with such a prefix are cached. An empty list stands for all keys. No prefix
    /// may begin with another one of the list.
    Broadcast(Vec<Vec<u8>>),
}

/// The limits of a cache. Set its fields.
///
/// ```
/// use std::time::Duration;
///
/// use onecopy_valkey::caching::{CacheOptions, Tracking};
///
/// let mut options = CacheOptions::default();
/// options.max_bytes = 16 << 20;
/// options.max_age = Some(Duration::from_secs(60));
/// options.tracking = Tracking::Broadcast(vec![b"user:".to_vec()]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheOptions {
    /// Bytes of memory for replies, commands and keys, with 256 for the bookkeeping of each. Default: 64 MiB.
    pub max_bytes: u64,
    /// The size of a reply in bytes from which it is not cached. Default: 1 MiB. An eighth of a part of the cache is the limit in any
    /// case.
    pub max_value_bytes: u64,
    /// How old a value may become, whatever the server says. Default: `None`, no limit. If the network fails in silence, nothing else
    /// drops values until the client notices, which takes up to [`Config::unresponsive_timeout`](crate::Config::unresponsive_timeout)
    /// and a half. A key whose time to live is over may be cached until the server deletes it.
    pub max_age: Option<Duration>,
    /// How the server knows of which keys this client has to hear.
    pub tracking: Tracking,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            max_bytes: 64 << 20,
            max_value_bytes: 1 << 20,
            max_age: None,
            tracking: Tracking::Read,
        }
    }
}

impl CacheOptions {
    /// What a new connection is told.
    pub(crate) fn command(&self) -> Raw<'_> {
        let on = raw("CLIENT").args(["TRACKING", "ON"]);
        match &self.tracking {
            Tracking::Read => on,
            Tracking::Broadcast(prefixes) => {
                prefixes.iter().fold(on.arg("BCAST"), |command, prefix| {
                    command.arg("PREFIX").arg(prefix.as_slice())
                })
            }
        }
    }

    /// Whether the server says when this key has changed.
    pub(crate) fn follows(&self, key: &[u8]) -> bool {
        match &self.tracking {
            Tracking::Read => true,
            Tracking::Broadcast(prefixes) => {
                prefixes.is_empty() || prefixes.iter().any(|prefix| key.starts_with(prefix))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text;

    #[test]
    fn the_server_is_told_what_to_follow() {
        let mut options = CacheOptions::default();
        assert_eq!(text(&options.command()), "*3 $6 CLIENT $8 TRACKING $2 ON");
        assert!(options.follows(b"any"));
        options.tracking = Tracking::Broadcast(vec![b"a:".to_vec(), b"b:".to_vec()]);
        assert!(text(&options.command()).ends_with("$5 BCAST $6 PREFIX $2 a: $6 PREFIX $2 b:"));
        assert!(options.follows(b"b:1") && !options.follows(b"c:1"));
        options.tracking = Tracking::Broadcast(Vec::new());
        assert!(options.follows(b"c:1"));
    }
}
