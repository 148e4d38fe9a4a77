//! Limits on what a peer may announce.

/// The limits on the replies of a connection. A value that exceeds one is an error as soon as its header arrives: nothing is
/// allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum length of a bulk string, bulk error or verbatim string in bytes. Default: 512 MiB, the servers' own default.
    /// At most 4 GiB - 1, except for streamed strings.
    pub max_bulk: u64,
    /// The maximum nesting depth of aggregates. Default: 128.
    pub max_depth: usize,
    /// The maximum total number of elements of one reply; keys and values are counted separately. Default: 16,777,216. Each
    /// element costs 16 bytes once it has arrived.
    pub max_elements: usize,
    /// The maximum total size of one aggregate reply in bytes, including headers and large strings, plus 16 for each value that
    /// has arrived or is announced. Default: 1 GiB. It is checked at the header of each aggregate and of each string in it, up to
    /// the end of that string. For a reply that is a single string only `max_bulk` applies. A reply that is discarded or streamed
    /// is not counted, because it takes no memory.
    pub max_total: u64,
    /// The maximum length of a line in bytes, without its line end. Default: 64 KiB.
    pub max_line: usize,
    /// Bulk strings of at least this many bytes that have not completely arrived get an allocation of their own, and are read
    /// directly into it. Default: 64 KiB.
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
