//! What a cache has done so far.

/// The counts of a cache since it was made, and what is in it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Reads that were answered without the server.
    pub hits: u64,
    /// Reads that were not, of commands that can be cached. Those that waited for another caller's read are counted too.
    pub misses: u64,
    /// Values that were dropped because there was no room.
    pub evictions: u64,
    /// Keys that the server or this client itself has changed, cached or not.
    pub invalidations: u64,
    /// How often all values were dropped, or all of a connection or of slots: the connection was lost, the slots have moved, the database
    /// was flushed.
    pub flushes: u64,
    /// Values that are cached now.
    pub entries: u64,
    /// Bytes of memory that are counted for them.
    pub bytes: u64,
}
