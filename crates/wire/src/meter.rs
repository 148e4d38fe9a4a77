//! Copy counters.

use std::fmt;

/// The counters of one connection since it was made. They are plain `u64`s in the unit of their names; reading them costs
/// nothing.
///
/// "Copied" means any copy that onecopy makes in user space. A byte that gets from the kernel to the caller's value without being
/// counted in [`copied`](Self::copied) was written once, by the kernel. Copies by TLS and by compression are counted separately.
///
/// # Example
/// ```
/// use onecopy_wire::Meter;
///
/// # fn connection_meter() -> Meter { Meter::default() }
/// let before = connection_meter();
/// // ... what is to be measured ...
/// let cost = connection_meter().since(&before);
/// println!("{} of {} bytes read were copied", cost.copied(), cost.bytes_read);
/// for (name, value) in cost.fields() {
///     println!("{name} {value}");
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// Number of read calls that returned at least one byte.
    pub reads: u64,
    /// Number of bytes received from the peer.
    pub bytes_read: u64,
    /// Number of write calls that sent at least one byte.
    pub writes: u64,
    /// Number of bytes sent to the peer.
    pub bytes_written: u64,
    /// Number of times that pending bytes were moved to the front of the read buffer.
    pub compactions: u64,
    /// Number of bytes moved by compactions, and to join the parts of one value.
    pub bytes_moved: u64,
    /// Number of times that the read buffer got more memory.
    pub growths: u64,
    /// Number of pending bytes copied by growths.
    pub bytes_copied_by_growth: u64,
    /// Number of bytes of large values that were already buffered when their home was made, and were copied there.
    pub bytes_copied_to_homes: u64,
    /// Number of bytes copied out of the buffers into owned values.
    pub bytes_copied_to_owned: u64,
    /// Number of bytes of commands copied into the write queue.
    pub bytes_copied_to_output: u64,
    /// Number of bytes of column metadata stored with prepared statements.
    pub bytes_copied_to_metadata: u64,
    /// Number of bytes copied between ciphertext and plaintext buffers, including the TLS library's own copies: two for each
    /// byte, and one more if a record is larger than the room left for a read. 0 without TLS.
    pub bytes_copied_by_tls: u64,
    /// Number of bytes copied by compression: those that were decompressed, those of the frames that were made, and those that were
    /// put together for one. 0 without compression.
    pub bytes_copied_by_compression: u64,
    /// Number of bytes of compressed frames received; `bytes_read` is what was in them. 0 without compression.
    pub compressed_bytes_read: u64,
    /// Number of bytes of compressed frames sent; `bytes_written` is what was in them. 0 without compression.
    pub compressed_bytes_written: u64,
    /// Number of bytes set to zero before reads. Safe Rust requires this for new memory that is borrowed as a slice.
    pub bytes_zeroed: u64,
    /// Number of large values that were read directly into their own memory.
    pub large_values: u64,
    /// Maximum total size of read buffer and large-value buffers, in bytes.
    pub peak_capacity: u64,
    /// Current total size of read buffer and large-value buffers, in bytes. It includes the write queue if the client's
    /// documentation says so.
    pub capacity_now: u64,
}

impl Meter {
    /// Returns the number of bytes copied or moved in user space, of all kinds except
    /// [`bytes_copied_by_tls`](Self::bytes_copied_by_tls) and
    /// [`bytes_copied_by_compression`](Self::bytes_copied_by_compression).
    pub const fn copied(&self) -> u64 {
        self.bytes_moved
            + self.bytes_copied_by_growth
            + self.bytes_copied_to_homes
            + self.bytes_copied_to_owned
            + self.bytes_copied_to_output
            + self.bytes_copied_to_metadata
    }

    /// Returns the increase of each counter since `earlier`, or 0 if `earlier` is of another connection and larger. The two
    /// capacities are those of `self`.
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
            bytes_copied_by_compression: self
                .bytes_copied_by_compression
                .saturating_sub(earlier.bytes_copied_by_compression),
            compressed_bytes_read: self
                .compressed_bytes_read
                .saturating_sub(earlier.compressed_bytes_read),
            compressed_bytes_written: self
                .compressed_bytes_written
                .saturating_sub(earlier.compressed_bytes_written),
            bytes_zeroed: self.bytes_zeroed.saturating_sub(earlier.bytes_zeroed),
            large_values: self.large_values.saturating_sub(earlier.large_values),
            peak_capacity: self.peak_capacity,
            capacity_now: self.capacity_now,
        }
    }

    /// Returns the sum of two meters, with the larger of the two peaks.
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
            bytes_copied_by_compression: self.bytes_copied_by_compression
                + other.bytes_copied_by_compression,
            compressed_bytes_read: self.compressed_bytes_read + other.compressed_bytes_read,
            compressed_bytes_written: self.compressed_bytes_written
                + other.compressed_bytes_written,
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

    /// Returns all counters with their names, in the order of the fields, for tables, JSON and metrics.
    pub const fn fields(&self) -> [(&'static str, u64); 20] {
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
            (
                "bytes_copied_by_compression",
                self.bytes_copied_by_compression,
            ),
            ("compressed_bytes_read", self.compressed_bytes_read),
            ("compressed_bytes_written", self.compressed_bytes_written),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of which no two are equal, nor the sums of some of them.
    fn powers(of: u64) -> Meter {
        let mut next = 1;
        let mut power = || {
            next *= of;
            next
        };
        Meter {
            reads: power(),
            bytes_read: power(),
            writes: power(),
            bytes_written: power(),
            compactions: power(),
            bytes_moved: power(),
            growths: power(),
            bytes_copied_by_growth: power(),
            bytes_copied_to_homes: power(),
            bytes_copied_to_owned: power(),
            bytes_copied_to_output: power(),
            bytes_copied_to_metadata: power(),
            bytes_copied_by_tls: power(),
            bytes_copied_by_compression: power(),
            compressed_bytes_read: power(),
            compressed_bytes_written: power(),
            bytes_zeroed: power(),
            large_values: power(),
            peak_capacity: power(),
            capacity_now: power(),
        }
    }

    #[test]
    fn every_counter_is_added_and_taken_away_but_for_the_capacities() {
        let (one, other) = (powers(2), powers(3));
        let sum = one.plus(&other);
        for (((name, sum), (_, one)), (_, other)) in sum
            .fields()
            .into_iter()
            .zip(one.fields())
            .zip(other.fields())
        {
            match name {
                "peak_capacity" => assert_eq!(sum, one.max(other), "{name}"),
                _ => assert_eq!(sum, one + other, "{name}"),
            }
        }
        assert_eq!(other.plus(&one), sum);
        let back = sum.since(&one);
        for ((name, back), (_, other)) in back.fields().into_iter().zip(other.fields()) {
            if !name.contains("capacity") {
                assert_eq!(back, other, "{name}");
            }
        }
        assert_eq!(
            (back.peak_capacity, back.capacity_now),
            (sum.peak_capacity, sum.capacity_now)
        );
    }

    #[test]
    fn all_copies_are_in_the_sum_but_for_those_of_tls_and_compression() {
        let meter = powers(2);
        let named = meter.fields().into_iter().filter(|(name, _)| {
            *name == "bytes_moved"
                || name.starts_with("bytes_copied")
                    && !["bytes_copied_by_tls", "bytes_copied_by_compression"].contains(name)
        });
        assert_eq!(meter.copied(), named.map(|(_, bytes)| bytes).sum::<u64>());
    }
}
