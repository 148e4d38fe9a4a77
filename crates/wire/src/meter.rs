//! What each byte cost.

use std::fmt;

/// Counters of one connection since it was made. Plain `u64`s in the unit of their name; reading them is free.
///
/// "Copied" is every copy that onecopy makes in user space: a byte that goes from the kernel to the caller's value with
/// no entry in [`copied`](Self::copied) was written once, by the kernel. What TLS copies is counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// Read calls that gave at least one byte.
    pub reads: u64,
    /// Bytes that came from the peer.
    pub bytes_read: u64,
    /// Write calls that took at least one byte.
    pub writes: u64,
    /// Bytes that went to the peer.
    pub bytes_written: u64,
    /// Times that pending bytes were moved to the front of the read buffer.
    pub compactions: u64,
    /// Bytes moved by compactions, and to join the parts of one value.
    pub bytes_moved: u64,
    /// Times that the read buffer was given more memory.
    pub growths: u64,
    /// Pending bytes copied by growths.
    pub bytes_copied_by_growth: u64,
    /// Bytes of large values that were already buffered when their home was made, and were copied there.
    pub bytes_copied_to_homes: u64,
    /// Bytes copied out of the buffers into values that the caller owns.
    pub bytes_copied_to_owned: u64,
    /// Bytes of commands copied into the write queue.
    pub bytes_copied_to_output: u64,
    /// Bytes of column metadata kept with prepared statements.
    pub bytes_copied_to_metadata: u64,
    /// Bytes copied between ciphertext and their place in front of and behind TLS, the TLS library's own copies included:
    /// two for each byte, and one more where a record is larger than what was to be read. 0 without TLS.
    pub bytes_copied_by_tls: u64,
    /// Bytes set to zero ahead of reads, as safe Rust demands of fresh memory that is borrowed as a slice.
    pub bytes_zeroed: u64,
    /// Large values that were read straight into memory of their own.
    pub large_values: u64,
    /// Largest sum of read buffer and large homes, in bytes.
    pub peak_capacity: u64,
    /// The same sum now; with the write queue's where a client says so.
    pub capacity_now: u64,
}

impl Meter {
    /// Bytes copied or moved in user space, all kinds but [`bytes_copied_by_tls`](Self::bytes_copied_by_tls).
    pub const fn copied(&self) -> u64 {
        self.bytes_moved
            + self.bytes_copied_by_growth
            + self.bytes_copied_to_homes
            + self.bytes_copied_to_owned
            + self.bytes_copied_to_output
            + self.bytes_copied_to_metadata
    }

    /// What was added since `earlier`, 0 where that is of another connection and larger; the two capacities are those of
    /// `self`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(earlier.reads),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
            writes: self.writes.saturating_sub(earlier.writes),
            bytes_written: self.bytes_written.saturating_sub(earlier.bytes_written),
            compactions: self.compactions.saturating_sub(earlier.compactions),
            bytes_moved: self.bytes_moved.saturating_sub(earlier.bytes_moved),
            growths: self.growths.saturating_sub(earlier.growths),
            bytes_copied_by_growth: self
                .bytes_copied_by_growth
                .saturating_sub(earlier.bytes_copied_by_growth),
            bytes_copied_to_homes: self
                .bytes_copied_to_homes
                .saturating_sub(earlier.bytes_copied_to_homes),
            bytes_copied_to_owned: self
                .bytes_copied_to_owned
                .saturating_sub(earlier.bytes_copied_to_owned),
            bytes_copied_to_output: self
                .bytes_copied_to_output
                .saturating_sub(earlier.bytes_copied_to_output),
            bytes_copied_to_metadata: self
                .bytes_copied_to_metadata
                .saturating_sub(earlier.bytes_copied_to_metadata),
            bytes_copied_by_tls: self
                .bytes_copied_by_tls
                .saturating_sub(earlier.bytes_copied_by_tls),
            bytes_zeroed: self.bytes_zeroed.saturating_sub(earlier.bytes_zeroed),
            large_values: self.large_values.saturating_sub(earlier.large_values),
            peak_capacity: self.peak_capacity,
            capacity_now: self.capacity_now,
        }
    }

    /// Two meters together; the larger of the two peaks.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            bytes_read: self.bytes_read + other.bytes_read,
            writes: self.writes + other.writes,
            bytes_written: self.bytes_written + other.bytes_written,
            compactions: self.compactions + other.compactions,
            bytes_moved: self.bytes_moved + other.bytes_moved,
            growths: self.growths + other.growths,
            bytes_copied_by_growth: self.bytes_copied_by_growth + other.bytes_copied_by_growth,
            bytes_copied_to_homes: self.bytes_copied_to_homes + other.bytes_copied_to_homes,
            bytes_copied_to_owned: self.bytes_copied_to_owned + other.bytes_copied_to_owned,
            bytes_copied_to_output: self.bytes_copied_to_output + other.bytes_copied_to_output,
            bytes_copied_to_metadata: self.bytes_copied_to_metadata
                + other.bytes_copied_to_metadata,
            bytes_copied_by_tls: self.bytes_copied_by_tls + other.bytes_copied_by_tls,
            bytes_zeroed: self.bytes_zeroed + other.bytes_zeroed,
            large_values: self.large_values + other.large_values,
            peak_capacity: if self.peak_capacity > other.peak_capacity {
                self.peak_capacity
            } else {
                other.peak_capacity
            },
            capacity_now: self.capacity_now + other.capacity_now,
        }
    }

    /// Every counter with its name, in the order of the fields: for tables, JSON and metrics.
    pub const fn fields(&self) -> [(&'static str, u64); 17] {
        [
            ("reads", self.reads),
            ("bytes_read", self.bytes_read),
            ("writes", self.writes),
            ("bytes_written", self.bytes_written),
            ("compactions", self.compactions),
            ("bytes_moved", self.bytes_moved),
            ("growths", self.growths),
            ("bytes_copied_by_growth", self.bytes_copied_by_growth),
            ("bytes_copied_to_homes", self.bytes_copied_to_homes),
            ("bytes_copied_to_owned", self.bytes_copied_to_owned),
            ("bytes_copied_to_output", self.bytes_copied_to_output),
            ("bytes_copied_to_metadata", self.bytes_copied_to_metadata),
            ("bytes_copied_by_tls", self.bytes_copied_by_tls),
            ("bytes_zeroed", self.bytes_zeroed),
            ("large_values", self.large_values),
            ("peak_capacity", self.peak_capacity),
            ("capacity_now", self.capacity_now),
        ]
    }
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} B in {} reads, {} B in {} writes, {} B copied, {} large values in place",
            self.bytes_read,
            self.reads,
            self.bytes_written,
            self.writes,
            self.copied(),
            self.large_values
        )
    }
}
