//! What a consumer has done.

/// What a consumer has done since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// Entries that the caller has taken, the following two included.
    pub delivered: u64,
    /// Entries that had been given to this consumer before, as the server counts it.
    pub resumed: u64,
    /// Entries that were taken over from other consumers, or after `release`.
    pub claimed: u64,
    /// Entries of which the server has confirmed the acknowledgement. One that another consumer has acknowledged meanwhile is not
    /// counted.
    pub acknowledged: u64,
    /// Entries that were deleted or trimmed while they were pending.
    pub deleted: u64,
    /// Entries that were delivered too often, and have been moved or discarded.
    pub poisoned: u64,
    /// How often the connection was made again.
    pub reconnects: u64,
    /// How often the group was created again.
    pub recreated: u64,
}
