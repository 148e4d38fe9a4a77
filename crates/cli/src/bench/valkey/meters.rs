//! The meters of several connections as one.

use onecopy_valkey::Meter;

/// All counters added up; of the capacities too, which is the memory that all of them take.
pub(crate) fn sum(meters: impl Iterator<Item = Meter>) -> Meter {
    meters.fold(Meter::default(), |sum, meter| Meter {
        reads: sum.reads + meter.reads,
        bytes_read: sum.bytes_read + meter.bytes_read,
        writes: sum.writes + meter.writes,
        bytes_written: sum.bytes_written + meter.bytes_written,
        compactions: sum.compactions + meter.compactions,
        bytes_moved: sum.bytes_moved + meter.bytes_moved,
        growths: sum.growths + meter.growths,
        bytes_copied_by_growth: sum.bytes_copied_by_growth + meter.bytes_copied_by_growth,
        bytes_copied_to_homes: sum.bytes_copied_to_homes + meter.bytes_copied_to_homes,
        bytes_copied_to_owned: sum.bytes_copied_to_owned + meter.bytes_copied_to_owned,
        bytes_copied_to_output: sum.bytes_copied_to_output + meter.bytes_copied_to_output,
        bytes_copied_to_metadata: sum.bytes_copied_to_metadata + meter.bytes_copied_to_metadata,
        bytes_copied_by_tls: sum.bytes_copied_by_tls + meter.bytes_copied_by_tls,
        bytes_copied_by_compression: sum.bytes_copied_by_compression
            + meter.bytes_copied_by_compression,
        compressed_bytes_read: sum.compressed_bytes_read + meter.compressed_bytes_read,
        compressed_bytes_written: sum.compressed_bytes_written + meter.compressed_bytes_written,
        bytes_zeroed: sum.bytes_zeroed + meter.bytes_zeroed,
        large_values: sum.large_values + meter.large_values,
        peak_capacity: sum.peak_capacity + meter.peak_capacity,
        capacity_now: sum.capacity_now + meter.capacity_now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_added_up() {
        let one = Meter {
            reads: 1,
            bytes_read: 2,
            writes: 3,
            bytes_written: 4,
            compactions: 5,
            bytes_moved: 6,
            growths: 7,
            bytes_copied_by_growth: 8,
            bytes_copied_to_homes: 9,
            bytes_copied_to_owned: 10,
            bytes_copied_to_output: 11,
            bytes_copied_to_metadata: 12,
            bytes_copied_by_tls: 13,
            bytes_copied_by_compression: 18,
            compressed_bytes_read: 19,
            compressed_bytes_written: 20,
            bytes_zeroed: 14,
            large_values: 15,
            peak_capacity: 16,
            capacity_now: 17,
        };
        let doubled = one.fields().map(|(name, value)| (name, 2 * value));
        assert_eq!(sum([one, one].into_iter()).fields(), doubled);
    }
}
