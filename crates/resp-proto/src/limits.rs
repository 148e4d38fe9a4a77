//! What a peer may claim.

/// Limits of one connection's replies. A claim over one of them is an error at its header: nothing is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest bulk string, bulk error or verbatim string, in bytes: 512 MiB, the servers' own default. At most 4 GiB - 1,
    /// but for those that are streamed.
    pub max_bulk: u64,
    /// Aggregates inside each other: 128.
    pub max_depth: usize,
    /// Elements of one reply in all, keys and values counted each: 16,777,216. Each costs 16 bytes once it has come.
    pub max_elements: usize,
    /// Bytes of one reply in all that holds others, headers and large strings included, and 16 for each value that has come or
    /// is announced: 1 GiB. Held at the header of each aggregate, and at that of each string in it, up to the string's end. A
    /// reply that is one string is held to `max_bulk` alone; of one that is passed over or streamed nothing counts, as it takes
    /// no memory.
    pub max_total: u64,
    /// Longest line, without its end, in bytes: 64 KiB.
    pub max_line: usize,
    /// Bulks of at least this many bytes that have not come whole get an allocation of their own, and are read straight
    /// there: 64 KiB.
    pub large: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bulk: 512 << 20,
            max_depth: 128,
            max_elements: 16 << 20,
            max_total: 1 << 30,
            max_line: 64 << 10,
            large: 64 << 10,
        }
    }
}
