//! What carrying bytes costs: the meter of the buffers, and compression.

use super::Page;
use crate::stats::CompressionCounts;

impl Page {
    pub(super) fn write_meter(&mut self, fields: &[(&str, u64)]) {
        for (field, value) in fields {
            let help = match *field {
                "reads" => "Reads that returned data, over all sessions.",
                "bytes_read" => "Bytes read, both directions, logins included.",
                "writes" => "Writes that sent data.",
                "bytes_written" => "Bytes written; over TLS, counted before encryption.",
                "compactions" => "How often the unread bytes of a buffer were moved to its front.",
                "bytes_moved" => {
                    "Bytes moved that way. Should stay near 0 compared with bytes_read."
                }
                "growths" => "How often a buffer was enlarged.",
                "bytes_copied_by_growth" => "Bytes copied when buffers grew.",
                "bytes_copied_by_tls" => {
                    "Bytes copied by TLS: two for each byte, which is unavoidable."
                }
                "bytes_zeroed" => "Bytes zeroed before being read into.",
                "bytes_copied_to_output" => {
                    "Bytes copied into packets that the proxy writes itself, such as logins."
                }
                // A relay makes no values, and its capacity has gauges of its own.
                _ => continue,
            };
            let name = format!("onecopy_meter_{field}_total");
            self.one(&name, "counter", help, *value);
        }
    }

    pub(super) fn write_compression(&mut self, counts: &CompressionCounts) {
        for (name, help, value) in [
            (
                "compressed_read",
                "Bytes of compressed frames read.",
                counts.compressed_read,
            ),
            (
                "uncompressed_read",
                "Bytes decompressed from them.",
                counts.uncompressed_read,
            ),
            (
                "uncompressed_written",
                "Bytes written into compressed frames, compressed or stored.",
                counts.uncompressed_written,
            ),
            (
                "compressed_written",
                "Bytes of these frames.",
                counts.compressed_written,
            ),
        ] {
            let name = format!("onecopy_compression_{name}_bytes_total");
            self.one(&name, "counter", help, value);
        }
    }
}
